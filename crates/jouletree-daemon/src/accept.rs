//! Accepting connections, within the limits.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::connection::{Connection, Connections};
use crate::policy::Peer;

/// Connections as they come.
pub type Incoming<S> = ReceiverStream<io::Result<Connection<S>>>;

/// Accepts clients at a socket, who are who the kernel says.
pub fn accept_unix(listener: UnixListener, connections: Arc<Connections>) -> Incoming<tokio::net::UnixStream> {
    let (sender, incoming) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted,
                () = sender.closed() => return,
            };
            match stream.and_then(|(stream, _)| Ok((stream.peer_cred()?.uid(), stream))) {
                Ok((user, stream)) => hand_in(&connections, &sender, stream, Peer::User(user)).await,
                Err(_) => rest().await,
            }
        }
    });
    ReceiverStream::new(incoming)
}

/// Accepts clients from the network, who are strangers.
pub fn accept_tcp(listener: TcpListener, connections: Arc<Connections>) -> Incoming<tokio::net::TcpStream> {
    let (sender, incoming) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted,
                () = sender.closed() => return,
            };
            match stream {
                Ok((stream, _)) => hand_in(&connections, &sender, stream, Peer::Remote).await,
                Err(_) => rest().await,
            }
        }
    });
    ReceiverStream::new(incoming)
}

async fn hand_in<S>(
    connections: &Arc<Connections>,
    sender: &mpsc::Sender<io::Result<Connection<S>>>,
    stream: S,
    peer: Peer,
) {
    if let Some(connection) = connections.admit(stream, peer) {
        let _ = sender.send(Ok(connection)).await;
    }
}

/// No file descriptors are left, most likely: they will be.
async fn rest() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
