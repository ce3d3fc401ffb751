//! `jouletree record`: the power of a command, of a process or of the machine, in a run folder.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use jouletree_model::Nanos;
use jouletree_run::RunFolder;

use crate::carbon::CarbonArgs;
use crate::cli::{period, seconds};
use crate::launch::{self, Environment};
use crate::live_args::LiveArgs;
use crate::page::Look;
use crate::reader_args::ReaderArgs;
use crate::recording::{OngoingRecording, Subject, default_output};
use crate::{print_warnings, recorded};

pub const EXAMPLES: &str = "\
Examples:
  jouletree record -- python train.py              records until the command ends, then says what it used
  jouletree record -o RUN --period 1 -- ./infer    a reading every millisecond, kept in RUN
  jouletree record --pid 4242 --duration 60        a process that runs already, for a minute
  jouletree record --duration 10                   the machine alone
  jouletree account trace.json.gz --power RUN      where those joules went, operation by operation
  jouletree record --require measured -- ./infer   rather nothing than an estimate
  jouletree record --daemon -- ./infer             the daemon reads the meters, as you may not
  jouletree record --prometheus :9108 --duration 3600
      the machine alone, for a Prometheus server to watch (docs/live.md)

The exit status is that of the command, or 128 and its signal, also where its recording fails. What jouletree says goes to standard error; standard output
is the command's.";

#[derive(Args)]
pub struct RecordArgs {
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "pid")]
    pub command: Vec<OsString>,
    /// Record this process and its descendants instead of a command
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Stop after this many seconds; a command goes on without being recorded
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// The new folder of the run; by default one named after the command and the time
    #[arg(short, long, value_name = "RUN")]
    pub output: Option<PathBuf>,
    /// Milliseconds from one reading of the meters to the next, from 1 to 1000
    #[arg(long, value_name = "MS", default_value = "4", value_parser = period)]
    pub period: Nanos,
    /// Let others read what is kept, as far as the umask allows; by default only you can
    #[arg(long)]
    pub share: bool,
    /// Exit with status 1 when the recording is not whole, although the command succeeded
    #[arg(long)]
    pub strict: bool,
    /// Only print errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub carbon: CarbonArgs,
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// Runs the command.
pub fn run(arguments: &RecordArgs) -> Result<ExitCode> {
    let RecordArgs { command, pid, period, .. } = arguments;
    let output = arguments.output.clone().unwrap_or_else(|| default_output(command, *pid));
    // Carbon is not known here yet: its intensity goes in this place.
    let outputs = arguments.live.open(arguments.carbon.known_intensity()?, arguments.quiet)?;
    let reader = arguments.reader.open()?;
    let mut subject = match command.as_slice() {
        [] => Subject::joined(*pid)?,
        command => Subject::command(command, &Environment::new())?,
    };
    let roots = arguments.reader.roots();
    let mut recording =
        OngoingRecording::begin(&reader, &roots, &mut subject, *period, command, &output, &outputs)?;
    recording.share_if(arguments.share);
    say(arguments, || format!("recording to {}", output.display()));
    subject.go()?;
    let mut status = recording.follow(&mut subject, arguments.duration)?;
    let recorded = launch::attempted(|| {
        let recorded = recording.finish(status)?;
        report(arguments, &recorded.run);
        recorded.whole()
    });
    // A command outlives a recording of limited duration.
    if status.is_none() {
        status = subject.outlive()?;
    }
    // From here on Ctrl-C ends this program, too.
    drop(subject);
    outputs.end();
    launch::passed_on(status, recorded, arguments.strict)
}

/// Says what was recorded.
fn report(arguments: &RecordArgs, run: &RunFolder) {
    if let (Some(recording), false) = (&run.manifest().recording, arguments.quiet) {
        write_stderr!("{}", recorded::report(recording).written(Look::of_stderr()));
        writeln_stderr!("kept in {}", run.path().display());
    }
    print_warnings(&jouletree_report::warnings(run));
}

fn say(arguments: &RecordArgs, text: impl FnOnce() -> String) {
    if !arguments.quiet {
        writeln_stderr!("jouletree: {}", text());
    }
}
