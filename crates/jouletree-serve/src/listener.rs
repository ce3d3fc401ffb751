//! Connections of browsers: bounded in number and in time, so that slow and silent ones do not lock out others.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::Sleep;

/// So many connections are open at once. For one more the oldest is closed: its browser connects again when it needs to.
const MOST: usize = 32;
/// How long a connection may last, whatever is asked and answered on it.
const LIFETIME: Duration = Duration::from_secs(30);

/// Accepts connections within those limits.
pub struct BoundedListener {
    listener: TcpListener,
    /// Those that are open, the oldest first; dropped to close one.
    open: VecDeque<oneshot::Sender<()>>,
}

impl BoundedListener {
    pub fn new(listener: TcpListener) -> BoundedListener {
        BoundedListener { listener, open: VecDeque::new() }
    }
}

impl Listener for BoundedListener {
    type Io = BoundedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (BoundedStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    self.open.retain(|open| !open.is_closed());
                    while self.open.len() >= MOST {
                        self.open.pop_front();
                    }
                    let (close, closed) = oneshot::channel();
                    self.open.push_back(close);
                    let lifetime = Box::pin(tokio::time::sleep(LIFETIME));
                    return (BoundedStream { stream, lifetime, closed: Some(closed) }, address);
                }
                // No file descriptors are left, most likely: the oldest connection has one.
                Err(_) => {
                    self.open.pop_front();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends in time.
pub struct BoundedStream {
    stream: TcpStream,
    lifetime: Pin<Box<Sleep>>,
    /// Ends when a newer connection takes its place.
    closed: Option<oneshot::Receiver<()>>,
}

impl BoundedStream {
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let is_closed = match &mut self.closed {
            Some(closed) => Pin::new(closed).poll(context).is_ready(),
            None => true,
        };
        if is_closed || self.lifetime.as_mut().poll(context).is_ready() {
            self.closed = None;
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
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

    #[test]
    fn a_connection_ends_when_its_time_is_over_or_its_place_is_needed() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut listener = BoundedListener::new(listener);
            let address = listener.local_addr().unwrap();
            let (mut clients, mut streams) = (Vec::new(), Vec::new());
            for _ in 0..=MOST {
                clients.push(TcpStream::connect(address).await.unwrap());
                streams.push(listener.accept().await.0);
            }
            let mut byte = [0];
            let closed = streams[0].read(&mut byte).await.unwrap_err();
            assert_eq!(closed.kind(), io::ErrorKind::TimedOut);
            assert!(streams[0].read(&mut byte).await.is_err());
            assert!(!listener.open.is_empty() && listener.open.len() == MOST);
            // As if its time were over.
            streams[1].lifetime = Box::pin(tokio::time::sleep(Duration::ZERO));
            assert!(streams[1].read(&mut byte).await.is_err());
            tokio::io::AsyncWriteExt::write_all(&mut clients[2], b"x").await.unwrap();
            assert_eq!(streams[2].read(&mut byte).await.unwrap(), 1, "others go on");
        });
    }
}
