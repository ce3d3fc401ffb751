//! One program that asks: bytes in, bytes out, and nothing that it does can hold up anybody else.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::{Errno, read, write};

use super::lines::{LONGEST, Line, Lines};
use super::protocol::{Reply, Request};
use super::service::WindowService;

/// Who does not read this many bytes of answers is let go.
const MOST_UNSENT: usize = 4 << 20;
/// A pipe that can be written to takes this much without waiting.
const PIECE: usize = 4096;

/// A connection to a program.
pub struct Connection {
    pub number: u64,
    input: OwnedFd,
    /// Where answers go, if that is another file.
    output: Option<OwnedFd>,
    lines: Lines,
    unsent: Vec<u8>,
    /// No more requests will come.
    has_ended: bool,
    is_lost: bool,
}

impl Connection {
    /// A program that connected to a socket, which must not wait.
    pub fn of_socket(number: u64, stream: UnixStream) -> Connection {
        Connection::new(number, stream.into(), None)
    }

    /// The program at the other end of two pipes.
    pub fn of_pipes(number: u64, input: File, output: File) -> Connection {
        Connection::new(number, input.into(), Some(output.into()))
    }

    fn new(number: u64, input: OwnedFd, output: Option<OwnedFd>) -> Connection {
        let lines = Lines::default();
        Connection { number, input, output, lines, unsent: Vec::new(), has_ended: false, is_lost: false }
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_ref().unwrap_or(&self.input).as_fd()
    }

    /// Whether more requests may come.
    pub fn listens(&self) -> bool {
        !self.has_ended && !self.is_lost
    }

    /// Whether something waits to be sent.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty() && !self.is_lost
    }

    /// Whether the client is gone.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The client is gone.
    pub fn lose(&mut self) {
        self.is_lost = true;
    }

    /// Reads what is there and has it answered.
    pub fn receive(&mut self, service: &WindowService) {
        let mut bytes = [0; 16 * 1024];
        let lines = match read(&self.input, &mut bytes) {
            Ok(0) => {
                self.has_ended = true;
                self.lines.end().into_iter().collect()
            }
            Ok(count) => self.lines.take(bytes.get(..count).unwrap_or_default()),
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(_) => return self.lose(),
        };
        for line in lines {
            let reply = match line {
                Line::TooLong => {
                    Some(Reply::Error { error: format!("a line has {LONGEST} bytes at most"), window: None })
                }
                Line::Whole(line) => match Request::read(&line) {
                    Ok(request) => service.ask(self.number, request),
                    Err(error) => Some(Reply::Error { error: error.to_string(), window: None }),
                },
            };
            if let Some(reply) = reply {
                self.queue(&reply);
            }
        }
        if self.has_ended {
            service.forget(self.number, false);
        }
    }

    /// Sends an answer as soon as it is taken.
    pub fn queue(&mut self, reply: &Reply) {
        self.unsent.extend(reply.line());
        if self.unsent.len() > MOST_UNSENT {
            self.lose();
        }
    }

    /// Sends a piece of what waits.
    pub fn send(&mut self) {
        let output = self.output.as_ref().unwrap_or(&self.input);
        let piece = self.unsent.get(..PIECE.min(self.unsent.len())).unwrap_or_default();
        match write(output, piece) {
            Ok(count) => drop(self.unsent.drain(..count)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.lose(),
        }
    }
}
