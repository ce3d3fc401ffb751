//! `jouletree record`: the power of a command, of a process or of the machine, in a run folder.

use std::process::ExitCode;

use anyhow::Result;
use jouletree_run::RunFolder;

use crate::cli::RecordArgs;
use crate::launch::{self, Environment};
use crate::page::Look;
use crate::recording::{OngoingRecording, Subject, default_output};
use crate::{print_warnings, recorded};

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
