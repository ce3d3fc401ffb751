//! `jouletree report`: one page that shows where the joules of a run went, and figures for papers.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use jouletree_account::Attribution;
use jouletree_host::whole::{self, PartialFile};
use jouletree_model::{Footprint, MeteredSeries, Pass, Trace};
use jouletree_report::{Disclosure, FigureChoice, FigureFormat, Figures, Study, page};
use jouletree_run::{RunFolder, read_file};

use crate::run;

/// What every page of ours holds, by which it may be replaced.
const OURS: &str = "<meta name=\"generator\" content=\"jouletree\">";
/// The page in a run folder.
pub const NAME: &str = "report.html";

pub const EXAMPLES: &str = "\
Examples:
  jouletree report RUN                             writes RUN/report.html, one file that opens anywhere
  jouletree report RUN -o report.html              to attach to a paper or a pull request
  jouletree report RUN1 RUN2 RUN3 -o report.html   runs of the same program: means, with whiskers of one standard deviation
  jouletree report RUN --anonymous -o report.html  for double-blind review: no host, user, folder or process
  jouletree report RUN --figures paper/ --format pdf            figures in the width of a column
  jouletree report RUN --figures paper/ --format pdf,png --layer bert/encoder/layer_0 --pass all
  jouletree report RUN --figures paper/ --format pdf,csv --only top-energy,stages
      two of them, and the numbers that they show";

#[derive(Args)]
pub struct ReportArgs {
    /// Run folders; several are runs of the same program
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// How energy is shared among operations; by default as recorded, otherwise runs are accounted again
    #[arg(long, value_name = "POLICY", value_parser = crate::cli::attribution())]
    pub attribution: Option<Attribution>,
    /// The page; by default report.html in the folder of the first run
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Leave out names of hosts and users, folders and process numbers, as double-blind review wants it
    #[arg(long)]
    pub anonymous: bool,
    /// Let others read the page, as far as the umask allows; by default only you can
    #[arg(long)]
    pub share: bool,
    /// Writes the figures of a paper into this folder, and the page only if -o is given; replaces figures of the same
    /// names
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// The form of the figures; comma-separated
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        value_delimiter = ',',
        default_value = "svg",
        requires = "figures"
    )]
    pub format: Vec<Form>,
    /// Only these figures; comma-separated, by default all
    #[arg(long, value_name = "FIGURE", value_enum, value_delimiter = ',', requires = "figures")]
    pub only: Vec<FigureKind>,
    /// A layer whose diagram is drawn, beside the root and the largest layers below it; may be given several times
    #[arg(long = "layer", value_name = "PATH", requires = "figures")]
    pub layers: Vec<String>,
    /// The pass that diagrams show: forward, backward, optimizer or all
    #[arg(long, value_name = "PASS", default_value = "forward", requires = "figures")]
    pub pass: Passes,
    /// The layer whose moments are pointed out in power over a step; by default the largest that is a part of it
    #[arg(long, value_name = "PATH", requires = "figures")]
    pub highlight: Option<String>,
}

/// One pass or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes(Option<Pass>);

impl FromStr for Passes {
    type Err = String;

    fn from_str(text: &str) -> Result<Passes, String> {
        match text {
            "all" => Ok(Passes(None)),
            one => one
                .parse()
                .map(|pass| Passes(Some(pass)))
                .map_err(|_| format!("{one:?} is no pass; choose forward, backward, optimizer or all")),
        }
    }
}

/// The form of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Scalable, for web pages and drawing programs
    Svg,
    /// For papers
    Pdf,
    /// Pixels, 300 to an inch
    Png,
    /// The numbers that the figure shows, for those who draw their own
    Csv,
}

/// A figure, or figures of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FigureKind {
    /// Energy by stage and pass
    Stages,
    /// Diagrams of layers
    Diagram,
    /// The operations that used most
    TopEnergy,
    /// The operations with the highest power
    TopPower,
    /// Power over a step
    PowerStep,
    /// All layers, as wide as their energy
    Icicle,
}

impl FigureKind {
    /// Whether a figure is one of this kind, by its name.
    fn is_of(self, figure: &str) -> bool {
        match self {
            FigureKind::Stages => figure == "stages",
            FigureKind::Diagram => figure.starts_with("diagram-"),
            FigureKind::TopEnergy => figure == "top-energy",
            FigureKind::TopPower => figure == "top-power",
            FigureKind::PowerStep => figure == "power-step",
            FigureKind::Icicle => figure == "icicle",
        }
    }
}

