//! `jouletree export`: a run as a file that other programs open.

use std::ffi::OsStr;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use jouletree_host::whole::PartialFile;
use jouletree_model::{Footprint, Trace, Warning};
use jouletree_report::export::{self, Content, ExportError, Format};
use jouletree_run::{Accounting, MeteredSeries, RunError, RunFolder, Scope, accounted};
use trackers::Tracker;

use crate::carbon::CarbonArgs;
use crate::{print_warnings, run};

mod trackers;

pub const EXAMPLES: &str = "\
Examples:
  jouletree export RUN --to speedscope             flame graphs: open RUN.speedscope.json at
                                                   https://www.speedscope.app
  jouletree export RUN --to perfetto               what ran when, with joules and watts: open
                                                   RUN.perfetto.json at https://ui.perfetto.dev
  jouletree export RUN --to firefox                the same, for https://profiler.firefox.com
  jouletree export RUN --to pprof -o bert.pb.gz    for `go tool pprof -http : bert.pb.gz`
  jouletree export RUN --to collapsed -o - | flamegraph.pl --countname µJ > bert.svg
  jouletree export RUN --to csv -o - | head        operations, the largest first
  jouletree export RUN --to emissions.csv --country ITA
      one row of CodeCarbon's table, added to emissions.csv or put in the place of this run's row
  jouletree export RUN --to boamps --country FRA   a report for Boavizta; also: eco2ai, carbontracker, impact-tracker, sci

docs/export.md says what each file holds, in which units. What exists is never overwritten.";

#[derive(Args)]
pub struct ExportArgs {
    /// A run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// For which program
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: FormatArg,
    /// The new file, or - for standard output; by default one in this folder that is named after the run
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How many units of use the run served, for the SCI score
    #[arg(long, value_name = "N", value_parser = crate::cli::units)]
    pub units: Option<f64>,
    /// The project that tables of emissions name; the program's name unless settings have one
    #[arg(long, value_name = "NAME")]
    pub project_name: Option<String>,
    #[command(flatten)]
    pub carbon: CarbonArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Flame graphs of joules and of time
    Speedscope,
    /// Folded stacks in microjoules, for flamegraph.pl and inferno
    Collapsed,
    /// pprof and Pyroscope: joules, time and counts
    Pprof,
    /// Perfetto and Chrome: every event with its joules, and watts over time
    #[value(alias = "chrome")]
    Perfetto,
    /// Firefox Profiler: operations over time, and power tracks
    Firefox,
    /// A table for spreadsheets
    Csv,
    /// A table for data frames
    Parquet,
    /// CodeCarbon's table of emissions: a row is added, or put in the place of this run's
    #[value(name = "emissions.csv", alias = "codecarbon")]
    EmissionsCsv,
    /// Eco2AI's table: a row is added, or put in the place of this run's
    Eco2ai,
    /// CarbonTracker's log
    Carbontracker,
    /// Samples of power, as experiment-impact-tracker writes them
    #[value(alias = "experiment-impact-tracker")]
    ImpactTracker,
    /// A report in Boavizta's format
    Boamps,
    /// The software carbon intensity (ISO/IEC 21031)
    Sci,
}

/// Runs the command.
pub fn run(arguments: &ExportArgs) -> Result<ExitCode> {
    let run = run::opened(&arguments.run)?;
    let format = match arguments.to.viewer() {
        Ok(format) => format,
        Err(tracker) => return trackers::run(tracker, &run, arguments),
    };
    let name = name_of(&arguments.run);
    let target = Target::new(arguments.output.as_deref(), &name, format.suffix(), format.is_binary())?;
    let source = Source::read(&run, format)?;
    let program = jouletree_report::program_name(&run).unwrap_or_default();
    let content = Content {
        name: &name,
        program: &program,
        footprint: &source.footprint,
        trace: &source.trace,
        power: &source.power,
        is_exact: source.is_exact,
    };
    target.write(|output| export::write(format, &content, output))?;
    let warnings = source.warnings(&run);
    print_warnings(&warnings);
    Ok(ExitCode::SUCCESS)
}

/// What a run is called: the name of its folder.
fn name_of(run: &Path) -> String {
    let whole = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    whole.file_name().unwrap_or(OsStr::new("run")).to_string_lossy().into_owned()
}

/// What is read of a run.
struct Source {
    footprint: Footprint,
    trace: Trace,
    power: Vec<MeteredSeries>,
    is_exact: bool,
}

