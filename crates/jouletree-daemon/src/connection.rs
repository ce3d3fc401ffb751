//! Connections: who is at the other end, how many there may be, and no waiting for those who say nothing.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tonic::transport::server::Connected;

use crate::policy::Peer;

/// A client begins with so many bytes (the preface of HTTP/2); until then it is nobody.
const PREFACE: usize = 24;
/// It has so long for them.
const PATIENCE: Duration = Duration::from_secs(10);

/// The connections of all peers, counted.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    most_of_peer: usize,
    open: Mutex<HashMap<Peer, usize>>,
}

impl Connections {
    /// None yet.
    pub fn new(most: usize, most_of_peer: usize) -> Connections {
        Connections { most, most_of_peer, open: Mutex::default() }
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.lock().values().sum()
    }

    /// Lets a peer in, if there is room; what does not fit is closed.
    pub fn admit<S>(self: &Arc<Connections>, stream: S, peer: Peer) -> Option<Connection<S>> {
        let mut open = self.lock();
        let all: usize = open.values().sum();
        let of_peer = open.get(&peer).copied().unwrap_or(0);
        // Root is never locked out by others: it is who would mend things.
        if of_peer >= self.most_of_peer || (all >= self.most && !peer.is_root()) {
            return None;
        }
        open.insert(peer, of_peer + 1);
        let waiting = Some(Box::pin(tokio::time::sleep(PATIENCE)));
        Some(Connection { stream, waiting, read: 0, place: Place { peer, all: self.clone() } })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Peer, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the connections, which is free again when this is dropped.
#[derive(Debug)]
struct Place {
    peer: Peer,
    all: Arc<Connections>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.all.lock();
        if let Some(count) = open.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.peer);
            }
        }
    }
}

/// A connection that was let in.
#[derive(Debug)]
pub struct Connection<S> {
    stream: S,
    /// Runs while the client has not said who it is.
    waiting: Option<Pin<Box<Sleep>>>,
    read: usize,
    place: Place,
}

impl<S> Connected for Connection<S> {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.place.peer
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(waiting) = &mut self.waiting
            && waiting.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client said nothing")));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.read = self.read.saturating_add(buffer.filled().len() - before);
        if self.read >= PREFACE {
            self.waiting = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_shown_out() {
        let connections = Arc::new(Connections::new(2, 1));
        let (_silent, stream) = tokio::io::duplex(64);
        let mut connection = connections.admit(stream, Peer::User(7)).unwrap();
        let mut buffer = [0; 8];
        let error = connection.read(&mut buffer).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn places_are_counted_and_given_back() {
        let connections = Arc::new(Connections::new(2, 1));
        let first = connections.admit((), Peer::User(7)).unwrap();
        assert!(connections.admit((), Peer::User(7)).is_none(), "one has one place");
        let second = connections.admit((), Peer::Remote).unwrap();
        assert!(connections.admit((), Peer::User(8)).is_none(), "there are two places");
        assert!(connections.admit((), Peer::User(0)).is_some(), "root is let in");
        assert_eq!(first.connect_info(), Peer::User(7));
        drop(first);
        assert!(connections.admit((), Peer::User(7)).is_some());
        drop(second);
        assert_eq!(connections.count(), 0);
    }
}
