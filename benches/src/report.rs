//! How many events a second go from a run folder into the page of its report.

use anyhow::Result;
use jouletree_report::{Study, page};
use jouletree_run::RunFolder;

use crate::Setup;
use crate::clock::best_of;
use crate::figure::{Figure, Target};
use crate::run_folder::write_run;

const RUNS: usize = 3;

/// Measures run folder to page, on as many threads as a user has.
pub fn figures(setup: &Setup) -> Result<Vec<Figure>> {
    let path = setup.folder().join("reported");
    let events = write_run(&path, setup)?;
    let threads = rayon::current_num_threads();
    let (text, took) = best_of(RUNS, || Ok(page(&Study::read(vec![RunFolder::open(&path)?], threads)?)?))?;
    let millions = events as f64 / 1e6;
    Ok(vec![Figure {
        what: "run folder → report".to_owned(),
        value: millions / took.wall,
        decimals: 1,
        unit: "M events/s on the wall",
        target: Some(Target::AtLeast(1.0)),
        detail: format!("{millions:.0} M events, a page of {:.2} MB, {threads} threads", text.len() as f64 / 1e6),
        peers: Vec::new(),
    }])
}