impl From<Form> for FigureFormat {
    fn from(form: Form) -> FigureFormat {
        match form {
            Form::Svg => FigureFormat::Svg,
            Form::Pdf => FigureFormat::Pdf,
            Form::Png => FigureFormat::Png,
            Form::Csv => FigureFormat::Csv,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &ReportArgs) -> Result<ExitCode> {
    let folders = arguments.runs.iter().map(|path| run::opened(path)).collect::<Result<Vec<RunFolder>>>()?;
    let output = match (&arguments.output, folders.first()) {
        (Some(output), _) => Some(output.clone()),
        (None, _) if arguments.figures.is_some() => None,
        (None, Some(first)) => Some(first.path().join(NAME)),
        (None, None) => bail!("there is no run to report; give a run folder"),
    };
    let disclosure = arguments.anonymous.then(|| Disclosure::anonymous(&folders));
    let mut study = Study::read_by(folders, arguments.attribution, rayon::current_num_threads())?;
    if let Some(disclosure) = disclosure {
        study = study.disclosed(&disclosure);
    }
    if let Some(output) = output {
        write(&study, &output, arguments.share)?;
        writeln_stderr!("jouletree: wrote {}", output.display());
    }
    if let Some(folder) = &arguments.figures {
        write_figures(&study, arguments, folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a run into its folder, from what is in memory.
pub fn write_for(run: &RunFolder, footprint: &Footprint, power: &[MeteredSeries], trace: &Trace) -> Result<()> {
    write(&Study::of_run(run, footprint, power, trace), &run.path().join(NAME), false)
}

/// Writes the page of a study; replaces an earlier page, and nothing else.
pub fn write(study: &Study, output: &Path, is_shared: bool) -> Result<()> {
    let is_ours = match read_file(output) {
        Ok(content) => String::from_utf8(content).is_ok_and(|text| text.contains(OURS)),
        // A pipe or a device.
        Err(error) => error.kind() != ErrorKind::InvalidInput,
    };
    if !is_ours {
        bail!("{} exists and is no report; choose another -o or remove it", output.display());
    }
    let text = page(study).context("the report cannot be written")?;
    let before = output.metadata().ok().map(|data| data.permissions());
    let partial = PartialFile::with_mode(output, mode(output, is_shared))?;
    partial.write(text.as_bytes())?;
    if let Some(before) = before {
        // Others who could read the page before still can.
        partial.file().set_permissions(before).with_context(|| format!("cannot write {}", output.display()))?;
    }
    Ok(partial.become_whole()?)
}

/// The permissions of a page: its owner's, unless it is shared or in a run folder that is.
fn mode(output: &Path, is_shared: bool) -> u32 {
    let in_shared_run = output.parent().is_some_and(|folder| {
        RunFolder::is_at(folder) && folder.metadata().is_ok_and(|data| data.permissions().mode() & 0o077 != 0)
    });
    if is_shared || in_shared_run { 0o644 } else { 0o600 }
}

fn write_figures(study: &Study, arguments: &ReportArgs, folder: &Path) -> Result<()> {
    let choice = FigureChoice {
        layers: arguments.layers.clone(),
        pass: arguments.pass.0,
        highlight: arguments.highlight.clone(),
    };
    let mut figures = Figures::of(study, &choice)?;
    let is_wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|kind| kind.is_of(name));
    figures.drawn.retain(|figure| is_wanted(&figure.name));
    figures.missing.retain(|(name, _)| is_wanted(name));
    for (name, why) in &figures.missing {
        writeln_stderr!("jouletree: {name} is not written: {why}");
    }
    if figures.drawn.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for figure in &figures.drawn {
        for form in &arguments.format {
            let format = FigureFormat::from(*form);
            let file = folder.join(format!("{}.{}", figure.name, format.extension()));
            replace(&file, &figure.bytes(format)?)?;
            writeln_stderr!("jouletree: wrote {}", file.display());
        }
    }
    Ok(())
}

fn replace(output: &Path, bytes: &[u8]) -> Result<()> {
    Ok(whole::write(output, bytes)?)
}
