//! The keys of the terminal, read by this program itself: reading never waits, and a terminal that is gone is noticed.
//! (The reader of crossterm never returns at the end of its file.)

use std::fs::File;
use std::io::{IsTerminal, stdin};
use std::os::fd::OwnedFd;

use anyhow::{Context, Result};
use ratatui::crossterm::event::KeyEvent;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::{Errno, read};
use rustix::termios::tcgetwinsize;

use super::keys::Keys;

/// The terminal's keys and its size.
pub struct Keyboard {
    terminal: OwnedFd,
    keys: Keys,
    size: Option<(u16, u16)>,
}

/// What happened at the terminal since it was last looked at.
#[derive(Debug, Default, PartialEq)]
pub struct Pressed {
    /// The keys that were pressed.
    pub keys: Vec<KeyEvent>,
    /// Whether its size has changed.
    pub is_resized: bool,
    /// Whether there is no terminal any more.
    pub is_gone: bool,
}

impl Keyboard {
    /// The keyboard of this program: standard input, or the terminal that it was started from.
    pub fn open() -> Result<Keyboard> {
        let terminal = match stdin().is_terminal() {
            true => stdin().as_fd().try_clone_to_owned(),
            false => File::options().read(true).write(true).open("/dev/tty").map(OwnedFd::from),
        };
        let mut keyboard = Keyboard {
            terminal: terminal.context("cannot read the keyboard")?,
            keys: Keys::default(),
            size: None,
        };
        keyboard.size = keyboard.size_now();
        Ok(keyboard)
    }

    /// What happened since this was last asked; it does not wait.
    pub fn look(&mut self) -> Pressed {
        let mut pressed = Pressed::default();
        let (mut buffer, mut has_more) = ([0; 256], false);
        while !pressed.is_gone && self.has_bytes(&mut pressed.is_gone) {
            match read(&self.terminal, &mut buffer) {
                Ok(length @ 1..) => {
                    has_more = true;
                    pressed.keys.extend(self.keys.take(buffer.get(..length).unwrap_or_default()));
                }
                Err(Errno::INTR | Errno::AGAIN) => break,
                // Its end, or a terminal that does not let this program read.
                Ok(_) | Err(_) => pressed.is_gone = true,
            }
        }
        if !has_more {
            pressed.keys.extend(self.keys.rest());
        }
        let size = self.size_now();
        pressed.is_resized = size.is_some() && size != self.size;
        self.size = size.or(self.size);
        pressed
    }

    /// Whether there is no terminal any more.
    pub fn is_gone(&self) -> bool {
        let mut is_gone = false;
        self.has_bytes(&mut is_gone);
        is_gone
    }

    fn has_bytes(&self, is_gone: &mut bool) -> bool {
        let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
        let happened = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap_or(0);
        let flags = fds.first().map(PollFd::revents).unwrap_or(PollFlags::empty());
        *is_gone |= happened > 0 && flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        happened > 0 && !*is_gone && flags.contains(PollFlags::IN)
    }

    fn size_now(&self) -> Option<(u16, u16)> {
        tcgetwinsize(&self.terminal).ok().map(|size| (size.ws_col, size.ws_row))
    }
}
