//! The command line of jouletree: arguments in, tables and files out. Everything else lives in the libraries.
//!
//! Each verb is a module with its arguments (`…Args`), its `EXAMPLES` and `run`, which returns the exit status.

/// Writes to standard error and ignores failures, where the standard library's `eprint!` panics: a full disk under a log
/// must not end a recording.
macro_rules! write_stderr {
    ($($format:tt)*) => {{
        let _ = ::std::io::Write::write_fmt(&mut ::std::io::stderr(), format_args!($($format)*));
    }};
}

/// Writes one whole line in the same way.
macro_rules! writeln_stderr {
    ($($format:tt)*) => {{
        let line = format!($($format)*) + "\n";
        let _ = ::std::io::Write::write_all(&mut ::std::io::stderr(), line.as_bytes());
    }};
}

mod account;
mod attend;
mod calibrate;
mod calls;
mod carbon;
mod card;
mod cli;
mod config;
mod daemon;
mod daemon_args;
mod detect;
mod doctor;
mod doctor_text;
mod estimate;
mod evaluate;
mod export;
mod help;
mod inputs;
mod inspect;
mod json;
mod live_args;
mod logging;
mod meter_args;
mod monitor;
mod named_model;
mod numbers;
#[cfg(feature = "patch")]
mod patch;
mod predict;
mod program;
mod progress;
mod reader_args;
mod record;
mod recorded;
mod recorded_json;
mod report;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod show;
mod steps;
mod tables;
mod top;
mod tradeoff;
mod train;
mod tree_table;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::FromArgMatches as _;
use jouletree_model::Warning;
use jouletree_session::{cache, daemon_place, launch, reader, recording, signals, windows};
use jouletree_table::{cell, colour, columns, markdown, page, paragraph};

use cli::{Cli, Command};

/// What `--strict` exits with when there was a warning; 1 is an error and 2 a wrong command line.
const WARNED: u8 = 3;
/// What a wrong command line exits with, as in `clap`.
const WRONG_COMMAND_LINE: u8 = 2;

/// Runs the command that the arguments of this process name; returns its exit status.
pub fn main() -> ExitCode {
    jouletree_model::silence_guarded_panics();
    signals::survive_file_size_limit();
    let cli = arguments();
    colour::choose(cli.color);
    if let Err(error) = logging::start(cli.verbose, cli.command.default_log_level()) {
        writeln_stderr!("error: {error}");
        return ExitCode::from(WRONG_COMMAND_LINE);
    }
    let outcome = match cli.command {
        Command::Account(arguments) => account::run(&arguments),
        Command::Attend(arguments) => attend::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Calls(arguments) => calls::run(&arguments),
        Command::Carbon(arguments) => carbon::run(&arguments),
        Command::Card(arguments) => card::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Daemon(arguments) => daemon::run(&arguments),
        Command::Detect(arguments) => detect::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Emissions(arguments) => carbon::run_emissions(&arguments),
        Command::Estimate(arguments) => estimate::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Monitor(arguments) => monitor::run(&arguments),
        Command::Predict(arguments) => predict::run(&arguments),
        #[cfg(feature = "patch")]
        Command::Patch(arguments) => patch::run(&arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Tradeoff(arguments) => tradeoff::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
        Command::Launch(arguments) => Ok(ExitCode::from(launch::become_command(&arguments.command))),
    };
    outcome.unwrap_or_else(|error| {
        writeln_stderr!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Writes a result to standard output. A reader that has seen enough (`| head`) is no error.
fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write the result to standard output"),
    }
}

/// Prints on standard error what the user should know about the input, each thing once, as wide as the terminal.
fn print_warnings(warnings: &[Warning]) {
    for warning in jouletree_report::summed(warnings) {
        match page::Look::of_stderr() {
            page::Look::Text { width: Some(width), .. } => {
                write_stderr!("{}", paragraph::entry("warning: ", &warning.to_string(), 4, width));
            }
            _ => writeln_stderr!("warning: {warning}"),
        }
    }
}

/// The command line; for slips that are common, with the command that was meant.
fn arguments() -> Cli {
    let matches = help::command().try_get_matches().unwrap_or_else(|error| {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let hint = help::missing_dashes(&words).filter(|_| error.use_stderr());
        let printed = error.print();
        if let Some(meant) = hint {
            writeln_stderr!("\nThe command to run follows `--`: {meant}");
        }
        std::process::exit(match printed {
            // Help is a result as any other.
            Err(lost) if lost.kind() != ErrorKind::BrokenPipe && !error.use_stderr() => {
                writeln_stderr!("error: cannot write to standard output: {lost}");
                1
            }
            _ => error.exit_code(),
        })
    });
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}
