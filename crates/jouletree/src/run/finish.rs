//! The end of a run: what was recorded is accounted, kept and shown.

use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Result, anyhow};
use jouletree_carbon::Intensity;
use jouletree_model::Warning;
use jouletree_report::warnings;
use jouletree_run::RunFolder;
use jouletree_session::finish::{self, Finished};
use jouletree_session::gather::redact_commands;
use jouletree_session::timings::Timings;
use jouletree_trace::Progress;

use super::{Level, RunArgs, shown};
use crate::carbon::of_run;
use crate::page::Look;
use crate::progress::ReadingBar;
use crate::recording::shared;
use crate::{carbon, print_warnings, report, show};

/// Accounts a run, keeps the result in its folder, and says what it is.
pub fn account(run: &RunFolder, arguments: &RunArgs, intensity: Option<&Intensity>) -> Result<()> {
    let mut timings = Timings::start();
    let finished = finish::finish(run, arguments.attribution, &mut timings, bar)?;
    let (run, footprint) = (&finished.run, &finished.accounted.footprint);
    let traces = run.path().join(finish::TRACES);
    if arguments.keep_traces {
        redact_commands(&traces);
    } else {
        // Traces that cannot be removed do no harm.
        let _ = fs::remove_dir_all(&traces);
    }
    if arguments.share {
        // Traces and patched files were the owner's alone while the program ran.
        shared(run.path());
    }
    // Most of the time goes into the page. It is written while the result is printed.
    let reported = thread::scope(|scope| {
        let page = scope.spawn(|| report::write_for(run, footprint, &finished.power, &finished.accounted.trace));
        let printed = if arguments.quiet { Ok(()) } else { print_result(&finished, arguments, intensity) };
        timings.stage("print", None);
        let reported = page.join().unwrap_or_else(|_| Err(anyhow!("its code failed; please report this")));
        printed.map(|()| reported)
    })?;
    timings.stage("report", None);
    // A page that cannot be written now can be made later, by `report`.
    if let Err(error) = &reported {
        writeln_stderr!("warning: there is no report: {error:#}");
    }
    if !arguments.quiet {
        if reported.is_ok() {
            writeln_stderr!("\nreport: {}", shown(&run.path().join(report::NAME)));
        }
        let path = shown(run.path());
        let more = match footprint.energies.is_empty() {
            _ if !run.read_calls()?.is_empty() => format!("calls {path}"),
            // Where no operation was recorded there is none to show.
            true => format!("show {path} --by device"),
            false => format!("show {path} --by op --summarize"),
        };
        writeln_stderr!("kept in {path}; more with: jouletree {more}");
    }
    print_warnings(&warnings(run));
    if arguments.timings {
        write_stderr!("{timings}");
    }
    Ok(())
}

/// Prints where the joules of a run went.
fn print_result(finished: &Finished, arguments: &RunArgs, intensity: Option<&Intensity>) -> Result<()> {
    let (run, footprint) = (&finished.run, &finished.accounted.footprint);
    write_stderr!("\n{}", show::run_report(run, footprint, finished.power.clone())?.written(Look::of_stderr()));
    if footprint.energies.is_empty() && matches!(arguments.level(), Level::Op | Level::Module) {
        writeln_stderr!("\n{}", nothing_recorded(run));
    }
    let libraries = arguments.called();
    if !run.read_calls()?.is_empty() {
        write_stderr!("\n{}", crate::calls::by_site(run)?.written(Look::of_stderr()));
    } else if !libraries.is_empty() {
        writeln_stderr!("\nno call of {} was recorded; docs/calls.md says what is patched", libraries.join(", "));
    }
    if let Some(intensity) = intensity {
        let grams =
            carbon::grams(intensity.grams(of_run::of_devices(&run.manifest().devices).energy().kilowatt_hours()));
        let path = shown(run.path());
        writeln_stderr!("\ncarbon: {grams} of CO2 equivalent by {intensity}; more with: jouletree carbon {path}");
    }
    Ok(())
}

/// Why there are no operations, as far as it is known.
fn nothing_recorded(run: &RunFolder) -> String {
    let about = |warning: &Warning| warning.source.starts_with("process ");
    let why = match run.manifest().warnings.iter().any(about) {
        true => "the warnings below say why",
        false => "no step of PyTorch, TensorFlow, JAX or ONNX Runtime was seen; docs/run.md says what a step is",
    };
    format!("no operation was recorded: {why}")
}

/// Opens a run; one whose recorder was killed before it could account is accounted first.
pub fn opened(path: &Path) -> Result<RunFolder> {
    finish::open(path, bar)
}

fn bar(files: &[&Path], progress: Vec<Progress>) -> Option<ReadingBar> {
    ReadingBar::over(files.iter().copied(), progress)
}
