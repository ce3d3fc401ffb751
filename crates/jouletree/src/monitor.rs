//! `jouletree monitor`: a command, or the machine, in one row of `emissions.csv`, as users of CodeCarbon know it.
//!
//! It records as `jouletree record` does, so that nothing is lost when something goes wrong.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use jouletree_carbon::Context;
use jouletree_carbon::formats::codecarbon;
use jouletree_carbon::formats::{Mode, Record, write_row_or_report, write_side_file};
use jouletree_carbon::settings::{Key, Layer, Settings};
use jouletree_model::{Nanos, Warning};
use jouletree_run::RunFolder;

use crate::carbon::{self, CarbonArgs, WHERE, of_run};
use crate::launch::{self, Environment};
use crate::live_args::LiveArgs;
use crate::reader_args::ReaderArgs;
use crate::recording::{OngoingRecording, Subject};
use crate::{cache, print_warnings};

pub const EXAMPLES: &str = "\
Examples:
  jouletree monitor --country ITA -- python train.py
      one row in emissions.csv: what the command used and emitted; its exit status is passed on
  jouletree monitor --country ITA                  the whole machine, until Ctrl-C
  jouletree monitor --provider gcp --region europe-west1 --project-name bert -- python train.py
  jouletree monitor --country ITA --ram-model codecarbon --cpu-model codecarbon -- ./infer
      with CodeCarbon's models, to compare with its old numbers
  jouletree monitor -o RUN --country ITA -- python train.py
      keeps the recording, too: jouletree show RUN, jouletree carbon RUN

The row has CodeCarbon's 38 columns and is appended under a lock; the file is never renamed. What has no column is beside
it in <run_id>.energy.json. Nothing is uploaded. For layers and operations: jouletree run.";

#[derive(Args)]
pub struct MonitorArgs {
    /// The command and its arguments; without one the machine is monitored until Ctrl-C
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    carbon: CarbonArgs,
    /// The name of the project
    #[arg(long, value_name = "NAME", visible_alias = "project")]
    project_name: Option<String>,
    /// The folder of emissions.csv
    #[arg(long, value_name = "DIR")]
    output_dir: Option<String>,
    /// Its name
    #[arg(long, value_name = "FILE")]
    output_file: Option<String>,
    /// Whose energy counts: by default the command's, or without one the machine's
    #[arg(long, value_name = "machine|process")]
    tracking_mode: Option<String>,
    /// A model of memory without a meter: none, codecarbon or codecarbon2
    #[arg(long, value_name = "MODEL")]
    ram_model: Option<String>,
    /// Also keep the recording in this new folder
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    /// Milliseconds from one reading of the meters to the next, from 1 to 1000
    #[arg(long, value_name = "MS", default_value = "20", value_parser = crate::cli::period)]
    period: Nanos,
    /// Let others read the kept recording, as far as the umask allows; by default only you can
    #[arg(long, requires = "output")]
    share: bool,
    /// Exit with status 1 when the row or the recording is not whole, although the command succeeded
    #[arg(long)]
    strict: bool,
    /// Only print errors and warnings
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    live: LiveArgs,
    #[command(flatten)]
    reader: ReaderArgs,
    #[command(flatten)]
    of_codecarbon: OfCodeCarbon,
}

/// Flags of CodeCarbon that need nothing done here, so that its users need not change their scripts.
#[derive(Args)]
struct OfCodeCarbon {
    #[arg(long, hide = true)]
    measure_power_secs: Option<f64>,
    #[arg(long, hide = true)]
    api_call_interval: Option<u64>,
    #[arg(long, hide = true)]
    api: bool,
    #[arg(long, hide = true)]
    no_api: bool,
    #[arg(long, hide = true)]
    offline: bool,
    #[arg(long, hide = true)]
    log_level: Option<String>,
}

