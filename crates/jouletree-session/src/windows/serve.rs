//! The thread that talks to programs: it waits for requests, for answers and for new connections, and for nothing else.

use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::connection::Connection;
use super::protocol::Reply;
use super::service::WindowService;

/// So many programs are connected at once.
const MOST_CONNECTIONS: usize = 256;
/// How long the last answers may take.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Begins to talk to programs that connect, or to the ones that are connected.
pub fn start(
    service: Arc<WindowService>,
    listener: Option<UnixListener>,
    connections: Vec<Connection>,
) -> std::io::Result<JoinHandle<()>> {
    let next = connections.len() as u64;
    let mut talk = Talk { service, listener, connections, next, until: None };
    thread::Builder::new().name("windows".to_owned()).spawn(move || while talk.turn() {})
}

struct Talk {
    service: Arc<WindowService>,
    listener: Option<UnixListener>,
    connections: Vec<Connection>,
    next: u64,
    /// When it ends, once the recording is over.
    until: Option<Instant>,
}

impl Talk {
    /// Waits for something to do and does it; says whether there may be more.
    fn turn(&mut self) -> bool {
        let (has_caller, calls) = self.wait();
        self.service.heard();
        // Asked before the answers are taken, so that none comes after the last.
        let is_over = self.service.is_over();
        if is_over {
            self.until.get_or_insert_with(|| Instant::now() + DRAIN_TIMEOUT);
        }
        for (connection, (can_receive, can_send)) in self.connections.iter_mut().zip(calls) {
            if can_receive {
                connection.receive(&self.service);
            }
            if can_send {
                connection.send();
            }
        }
        if has_caller {
            self.accept();
        }
        for (number, reply) in self.service.answers() {
            if let Some(connection) = self.connections.iter_mut().find(|connection| connection.number == number) {
                connection.queue(&reply);
            }
        }
        self.part();
        let is_alone = self.listener.is_none() && self.connections.is_empty();
        let has_unsent = self.connections.iter().any(Connection::has_unsent);
        let is_late = self.until.is_some_and(|until| Instant::now() >= until);
        !(is_alone || is_late || is_over && !has_unsent)
    }

    /// Waits; whether a client connects, and which connections can be received from and sent to.
    fn wait(&self) -> (bool, Vec<(bool, bool)>) {
        let mut calls = vec![(false, false); self.connections.len()];
        let mut waited = vec![PollFd::from_borrowed_fd(self.service.news(), PollFlags::IN)];
        waited.extend(self.listener.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
        let others = waited.len();
        // Poll only connections with interest; a closed one would cause a busy loop.
        let mut wanted = Vec::new();
        for (place, connection) in self.connections.iter().enumerate() {
            if connection.listens() {
                waited.push(PollFd::from_borrowed_fd(connection.input(), PollFlags::IN));
                wanted.push((place, true));
            }
            if connection.has_unsent() {
                waited.push(PollFd::from_borrowed_fd(connection.output(), PollFlags::OUT));
                wanted.push((place, false));
            }
        }
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        if poll(&mut waited, left.as_ref()).is_err() {
            return (false, calls);
        }
        let is_called = |waited: &PollFd<'_>| !waited.revents().is_empty();
        let has_caller = others > 1 && waited.get(1).is_some_and(is_called);
        for ((place, is_input), _) in
            wanted.into_iter().zip(waited.iter().skip(others)).filter(|(_, fd)| is_called(fd))
        {
            if let Some((can_receive, can_send)) = calls.get_mut(place) {
                *(if is_input { can_receive } else { can_send }) = true;
            }
        }
        (has_caller, calls)
    }

    fn accept(&mut self) {
        let Some(Ok((stream, _))) = self.listener.as_ref().map(UnixListener::accept) else {
            // No file descriptors are left, most likely: they will be.
            return thread::sleep(Duration::from_millis(10));
        };
        // A program of another user gets no reason.
        if !is_ours(&stream) || stream.set_nonblocking(true).is_err() {
            return;
        }
        let mut connection = Connection::of_socket(self.next, stream);
        self.next += 1;
        if self.connections.len() >= MOST_CONNECTIONS {
            let error = format!("{MOST_CONNECTIONS} programs are connected already; close some connections");
            connection.queue(&Reply::Error { error, window: None });
            return connection.send();
        }
        self.connections.push(connection);
    }

    /// Parts from those who are gone, or have everything that they asked for.
    fn part(&mut self) {
        let service = &self.service;
        self.connections.retain(|connection| {
            let is_served = !connection.listens() && !connection.has_unsent() && !service.owes(connection.number);
            let is_kept = !connection.is_lost() && !is_served;
            if !is_kept {
                service.forget(connection.number, true);
            }
            is_kept
        });
    }
}

fn is_ours(stream: &UnixStream) -> bool {
    socket_peercred(stream).is_ok_and(|peer| peer.uid == geteuid())
}
