//! Signals: who is told to end does so in order, or passes it on.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, TryIter, TryRecvError, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use ratatui::crossterm::terminal::disable_raw_mode;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Takes the signals that end programs and passes them to whoever listens, from now on. A terminal sends its own (Ctrl-C)
/// to every program that it runs; those are left out, as nobody needs to pass them on.
pub fn listen() -> Result<Listener> {
    let has_terminal = std::io::stdin().is_terminal();
    take(move |signal| !has_terminal || !matches!(signal, Signal::INT | Signal::QUIT), None)
}

/// The same for a program that has nobody to pass them on to.
pub fn listen_to_all() -> Result<Listener> {
    take(|_| true, None)
}

/// The same for a program that may be held up, as by a terminal that takes nothing: so long after a signal it is ended.
pub fn listen_or_end(patience: Duration) -> Result<Listener> {
    take(|_| true, Some(patience))
}

fn take(is_wanted: impl Fn(Signal) -> bool + Send + 'static, patience: Option<Duration>) -> Result<Listener> {
    // Signals that were ignored at the start (`nohup`) stay ignored, here and in what this program starts.
    let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    let taken = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|number| ignored >> (number - 1) & 1 == 0);
    let mut signals = Signals::new(taken).context("the system refuses to deliver signals")?;
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
            // Nobody listens any more: signals do again what they always do.
            if alive.strong_count() == 0 {
                let _ = emulate_default_handler(number);
            } else if is_wanted(signal) {
                let _ = sender.send(signal);
                if let Some(patience) = patience {
                    end_after(patience, number);
                }
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(pass).context("the system gives no thread")?;
    Ok(listener)
}

/// The signals that a process ignores, as bits, of what the kernel says of its status.
fn ignored(status: &str) -> u64 {
    let bits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

/// Ends this program by a signal unless it has ended before.
fn end_after(patience: Duration, number: i32) {
    let wait = move || {
        thread::sleep(patience);
        // The terminal may be left as it is: nothing can be written to it.
        let _ = disable_raw_mode();
        let _ = emulate_default_handler(number);
    };
    // Without a thread the program ends when it can.
    let _ = thread::Builder::new().name("end".to_owned()).spawn(wait);
}

/// Whoever listens to signals. When it is dropped, they end this program as usual.
pub struct Listener {
    receiver: Receiver<Signal>,
    /// Told by its end.
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
    fn ignored_signals_are_known_by_their_bits() {
        let status = "Name:\tSigIgn: 7\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t1\n";
        assert_eq!(ignored(status), 0x1001);
        assert_eq!(ignored("") | ignored("SigIgn:\tx"), 0);
    }
}
