//! The end of a run: what was recorded is accounted, kept and shown.

use std::fs;
use std::path::Path;

use anyhow::Result;
use jouletree_account::{Attribution, Metered, Rule, Semantics, account_by as align};
use jouletree_carbon::Intensity;
use jouletree_model::{Footprint, Warning};
use jouletree_run::{Accounting, EnergyOf, RunContents, RunFolder, accounted};

use super::called;
use super::gather::{self, gather};
use super::{Level, RunArgs, TRACES, shown};
use crate::carbon::of_run;
use crate::page::Look;
use crate::recording::shared;
use crate::{carbon, inputs, print_warnings, recorded, report, show};

/// Accounts a run, keeps the result in its folder, and says what it is.
pub fn account(run: &RunFolder, arguments: &RunArgs, intensity: Option<&Intensity>) -> Result<()> {
    let (run, footprint) = completed(run, arguments.attribution)?;
    let traces = run.path().join(TRACES);
    if arguments.keep_traces {
        gather::redact_commands(&traces);
    } else {
        // Traces that cannot be removed do no harm.
        let _ = fs::remove_dir_all(&traces);
    }
    if arguments.share {
        // Traces and patched files were the owner's alone while the program ran.
        shared(run.path());
    }
    // Whoever has the run can have the page later.
    let reported = report::write_for(run.clone());
    if let Err(error) = &reported {
        eprintln!("warning: there is no report: {error:#}");
    }
    if !arguments.quiet {
        eprint!("\n{}", show::run_report(&run, &footprint)?.written(Look::of_stderr()));
        let path = shown(run.path());
        if footprint.energies.is_empty() && matches!(arguments.level(), Level::Op | Level::Module) {
            eprintln!("\n{}", nothing_recorded(&run));
        }
        let (has_calls, libraries) = (!run.read_calls()?.is_empty(), arguments.called());
        if has_calls {
            eprint!("\n{}", crate::calls::by_site(&run)?.written(Look::of_stderr()));
        } else if !libraries.is_empty() {
            eprintln!("\nno call of {} was recorded; docs/calls.md says what is patched", libraries.join(", "));
        }
        if let Some(intensity) = intensity {
            let grams = carbon::grams(
                intensity.grams(of_run::of_devices(&run.manifest().devices).energy().kilowatt_hours()),
            );
            eprintln!("\ncarbon: {grams} of CO2 equivalent by {intensity}; more with: jouletree carbon {path}");
        }
        if reported.is_ok() {
            eprintln!("\nreport: {}", shown(&run.path().join(report::NAME)));
        }
        let more = match footprint.energies.is_empty() {
            _ if has_calls => format!("calls {path}"),
            // Where no operation was recorded there is none to show.
            true => format!("show {path} --by device"),
            false => format!("show {path} --by op --summarize"),
        };
        eprintln!("kept in {path}; more with: jouletree {more}");
    }
    print_warnings(&recorded::warnings(&run));
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
    let run = RunFolder::open(path)?;
    if run.manifest().accounting.is_none() && path.join(TRACES).is_dir() {
        return completed(&run, Attribution::default()).map(|(run, _)| run);
    }
    Ok(run)
}

/// Aligns what ran with what was drawn, and keeps the result in the run's folder.
fn completed(run: &RunFolder, attribution: Attribution) -> Result<(RunFolder, Footprint)> {
    let power = accounted(run.read_power()?, EnergyOf::Tree);
    let traces = run.path().join(TRACES);
    let mut trace = inputs::on_host_of(gather(&traces)?, &power);
    let (calls, warnings) = called::gather(&traces);
    trace.warnings.extend(warnings);
    let metered: Vec<Metered<'_>> = inputs::devices(&power).collect();
    let footprint = align(&trace, &metered, Semantics::Exact, attribution)?;
    let accounting = Accounting {
        command: std::env::args().collect(),
        power: Vec::new(),
        rule: Rule::Counter.as_str().to_owned(),
        semantics: "exact".to_owned(),
        energy: EnergyOf::Tree,
        attribution: Some(attribution.to_string()),
        hold_ms: None,
    };
    let contents = RunContents { accounting, trace: &trace, power: &power, footprint: &footprint };
    if !calls.is_empty() {
        run.write_calls(&calls)?;
        // What ran is kept with what it took; where that fails, nothing but a copy is lost.
        let _ = fs::rename(traces.join(called::PATCHED), run.path().join(called::PATCHED));
    }
    Ok((run.complete(&contents)?, footprint))
}