impl Source {
    /// Reads what a format needs; the events of a run are by far the largest part of it.
    fn read(run: &RunFolder, format: Format) -> Result<Source> {
        let accounting = run.manifest().accounting.as_ref();
        let is_exact = accounting.is_none_or(Accounting::is_exact);
        let footprint = match run.read_footprint() {
            Err(RunError::OnlyRecorded(_)) if format.shows_events() => Footprint::default(),
            read => read?,
        };
        if !format.shows_events() {
            return Ok(Source { footprint, trace: Trace::default(), power: Vec::new(), is_exact });
        }
        let energy = accounting.map_or(Scope::Device, |accounting| accounting.energy);
        let power = accounted(run.read_power()?, energy);
        let trace = match accounting {
            Some(_) => run.read_trace(rayon::current_num_threads())?,
            None => Trace::default(),
        };
        Ok(Source { footprint, trace, power, is_exact })
    }

    /// What the user should know about the file.
    fn warnings(&self, run: &RunFolder) -> Vec<Warning> {
        if self.is_exact || self.trace.lanes.is_empty() {
            return Vec::new();
        }
        let message = "accounted with --semantics paper, which knows no single events: those in the file are charged \
                       by the exact rule, and their joules do not sum up to what `jouletree show` says";
        vec![Warning::new(run.path().display().to_string(), message)]
    }
}

/// Where the file goes.
enum Target {
    Standard,
    File(PathBuf),
}

impl Target {
    fn new(output: Option<&Path>, name: &str, suffix: &str, is_binary: bool) -> Result<Target> {
        if output == Some(Path::new("-")) {
            if is_binary && io::stdout().is_terminal() {
                bail!(
                    "this format is no text for a terminal: name a file with -o FILE, or redirect standard output"
                );
            }
            return Ok(Target::Standard);
        }
        let path = output.map_or_else(|| PathBuf::from(format!("{name}{suffix}")), Path::to_owned);
        check_free(&path)?;
        Ok(Target::File(path))
    }

    /// Writes the file, which appears whole or not at all.
    fn write(&self, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), ExportError>) -> Result<()> {
        let path = match self {
            Target::Standard => return to_standard_output(write),
            Target::File(path) => path,
        };
        let partial = PartialFile::beside(path)?;
        let mut output = BufWriter::with_capacity(BUFFER, partial.file());
        write(&mut output).with_context(|| format!("{}: not written", path.display()))?;
        drop(output);
        // Another process may have been faster.
        check_free(path)?;
        partial.become_whole()?;
        writeln_stderr!("jouletree: wrote {}", path.display());
        Ok(())
    }
}

const BUFFER: usize = 1 << 18;

fn to_standard_output(write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), ExportError>) -> Result<()> {
    let mut output = UntilClosed { output: io::stdout(), is_closed: false };
    let result = write(&mut BufWriter::with_capacity(BUFFER, &mut output));
    // A reader that has seen enough is no error, whatever the format makes of it.
    if output.is_closed { Ok(()) } else { result.context("cannot write to standard output") }
}

/// An output that remembers whether its reader has gone.
struct UntilClosed<W> {
    output: W,
    is_closed: bool,
}

impl<W> UntilClosed<W> {
    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.is_closed |= result.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.output.write(bytes);
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.output.flush();
        self.noted(result)
    }
}

fn check_free(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        bail!(RunError::Exists(path.to_owned()));
    }
    Ok(())
}

impl FormatArg {
    /// The format of a viewer, or else of a tracker.
    fn viewer(self) -> Result<Format, Tracker> {
        match self {
            FormatArg::Speedscope => Ok(Format::Speedscope),
            FormatArg::Collapsed => Ok(Format::Collapsed),
            FormatArg::Pprof => Ok(Format::Pprof),
            FormatArg::Perfetto => Ok(Format::Perfetto),
            FormatArg::Firefox => Ok(Format::Firefox),
            FormatArg::Csv => Ok(Format::Csv),
            FormatArg::Parquet => Ok(Format::Parquet),
            FormatArg::EmissionsCsv => Err(Tracker::CodeCarbon),
            FormatArg::Eco2ai => Err(Tracker::Eco2ai),
            FormatArg::Carbontracker => Err(Tracker::CarbonLog),
            FormatArg::ImpactTracker => Err(Tracker::ImpactSamples),
            FormatArg::Boamps => Err(Tracker::Boamps),
            FormatArg::Sci => Err(Tracker::Sci),
        }
    }
}
