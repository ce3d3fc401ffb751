//! Signals: who is told to end does so in order, or passes it on.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use anyhow::{Context, Result};
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

/// Takes the signals that end programs and passes them to whoever listens, from now on. A terminal sends its own (Ctrl-C)
/// to every program that it runs; those are left out, as nobody needs to pass them on.
pub fn listen() -> Result<Receiver<Signal>> {
    let has_terminal = std::io::stdin().is_terminal();
    take(move |signal| !has_terminal || !matches!(signal, Signal::INT | Signal::QUIT))
}

/// The same for a program that has nobody to pass them on to.
pub fn listen_to_all() -> Result<Receiver<Signal>> {
    take(|_| true)
}

fn take(is_wanted: impl Fn(Signal) -> bool + Send + 'static) -> Result<Receiver<Signal>> {
    let mut signals =
        Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]).context("the system refuses to deliver signals")?;
    let (sender, receiver) = channel();
    let pass = move || {
        for number in signals.forever() {
            let signal = match number {
                SIGINT => Signal::INT,
                SIGQUIT => Signal::QUIT,
                SIGHUP => Signal::HUP,
                _ => Signal::TERM,
            };
            if is_wanted(signal) && sender.send(signal).is_err() {
                break;
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(pass).context("the system gives no thread")?;
    Ok(receiver)
}
