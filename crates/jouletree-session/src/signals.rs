//! Signals: a program that receives one ends in order, or passes it on.

use std::io::IsTerminal;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, TryIter, TryRecvError, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Signal, getpgrp};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// The signals that end programs.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Takes the signals that end programs and passes them to the listener, from now on. A terminal sends its own (Ctrl-C)
/// to every program that it runs; those are left out, as they need not be passed on.
pub fn listen() -> Result<Listener> {
    // Under nohup, or in the background of a script, signals are ignored: by this program as by its command.
    let numbers = ENDING.into_iter().filter(|number| !is_ignored(*number));
    take(numbers, |signal| !matches!(signal, Signal::INT | Signal::QUIT) || !is_in_foreground(), None)
}

/// Whether this program is among those that get the signals of its terminal's keys.
fn is_in_foreground() -> bool {
    let terminal = std::io::stdin();
    terminal.is_terminal() && tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp())
}

/// The same for a program without a child to pass them on to.
pub fn listen_to_all() -> Result<Listener> {
    take(for_all(), |_| true, None)
}

/// The same for a program that may be held up, as by a terminal that takes nothing: so long after a signal it is ended,
/// and `before` is called first.
pub fn listen_or_end(timeout: Duration, before: fn()) -> Result<Listener> {
    take(for_all(), |_| true, Some((timeout, before)))
}

/// Scripts start programs in the background with SIGINT ignored, and end them with it.
fn for_all() -> impl Iterator<Item = i32> {
    ENDING.into_iter().filter(|number| *number != SIGHUP || !is_ignored(SIGHUP))
}

fn take(
    numbers: impl Iterator<Item = i32>,
    is_wanted: impl Fn(Signal) -> bool + Send + 'static,
    timeout: Option<(Duration, fn())>,
) -> Result<Listener> {
    let mut signals = Signals::new(numbers).context("the system refuses to deliver signals")?;
    let (sender, receiver) = channel();
    let listener = Listener { receiver, alive: Arc::new(()) };
    let alive: Weak<()> = Arc::downgrade(&listener.alive);
    let pass = move || {
        for number in signals.forever() {
            let signal = match number {
                SIGINT => Signal::INT,
                SIGQUIT => Signal::QUIT,
                SIGHUP => Signal::HUP,
                _ => Signal::TERM,
            };
            // There is no listener any more: signals do again what they always do.
            if alive.strong_count() == 0 {
                let _ = emulate_default_handler(number);
            } else if is_wanted(signal) {
                let _ = sender.send(signal);
                if let Some((timeout, before)) = timeout {
                    end_after(timeout, before, number);
                }
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(pass).context("the system gives no thread")?;
    Ok(listener)
}

/// Makes writing beyond the limit of a file's size (`ulimit -f`) fail as on a full disk, instead of ending this program. A
/// command that is started gets the system's behaviour again.
pub fn survive_file_size_limit() {
    if !is_ignored(SIGXFSZ) {
        // Where this is refused, the limit ends this program as it ends others.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    }
}

/// Whether this process was started with a signal ignored.
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_in(ignored(&status), number)
}

/// The mask of ignored signals.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

fn is_in(mask: u64, number: i32) -> bool {
    u32::try_from(number - 1).ok().and_then(|shift| mask.checked_shr(shift)).is_some_and(|bits| bits & 1 == 1)
}

/// Ends this program by a signal unless it has ended before.
fn end_after(timeout: Duration, before: fn(), number: i32) {
    let wait = move || {
        thread::sleep(timeout);
        before();
        let _ = emulate_default_handler(number);
    };
    // Without a thread the program ends when it can.
    let _ = thread::Builder::new().name("end".to_owned()).spawn(wait);
}

/// Listens to signals. When it is dropped, they end this program as usual.
pub struct Listener {
    receiver: Receiver<Signal>,
    /// Notified by its end.
    alive: Arc<()>,
}

impl Listener {
    /// The signals that came since this was last asked.
    pub fn try_iter(&self) -> TryIter<'_, Signal> {
        self.receiver.try_iter()
    }

    /// One of them, if there is one.
    pub fn try_recv(&self) -> std::result::Result<Signal, TryRecvError> {
        self.receiver.try_recv()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_known_by_their_mask() {
        let status = "Name:\tcat\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000001001001\nSigCgt:\t0\n";
        let found: Vec<i32> = (1..=64).filter(|number| is_in(ignored(status), *number)).collect();
        assert_eq!(found, [SIGHUP, 13, SIGXFSZ]);
        assert!(!is_in(u64::MAX, 0) && !is_in(u64::MAX, 65) && ignored("") == 0);
    }
}
