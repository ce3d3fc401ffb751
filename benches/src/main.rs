//! Benchmarks of jouletree: each figure beside its target and its peers. Run with `make bench`.

mod alignment;
mod attribution;
mod clock;
mod figure;
mod footprint;
mod kineto;
mod patch;
mod peers;
mod power;
mod predict;
mod random;
mod report;
mod run_folder;
mod sampler;
mod traces;
mod workload;
mod xplane;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use tempfile::TempDir;

use figure::Figure;
use peers::Peers;
use random::Random;

/// Measure jouletree's speed and print it beside its targets and its peers.
#[derive(Parser)]
#[command(name = "jouletree-bench")]
struct Arguments {
    /// What to measure [default: everything but accuracy]
    #[arg(value_name = "SECTION")]
    sections: Vec<Section>,
    /// Measure on smaller inputs
    #[arg(long)]
    quick: bool,
    /// Measure the peers, too, with this Python, which has the packages of benches/requirements.txt
    #[arg(long, value_name = "PYTHON")]
    peers: Option<PathBuf>,
    /// Measure HolisticTraceAnalysis among the peers
    #[arg(long, requires = "peers")]
    hta: bool,
    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
    /// Be one measurement of the sampler; for the benchmark itself
    #[arg(long, hide = true)]
    probe: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Kineto JSON to footprint
    Kineto,
    /// The same from gzip
    Gzip,
    /// XPlane to trace
    Xplane,
    /// Alignment alone
    Align,
    /// Estimating the powers of operations, how fast it is
    Attribution,
    /// Estimated powers against the truth of simulated programs; takes half an hour, and runs only where it is named
    Accuracy,
    /// Run folder to footprint
    Parquet,
    /// Run folder to report
    Report,
    /// Training, fitting and predicting trees
    Predict,
    /// Python programs to patched ones
    Patch,
    /// What sampling costs
    Sampler,
}

/// What the sections share: sizes, peers and a folder for their files.
struct Setup {
    quick: bool,
    peers: Peers,
    folder: TempDir,
}

impl Setup {
    /// Where files for this run go.
    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How large a trace is to be.
    fn trace_bytes(&self) -> u64 {
        if self.quick { 40_000_000 } else { 170_000_000 }
    }

    /// On how many devices a workload runs: the work of each is worth sharing out, however small the workload.
    fn devices(&self) -> usize {
        if self.quick { 2 } else { 8 }
    }

    /// How many events a workload has.
    fn events(&self) -> usize {
        if self.quick { 2_000_000 } else { 10_000_000 }
    }
}

impl Section {
    /// Whether it is measured where no section is named.
    fn by_default(self) -> bool {
        self != Section::Accuracy
    }

    fn figures(self, setup: &Setup) -> Result<Vec<Figure>> {
        match self {
            Section::Kineto => traces::plain_figures(setup),
            Section::Gzip => traces::gzip_figures(setup),
            Section::Xplane => xplane::figures(setup),
            Section::Align => alignment::figures(setup),
            Section::Attribution => attribution::speed(setup),
            Section::Accuracy => attribution::accuracy(setup),
            Section::Parquet => run_folder::figures(setup),
            Section::Report => report::figures(setup),
            Section::Predict => predict::figures(setup),
            Section::Patch => patch::figures(setup),
            Section::Sampler => sampler::figures(setup),
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(probe) = &arguments.probe {
        return serde_json::from_str::<sampler::probe::Probe>(probe)?.run();
    }
    let setup = Setup {
        quick: arguments.quick,
        peers: Peers { python: arguments.peers, hta: arguments.hta },
        folder: tempfile::tempdir().context("cannot create a folder for the benchmarks' files")?,
    };
    let load = load_average();
    let mut figures = Vec::new();
    for section in Section::value_variants() {
        if arguments.sections.is_empty() && section.by_default() || arguments.sections.contains(section) {
            let measured = section.figures(&setup)?;
            measured.iter().for_each(|figure| eprintln!("{}", figure.line()));
            figures.extend(measured);
        }
    }
    let table = figure::table(&figures, load.as_deref(), arguments.markdown);
    Ok(std::io::stdout().write_all(table.as_bytes())?)
}

/// Where the development data is, if it is anywhere.
fn development_data() -> PathBuf {
    std::env::var_os("JOULETREE_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"), PathBuf::from)
}

/// How many processes wanted a processor in the last minute, where the system reports it.
fn load_average() -> Option<String> {
    let averages = std::fs::read_to_string("/proc/loadavg").ok()?;
    let processors = std::thread::available_parallelism().ok()?;
    Some(format!("{} on {processors} processors", averages.split_whitespace().next()?))
}
