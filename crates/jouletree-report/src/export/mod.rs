//! One run, written for the viewers and programs that people have.
//!
//! Each format is a module that turns plain data into bytes and knows neither folders nor arguments; `docs/export.md` says
//! what each holds, in which unit, and how it is opened. Energies are those of the footprint. Where a format shows single
//! events, their charges are checked to sum up to it.

mod collapsed;
mod error;
mod firefox;
mod flat;
mod layers;
mod perfetto;
mod pprof;
mod rows;
mod speedscope;
mod stacks;
mod timeline;

use std::io::Write;

use jouletree_model::{Footprint, Trace};
use jouletree_run::MeteredSeries;

pub use error::ExportError;

/// A format of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Flame graphs of joules and of time, for speedscope.
    Speedscope,
    /// Folded stacks with microjoules, for flamegraph.pl, inferno and others.
    Collapsed,
    /// A profile of joules, time and counts, for pprof and Pyroscope.
    Pprof,
    /// A timeline of operations and power, for Perfetto and Chrome.
    Perfetto,
    /// A timeline of operations and power, for the Firefox Profiler.
    Firefox,
    /// The footprint as text, for spreadsheets.
    Csv,
    /// The footprint as a table, for data frames.
    Parquet,
}

/// What of a run is written.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    /// What the run is called.
    pub name: &'a str,
    /// The program that ran; empty where it is not known.
    pub program: &'a str,
    /// Where the energy went; empty when only power was recorded.
    pub footprint: &'a Footprint,
    /// What ran when; looked at only by formats that [show events](Format::shows_events).
    pub trace: &'a Trace,
    /// The power that was accounted, looked at by the same formats.
    pub power: &'a [MeteredSeries],
    /// Whether the footprint was made by the exact rule, so that the charges of events must sum up to it.
    pub is_exact: bool,
}

impl Format {
    /// How files of this format are called: what follows the run's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Format::Speedscope => ".speedscope.json",
            Format::Collapsed => ".folded",
            Format::Pprof => ".pb.gz",
            Format::Perfetto => ".perfetto.json",
            Format::Firefox => ".firefox.json",
            Format::Csv => ".csv",
            Format::Parquet => ".parquet",
        }
    }

    /// Whether it shows what happened when, so that it has something to show of power alone.
    pub fn shows_events(self) -> bool {
        matches!(self, Format::Perfetto | Format::Firefox)
    }

    /// Whether its files are no text.
    pub fn is_binary(self) -> bool {
        matches!(self, Format::Pprof | Format::Parquet)
    }
}

/// Writes a run. `output` should be buffered; what is written before an error is of no use.
pub fn write(format: Format, content: &Content<'_>, output: &mut (dyn Write + Send)) -> Result<(), ExportError> {
    match format {
        Format::Speedscope => speedscope::write(content, output)?,
        Format::Collapsed => collapsed::write(content.footprint, output)?,
        Format::Pprof => pprof::write(content, output)?,
        Format::Perfetto => perfetto::write(content, output)?,
        Format::Firefox => firefox::write(content, output)?,
        Format::Csv => flat::write_csv(content.footprint, output)?,
        Format::Parquet => flat::write_parquet(content.footprint, output)?,
    }
    Ok(output.flush()?)
}
