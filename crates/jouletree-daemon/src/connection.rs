//! One connection: its client, and a time limit for clients that say nothing.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::Sleep;
use tonic::transport::server::{Connected, TlsConnectInfo};
use tonic::{Request, Status};

use crate::connections::{ConnectionSlot, Connections, Entrance, Full, Party};
use crate::policy::Peer;

/// A client begins with so many bytes (the preface of HTTP/2).
const PREFACE: usize = 24;
/// It has so long for them and, where the kernel does not identify it, for its first call with the token.
const FIRST_CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The client of a call, known by its connection.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Its identity.
    pub peer: Peer,
    /// Its connection.
    pub line: Arc<Line>,
}

/// What is known of a connection. It lives as long as the connection does.
#[derive(Debug)]
pub struct Line {
    /// The addresses of both ends, the client's first.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// The user of this machine at the other end, once it was looked up.
    pub user: OnceLock<Option<u32>>,
    /// The recording that was begun last by this connection.
    pub started: Mutex<Option<u64>>,
    /// Whether the client has made the call that it has to make in time.
    has_called: AtomicBool,
    place: ConnectionSlot,
}

impl Caller {
    /// The client of a call.
    #[allow(clippy::result_large_err, reason = "this is how services refuse")]
    pub fn of<T>(request: &Request<T>) -> Result<Caller, Status> {
        let extensions = request.extensions();
        let plain = extensions.get::<Caller>();
        let secured = || extensions.get::<TlsConnectInfo<Caller>>().map(TlsConnectInfo::get_ref);
        plain.or_else(secured).cloned().ok_or_else(|| Status::unauthenticated("the caller is not known"))
    }

    /// Notes a call of a client that need not show anything.
    pub fn note_call(&self) {
        self.line.has_called.store(true, Ordering::Release);
        self.line.place.note_call();
    }

    /// Trusts the connection from now on.
    pub fn trust(&self) -> Result<(), Full> {
        self.line.place.trust()?;
        self.note_call();
        Ok(())
    }
}

/// A connection that was let in.
#[derive(Debug)]
pub struct Connection<S> {
    stream: S,
    /// Runs while the client has not said what it has to say in time.
    waiting: Option<Pin<Box<Sleep>>>,
    read: usize,
    /// Ends when the place is needed for another.
    closed: Option<oneshot::Receiver<()>>,
    caller: Caller,
}

impl<S> Connection<S> {
    /// Admits a client within the limits; a connection beyond them is closed.
    pub fn admit(
        stream: S,
        connections: &Arc<Connections>,
        peer: Peer,
        party: Party,
        ends: Option<(SocketAddr, SocketAddr)>,
    ) -> Option<Connection<S>> {
        let (place, closed) = connections.admit(party)?;
        let (user, started, has_called) = (OnceLock::new(), Mutex::default(), AtomicBool::new(false));
        let line = Arc::new(Line { ends, user, started, has_called, place });
        let waiting = Some(Box::pin(tokio::time::sleep(FIRST_CALL_TIMEOUT)));
        Some(Connection { stream, waiting, read: 0, closed: Some(closed), caller: Caller { peer, line } })
    }

    /// Fails when the client was quiet for too long or its place was given to another.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let is_closed = match &mut self.closed {
            Some(closed) => Pin::new(closed).poll(context).is_ready(),
            None => true,
        };
        if is_closed {
            self.closed = None;
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "its place was needed for another"));
        }
        if let Some(waiting) = &mut self.waiting
            && waiting.as_mut().poll(context).is_ready()
        {
            if !self.caller.line.has_called.load(Ordering::Acquire) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the client did not call in time"));
            }
            self.waiting = None;
        }
        Ok(())
    }
}

impl<S> Connected for Connection<S> {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Caller {
        self.caller.clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.read = self.read.saturating_add(buffer.filled().len() - before);
        if self.read >= PREFACE && self.caller.line.place.all().entrance() == Entrance::Kernel {
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;
    use crate::config::Limits;

    fn admit(entrance: Entrance) -> (DuplexStream, Connection<DuplexStream>) {
        let connections = Connections::new(entrance, &Limits::default());
        let (client, stream) = tokio::io::duplex(64);
        let connection = Connection::admit(stream, &connections, Peer::Remote, Party::User(7), None);
        (client, connection.unwrap())
    }

    async fn error(connection: &mut Connection<DuplexStream>) -> io::ErrorKind {
        let mut buffer = [0; 64];
        loop {
            if let Err(error) = connection.read(&mut buffer).await {
                return error.kind();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_client_is_closed() {
        let (_silent, mut connection) = admit(Entrance::Kernel);
        assert_eq!(error(&mut connection).await, io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn the_network_has_to_show_the_token_in_time() {
        for entrance in [Entrance::Token, Entrance::Open] {
            let (mut client, mut connection) = admit(entrance);
            // It says enough for HTTP/2, and answers pings for ever, and makes no call.
            client.write_all(&[0; 64]).await.unwrap();
            assert_eq!(error(&mut connection).await, io::ErrorKind::TimedOut);
        }
        let (mut client, mut connection) = admit(Entrance::Token);
        connection.connect_info().trust().unwrap();
        let later = tokio::spawn(async move {
            tokio::time::sleep(10 * FIRST_CALL_TIMEOUT).await;
            client.write_all(b"x").await.unwrap();
            client
        });
        let mut byte = [0];
        assert_eq!(connection.read(&mut byte).await.unwrap(), 1, "a trusted client may be quiet");
        drop(later.await.unwrap());
    }

    #[tokio::test]
    async fn a_place_that_is_needed_is_taken_away() {
        let limits = Limits { strangers: 1, ..Limits::default() };
        let connections = Connections::new(Entrance::Open, &limits);
        let admit = |stream| Connection::admit(stream, &connections, Peer::Remote, Party::User(7), None).unwrap();
        let (_first_client, first) = tokio::io::duplex(64);
        let (_second_client, second) = tokio::io::duplex(64);
        let mut first = admit(first);
        let _second = admit(second);
        assert_eq!(error(&mut first).await, io::ErrorKind::ConnectionAborted);
        assert_eq!(error(&mut first).await, io::ErrorKind::ConnectionAborted);
    }
}
