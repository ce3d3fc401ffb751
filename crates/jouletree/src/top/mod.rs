//! `jouletree top`: live power in the terminal, or as lines.
//!
//! [`state`] makes a [`view`] of what the meters bring and knows nothing of terminals; [`screen`], [`lines`] and [`json`]
//! show a view and know nothing of meters; [`input`] turns keys into choices. This module brings them together.

mod args;
mod input;
mod json;
mod keyboard;
mod keys;
mod lines;
mod output;
mod screen;
mod terminal;
mod words;

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use jouletree_session::top::{Command, Subject, Watching, cpu_socket, history, ledger, view};
use ratatui::crossterm::terminal::disable_raw_mode;

pub use args::{EXAMPLES, TopArgs, TopFormat};

use output::{Output, Wish};

use crate::signals::{self, Listener};

/// How long the meters are waited for before keys are looked at again.
const TURN: Duration = Duration::from_millis(50);
/// How long a signal that ends this program may take, whatever holds it up.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1500);

/// Shows power until the user, the command or the count ends it; what to exit with.
pub fn run(arguments: &TopArgs) -> Result<ExitCode> {
    let format = arguments.format.unwrap_or(match stdout().is_terminal() {
        true => TopFormat::Screen,
        false => TopFormat::Text,
    });
    if format == TopFormat::Screen && !stdout().is_terminal() {
        bail!("standard output is no terminal, so there is no screen; use `--format text` or `--format json`");
    }
    // A command's signals are passed on; without one they are ours.
    let (mut command, signals) = match arguments.command.as_slice() {
        [] => (None, Some(signals::listen_or_end(SHUTDOWN_TIMEOUT, restore)?)),
        words => (Some(Command::hold(words)?), None),
    };
    let subject = subject(arguments, command.as_ref());
    let mut watching =
        Watching::start(arguments.reader.open()?, &arguments.reader.roots(), arguments.interval, subject)?;
    let mut output = Output::open(format)?;
    if let Some(command) = &mut command {
        command.go()?;
    }
    let watched = watch(arguments, &mut watching, &mut output, command.as_mut(), signals.as_ref());
    let End { code, is_gone } = match (watched, &mut command) {
        (Ok(end), _) => end,
        (Err(error), None) => return Err(error),
        // What runs is the user's: it is waited for.
        (Err(error), Some(command)) => {
            output = Output::Nothing;
            writeln_stderr!("warning: {error:#}; the command goes on");
            End { code: command.outlive()?, is_gone: true }
        }
    };
    let view = watching.end();
    // Only now may anything else be written.
    drop(output);
    if format != TopFormat::Json && !is_gone {
        match (output::write(&lines::summary(&view)), &command) {
            (Err(error), Some(_)) => writeln_stderr!("warning: {error:#}"),
            (written, _) => drop(written?),
        }
    }
    if let Some(command) = command {
        command.tell_where_its_output_is();
    }
    Ok(ExitCode::from(code))
}

/// How watching ended.
struct End {
    /// What to exit with.
    code: u8,
    /// Whether the terminal is gone.
    is_gone: bool,
}

/// Shows what is watched until the user, the command or the count ends it.
fn watch(
    arguments: &TopArgs,
    watching: &mut Watching,
    output: &mut Output,
    mut command: Option<&mut Command>,
    signals: Option<&Listener>,
) -> Result<End> {
    let is_stopped = || signals.is_some_and(|signals| signals.try_recv().is_ok());
    let mut updates = 0;
    let mut is_gone = output.show(&watching.view())? == Wish::Gone;
    loop {
        let mut wish = if is_gone { Wish::Gone } else { Wish::GoOn };
        if watching.turn(TURN)? {
            updates += 1;
            wish = output.show(&watching.view())?;
            let is_enough = arguments.count.is_some_and(|count| updates >= count);
            if is_enough && wish != Wish::Gone {
                return Ok(End { code: 0, is_gone });
            }
        }
        if wish == Wish::GoOn {
            wish = output.listen(&watching.view())?;
        }
        is_gone |= wish == Wish::Gone;
        match (&mut command, wish) {
            (None, Wish::End | Wish::Interrupt | Wish::Gone) => return Ok(End { code: 0, is_gone }),
            (None, Wish::GoOn) if is_stopped() || watching.is_over() => return Ok(End { code: 0, is_gone }),
            (None, Wish::GoOn) => {}
            // What runs is the user's: it is interrupted on request, and otherwise waited for.
            (Some(command), Wish::Interrupt) => command.interrupt(),
            (Some(_), Wish::End) => {
                *output = Output::Nothing;
                writeln_stderr!("the command goes on; Ctrl-C interrupts it");
            }
            (Some(_), Wish::Gone) => *output = Output::Nothing,
            (Some(_), Wish::GoOn) => {}
        }
        if let Some(command) = &mut command
            && let Some(code) = command.ended()?
        {
            return Ok(End { code, is_gone });
        }
    }
}

/// The terminal may be left as it is: nothing can be written to it.
fn restore() {
    let _ = disable_raw_mode();
}

fn subject(arguments: &TopArgs, command: Option<&Command>) -> Subject {
    match (command, arguments.pid) {
        (Some(command), _) => Subject { pid: Some(command.pid()), words: command.words().to_owned() },
        (None, Some(pid)) => Subject { pid: Some(pid), words: format!("process {pid}") },
        (None, None) => Subject { pid: None, words: "this machine".to_owned() },
    }
}
