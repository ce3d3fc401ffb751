//! A terminal of the test's own: the command runs on one side, the test sees and presses on the other.

// Each test file uses its part of this.
#![allow(dead_code, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Action, LocalModes, Winsize, tcflow, tcgetattr, tcsetwinsize};

/// The command's side of a terminal that is gone.
pub fn gone() -> OwnedFd {
    let terminal = Terminal::open(80, 24);
    let theirs = terminal.theirs.try_clone().expect("a copy");
    terminal.close();
    theirs
}

/// A pseudo-terminal.
pub struct Terminal {
    ours: OwnedFd,
    theirs: OwnedFd,
    shown: Arc<Mutex<Vec<u8>>>,
    is_closed: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    pub fn open(columns: u16, rows: u16) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("it may be used");
        let name = ptsname(&ours, Vec::new()).expect("its name");
        let theirs =
            open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).expect("the other side");
        let mut terminal =
            Terminal { ours, theirs, shown: Arc::default(), is_closed: Arc::default(), reader: None };
        terminal.resize(columns, rows);
        let mut reader = File::from(terminal.ours.try_clone().expect("a copy"));
        let (shown, is_closed) = (terminal.shown.clone(), terminal.is_closed.clone());
        // It ends with the other side, or when the terminal is closed.
        terminal.reader = Some(thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !is_closed.load(Ordering::Relaxed) {
                let mut fds = [PollFd::new(&reader, PollFlags::IN)];
                let tenth = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
                if poll(&mut fds, Some(&tenth)).unwrap_or(0) == 0 {
                    continue;
                }
                let Ok(length @ 1..) = reader.read(&mut buffer) else { return };
                shown.lock().expect("the text").extend_from_slice(&buffer[..length]);
            }
        }));
        terminal
    }

    /// Closes it, as a window is closed: the test's side has no open file any more.
    pub fn close(mut self) {
        self.stop_reading();
    }

    /// Takes nothing more of what is written to it.
    pub fn stop_output(&self) {
        tcflow(&self.theirs, Action::OOff).expect("it can be stopped");
    }

    fn stop_reading(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("it ends");
        }
    }

    /// Runs a command on it.
    pub fn run(&self, command: &mut Command) -> Child {
        let side = || Stdio::from(self.theirs.try_clone().expect("a copy"));
        command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("the command starts")
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.ours, size).expect("a size");
    }

    pub fn press(&self, keys: &str) {
        let mut writer = File::from(self.ours.try_clone().expect("a copy"));
        writer.write_all(keys.as_bytes()).expect("keys");
    }

    /// Whether single keys are read.
    pub fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.theirs).expect("its modes").local_modes;
        !modes.contains(LocalModes::ICANON)
    }

    /// Everything that was written to it.
    pub fn shown(&self) -> String {
        // What was written last may still be on its way.
        thread::sleep(Duration::from_millis(200));
        String::from_utf8_lossy(&self.shown.lock().expect("the text")).into_owned()
    }

    pub fn wait_for(&self, text: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.shown().contains(text) {
            assert!(Instant::now() < until, "`{text}` is not shown: {:?}", self.shown());
        }
    }
}
