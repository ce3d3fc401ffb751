//! `jouletree report`: one page that shows where the joules of a run went.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use jouletree_report::{Study, page};
use jouletree_run::RunFolder;

use crate::{Outcome, run};

/// What every page of ours holds, by which it may be replaced.
const OURS: &str = "<meta name=\"generator\" content=\"jouletree\">";
/// The page in a run folder.
pub const NAME: &str = "report.html";

pub const EXAMPLES: &str = "\
Examples:
  jouletree report RUN                             writes RUN/report.html, one file that opens anywhere
  jouletree report RUN -o report.html              to attach to a paper or a pull request
  jouletree report RUN1 RUN2 RUN3 -o report.html   runs of the same program: means, with whiskers of one standard deviation";

#[derive(Args)]
pub struct ReportArgs {
    /// Run folders; several are runs of the same program
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The page; by default report.html in the folder of the first run
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &ReportArgs) -> Result<Outcome> {
    let folders = arguments.runs.iter().map(|path| run::opened(path)).collect::<Result<Vec<RunFolder>>>()?;
    let output = match (&arguments.output, folders.first()) {
        (Some(output), _) => output.clone(),
        (None, Some(first)) => first.path().join(NAME),
        (None, None) => bail!("there is no run to report; give a run folder"),
    };
    let study = Study::read(folders, rayon::current_num_threads())?;
    write(&study, &output)?;
    eprintln!("jouletree: wrote {}", output.display());
    Ok(Outcome { warnings: study.warnings, strict: false })
}

/// Writes the page of a study; replaces an earlier page, and nothing else.
pub fn write(study: &Study, output: &Path) -> Result<()> {
    match fs::read_to_string(output) {
        Ok(text) if !text.contains(OURS) => {
            bail!("{} exists and is no report; choose another -o or remove it", output.display())
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            bail!("{} exists and is no report; choose another -o or remove it", output.display())
        }
        Ok(_) | Err(_) => {}
    }
    let text = page(study).context("the report cannot be written")?;
    let partial = partial_beside(output)?;
    let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, output));
    written.map_err(|error| {
        let _ = fs::remove_file(&partial);
        anyhow::Error::new(error).context(format!("cannot write {}", output.display()))
    })
}

/// A name beside a file under which it is written until it is whole.
fn partial_beside(output: &Path) -> Result<PathBuf> {
    let name = output.file_name().with_context(|| format!("{} is no name of a file", output.display()))?;
    Ok(output.with_file_name(format!(".{}.partial-{}", name.to_string_lossy(), std::process::id())))
}
