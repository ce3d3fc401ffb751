//! The end of a run: what was recorded is accounted, kept and shown.

use std::fs;
use std::path::Path;

use anyhow::Result;
use jouletree_account::{Metered, Rule, Semantics, account as align};
use jouletree_model::Footprint;
use jouletree_report::Study;
use jouletree_run::{Accounting, EnergyOf, RunContents, RunFolder, accounted};

use super::gather::gather;
use super::{RunArgs, TRACES, shown};
use crate::{inputs, print_warnings, recorded, report, show};

/// Accounts a run, keeps the result in its folder, and says what it is.
pub fn account(run: &RunFolder, arguments: &RunArgs) -> Result<()> {
    let (run, footprint) = completed(run)?;
    if !arguments.keep_traces {
        // What cannot be removed is in nobody's way.
        let _ = fs::remove_dir_all(run.path().join(TRACES));
    }
    let page = run.path().join(report::NAME);
    // Whoever has the run can have the page later.
    let reported = Study::read(vec![run.clone()], rayon::current_num_threads())
        .map_err(Into::into)
        .and_then(|study| report::write(&study, &page));
    if let Err(error) = &reported {
        eprintln!("warning: there is no report: {error:#}");
    }
    if !arguments.quiet {
        eprint!("\n{}", show::run_report(&run, &footprint)?);
        let path = shown(run.path());
        if reported.is_ok() {
            eprintln!("\nreport: {}", shown(&page));
        }
        eprintln!("kept in {path}; more with: jouletree show {path} --by op --summarize");
    }
    print_warnings(&recorded::warnings(&run));
    Ok(())
}

/// Opens a run; one whose recorder was killed before it could account is accounted first.
pub fn opened(path: &Path) -> Result<RunFolder> {
    let run = RunFolder::open(path)?;
    if run.manifest().accounting.is_none() && path.join(TRACES).is_dir() {
        return completed(&run).map(|(run, _)| run);
    }
    Ok(run)
}

/// Aligns what ran with what was drawn, and keeps the result in the run's folder.
fn completed(run: &RunFolder) -> Result<(RunFolder, Footprint)> {
    let power = accounted(run.read_power()?, EnergyOf::Tree);
    let trace = inputs::on_host_of(gather(&run.path().join(TRACES))?, &power);
    let metered: Vec<Metered<'_>> = inputs::devices(&power).collect();
    let footprint = align(&trace, &metered, Semantics::Exact)?;
    let accounting = Accounting {
        command: std::env::args().collect(),
        power: Vec::new(),
        rule: Rule::Counter.as_str().to_owned(),
        semantics: "exact".to_owned(),
        energy: EnergyOf::Tree,
        hold_ms: None,
    };
    let contents = RunContents { accounting, trace: &trace, power: &power, footprint: &footprint };
    Ok((run.complete(&contents)?, footprint))
}