/// Runs the command.
pub fn run(arguments: &MonitorArgs) -> Result<ExitCode> {
    if arguments.of_codecarbon.api {
        writeln_stderr!("warning: --api does nothing here: jouletree uploads nothing");
    }
    // Whatever is wrong with these is said before the command runs.
    let settings = arguments.settings()?;
    let context = Context::resolve(&settings, cache::folder().as_deref())?;
    context.warnings.iter().for_each(|warning| writeln_stderr!("warning: {warning}"));
    let csv = settings.emissions_csv();
    check_folder(&csv)?;
    let outputs = arguments.live.open(context.intensity.clone(), arguments.quiet)?;
    let reader = arguments.reader.open()?;
    let kept = Kept::new(arguments.output.as_deref())?;
    let mut subject = match arguments.command.as_slice() {
        [] => Subject::joined(None)?,
        command => Subject::command(command, &Environment::new())?,
    };
    let roots = arguments.reader.roots();
    let (period, command) = (arguments.period, &arguments.command);
    let mut recording =
        OngoingRecording::begin(&reader, &roots, &mut subject, period, command, &kept.run, &outputs)?;
    recording.share_if(arguments.share);
    if arguments.command.is_empty() && !arguments.quiet {
        writeln_stderr!("jouletree: monitoring this machine; Ctrl-C ends it");
    }
    subject.go()?;
    let status = recording.follow(&mut subject, None)?;
    // From here on Ctrl-C ends this program, too.
    drop(subject);
    let done = launch::attempted(|| {
        let recorded = recording.finish(status)?;
        report(arguments, &recorded.run, &settings, context, &csv)?;
        recorded.whole()
    });
    kept.end(done.is_ok());
    outputs.end();
    launch::passed_on(status, done, arguments.strict)
}

impl MonitorArgs {
    fn settings(&self) -> Result<Settings> {
        let mut settings = self.carbon.settings()?;
        let given = [
            (Key::Project, "--project-name", &self.project_name),
            (Key::OutputFolder, "--output-dir", &self.output_dir),
            (Key::OutputFile, "--output-file", &self.output_file),
            (Key::TrackingMode, "--tracking-mode", &self.tracking_mode),
            (Key::RamModel, "--ram-model", &self.ram_model),
        ];
        for (key, name, value) in given {
            if let Some(value) = value {
                settings.set(key, value.as_str(), Layer::Flag(name.to_owned()));
            }
        }
        Ok(settings)
    }
}

/// Writes the row and says what it holds.
fn report(
    arguments: &MonitorArgs,
    run: &RunFolder,
    settings: &Settings,
    context: Context,
    csv: &Path,
) -> Result<()> {
    let mut warnings: Vec<Warning> = Vec::new();
    let record = of_run::record(run, settings, context, &mut warnings)?;
    let mut complaints = Vec::new();
    let row = codecarbon::row(&record, of_run::utilization(run)?);
    let path = write_row_or_report(csv, &row, Mode::Append, &mut complaints);
    if let Some(path) = &path {
        write_side_file(path, &record).map_err(|error| complaints.push(error.to_string())).ok();
    }
    print_warnings(&warnings);
    complaints.iter().for_each(|complaint| writeln_stderr!("warning: {complaint}"));
    if !arguments.quiet {
        say(&record, path.as_deref());
    }
    path.map(|_| ()).context("the row of emissions.csv was not written; it is printed above")
}

fn say(record: &Record, csv: Option<&Path>) {
    let impact = record.impact();
    let kind = record.parts.kind().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let carbon = match (&record.context.intensity, impact.carbon) {
        (Some(intensity), Some(grams)) => format!("{} of CO2 equivalent, {intensity}", carbon::grams(grams)),
        _ => format!("carbon unknown: {WHERE}"),
    };
    writeln_stderr!(
        "jouletree: {}{kind} in {:.1} s; {carbon}",
        carbon::kilowatt_hours(impact.energy.kilowatt_hours()),
        record.seconds()
    );
    if let Some(csv) = csv {
        writeln_stderr!("jouletree: one row added to {}", csv.display());
    }
}

/// The folder must be there before something runs for days.
fn check_folder(csv: &Path) -> Result<()> {
    let folder = csv.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let data = folder.metadata().with_context(|| format!("{}: the folder of emissions.csv", folder.display()))?;
    anyhow::ensure!(data.is_dir(), "{}: it is no folder, and emissions.csv cannot be in it", folder.display());
    Ok(())
}

/// Where the recording is while it is needed, and afterwards if it is to be kept.
struct Kept {
    run: PathBuf,
    temporary: Option<PathBuf>,
}

impl Kept {
    fn new(output: Option<&Path>) -> Result<Kept> {
        if let Some(output) = output {
            return Ok(Kept { run: output.to_owned(), temporary: None });
        }
        let name = format!("jouletree-monitor-{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
        let folder = std::env::temp_dir().join(name);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
        made.with_context(|| format!("{}: cannot create the folder", folder.display()))?;
        Ok(Kept { run: folder.join("run"), temporary: Some(folder) })
    }

    /// Removes what is no longer needed; a recording whose row was not written is kept.
    fn end(self, is_told: bool) {
        match self.temporary {
            Some(folder) if is_told => {
                let _ = std::fs::remove_dir_all(folder);
            }
            Some(_) => writeln_stderr!("jouletree: the recording is kept in {}", self.run.display()),
            None => {}
        }
    }
}
