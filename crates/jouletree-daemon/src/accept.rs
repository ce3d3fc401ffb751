//! Accepting connections, within the limits.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::connection::Connection;
use crate::connections::{Connections, Party};
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
                Ok((user, stream)) => {
                    let (peer, party) = (Peer::User(user), Party::User(user));
                    hand_in(&sender, Connection::admit(stream, &connections, peer, party, None)).await;
                }
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
            match stream.and_then(|(stream, theirs)| Ok(((theirs, stream.local_addr()?), stream))) {
                Ok((ends, stream)) => {
                    let party = Party::at(ends.0.ip());
                    let connection = Connection::admit(stream, &connections, Peer::Remote, party, Some(ends));
                    hand_in(&sender, connection).await;
                }
                Err(_) => rest().await,
            }
        }
    });
    ReceiverStream::new(incoming)
}

async fn hand_in<S>(sender: &mpsc::Sender<io::Result<Connection<S>>>, connection: Option<Connection<S>>) {
    if let Some(connection) = connection {
        let _ = sender.send(Ok(connection)).await;
    }
}

/// No file descriptors are left, most likely: they will be.
async fn rest() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
