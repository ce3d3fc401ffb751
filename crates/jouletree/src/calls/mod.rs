//! `jouletree calls`: what single calls of library functions used, from runs and from the published data of FECoM.

mod args;
mod figure;
mod operations;
mod pages;
mod sites;

use std::process::ExitCode;

use anyhow::{Result, bail};
use args::CallsBy;
use jouletree_account::calls::compare::{self, Choice};
use jouletree_model::Warning;
use jouletree_report::{Trust, Whole};
use jouletree_run::fecom::{self, FecomData};
use jouletree_run::{RunFolder, Scope};
use jouletree_session::calls::{self as measured, Measured, WindowRule, of_fecom, of_run, rows};

pub use args::{CallsArgs, EXAMPLES};

use crate::cli::Format;
use crate::numbers::percent;
use crate::page::Page;
use crate::show::look;
use crate::{json, print, print_warnings, tables};

/// How many lines of a program are shown at the end of its run.
const SITES: usize = 15;

/// Runs the command.
pub fn run(arguments: &CallsArgs) -> Result<ExitCode> {
    let measured = read(arguments)?;
    if let Some(file) = &arguments.figure {
        figure::write(&measured, arguments.call, file)?;
    }
    print(&written(&measured, arguments)?)?;
    print_warnings(&measured.warnings);
    Ok(ExitCode::SUCCESS)
}

/// The calls of a run by the lines that make them.
pub fn by_site(run: &RunFolder) -> Result<Page> {
    let mut measured = Measured::new(WindowRule::Exact);
    of_run::add(&mut measured, run, 0, Scope::Tree)?;
    let mut page = sites::page(&sites::rows(&measured), SITES);
    pages::waits(&measured.rows()).into_iter().for_each(|line| page.words(line));
    Ok(page)
}

/// Everything that was named, runs or data of FECoM.
fn read(arguments: &CallsArgs) -> Result<Measured> {
    let mut measured = Measured::new(arguments.window.into());
    let mut data = FecomData::default();
    let mut runs = Vec::new();
    for path in &arguments.inputs {
        if RunFolder::is_at(path) {
            runs.push(crate::run::opened(path)?);
        } else if path.is_dir() && !fecom::is_fecom(path) {
            bail!("{}: neither a run folder nor data of FECoM", path.display());
        } else {
            let FecomData { records, rows } = fecom::read_fecom(path)?;
            data.records.extend(records);
            data.rows.extend(rows);
        }
    }
    for (number, run) in runs.iter().enumerate() {
        of_run::add(&mut measured, run, number, arguments.energy_of())?;
        measured.warnings.extend(not_idle(run, arguments));
    }
    of_fecom::add(&mut measured, data)?;
    Ok(measured)
}

/// That the machine was not idle while it should have been, so that net energies of whole devices are of no use.
fn not_idle(run: &RunFolder, arguments: &CallsArgs) -> Option<Warning> {
    let recording = run.manifest().recording.as_ref()?;
    let trust = Trust::of(Some(recording), &Whole::of_recording(recording));
    let used = percent(trust.neighbours.filter(|_| trust.is_disturbed())?);
    let message = match arguments.energy_of() {
        Scope::Device => format!(
            "other programs used {used} of the devices, so the idle level is not idle and net energies mean nothing; leave \
             --energy device out, or record on an idle machine"
        ),
        Scope::Tree => format!(
            "other programs used {used} of the devices; energies are the program's share of them, and the other rule, which is \
             about the whole device, means nothing; record on an idle machine"
        ),
    };
    Some(Warning::new(run.path().display().to_string(), message))
}

fn written(measured: &Measured, arguments: &CallsArgs) -> Result<String> {
    let choice = match measured.window {
        WindowRule::Exact => Choice::All,
        WindowRule::Fecom => Choice::LastOfName,
    };
    match arguments.by {
        CallsBy::Call => shown(&measured.rows(), arguments.format, |rows| pages::calls(rows, arguments)),
        CallsBy::Operation => operations::written(measured, arguments),
        CallsBy::Site => shown(&sites::rows(measured), arguments.format, |rows| sites::page(rows, arguments.top)),
        CallsBy::Function => {
            let energies = measured.calls();
            let functions = compare::functions(&compare::chosen(&energies, choice));
            let rows: Vec<rows::FunctionRow> = functions.iter().map(rows::FunctionRow::from).collect();
            shown(&rows, arguments.format, |rows| pages::functions(rows, arguments.top))
        }
        CallsBy::Project => {
            let rows = rows::project_rows(measured, choice);
            if rows.is_empty() {
                bail!(
                    "there is no whole to compare calls with; name the table of whole programs, too (project_level)"
                );
            }
            shown(&rows, arguments.format, pages::projects)
        }
        CallsBy::Size => {
            let fits = compare::sizes(&measured.sized());
            let rows: Vec<rows::SizeRow> = fits.iter().map(rows::SizeRow::from).collect();
            shown(&rows, arguments.format, pages::sizes)
        }
        CallsBy::Trend => {
            let energies = measured.calls();
            let functions = compare::functions(&compare::chosen(&energies, choice));
            let mut trends = compare::trends(&functions, choice);
            trends.extend(compare::size_trends(&measured.made_for_sizes(), choice));
            let rows: Vec<rows::TrendRow> = trends.iter().map(rows::TrendRow::from).collect();
            shown(&rows, arguments.format, pages::trends)
        }
    }
}

/// Rows as they were asked for.
fn shown<T: serde::Serialize>(rows: &[T], format: Format, page: impl FnOnce(&[T]) -> Page) -> Result<String> {
    match (format, look(format)) {
        (_, Some(look)) => Ok(page(rows).written(look)),
        (Format::Csv, None) => tables::csv(rows),
        (_, None) => json::written(&rows),
    }
}
