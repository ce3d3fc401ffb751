//! `jouletree card`: the report card of a model, from the runs that trained and tried it.

mod written;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use jouletree_host::whole;
use jouletree_report::Disclosure;
use jouletree_report::card::gather;
use jouletree_run::RunFolder;

use crate::carbon::{CarbonArgs, WHERE};
use crate::{json, print, print_warnings, run};

pub const EXAMPLES: &str = "\
Examples:
  jouletree card RUN --country ITA                 time, energy, carbon, layers, machine: Markdown for a model card
  jouletree card RUN --country ITA --training-type fine-tuning -o CARD.md
      with the block `co2_eq_emissions` at its head that Hugging Face shows
  jouletree card RUN1 RUN2 RUN3 --provider gcp --region europe-west1
      the runs of a study: means, spread, and what arguments that differ change
  jouletree card RUN --intensity 23 --format json | jq '.co2_eq_emissions'

What runs do not contain, such as accuracy, is not on the card. docs/card.md says where each figure comes from.";

#[derive(Args)]
pub struct CardArgs {
    /// Run folders; several are the runs of a study
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The file to write; by default standard output. A file that is there is not replaced
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What was trained how, in Hugging Face's words: pre-training, fine-tuning, …
    #[arg(long, value_name = "TYPE")]
    pub training_type: Option<String>,
    /// Leave out names of hosts and users, folders and process numbers, as double-blind review wants it
    #[arg(long)]
    pub anonymous: bool,
    #[command(flatten)]
    pub carbon: CarbonArgs,
    /// How the card is written
    #[arg(long, value_enum, default_value = "markdown")]
    pub format: CardFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CardFormat {
    /// For people and for Hugging Face
    Markdown,
    /// For programs; documented in docs/json.md
    Json,
}

/// Runs the command.
pub fn run(arguments: &CardArgs) -> Result<ExitCode> {
    if let Some(output) = arguments.output.as_ref().filter(|output| output.exists()) {
        bail!("{} exists; choose another -o or remove it", output.display());
    }
    let folders = arguments.runs.iter().map(|path| run::opened(path)).collect::<Result<Vec<RunFolder>>>()?;
    let disclosure = match folders.first() {
        Some(first) if !arguments.anonymous => Disclosure::relative(first.path()),
        _ => Disclosure::anonymous(&folders),
    };
    let card = {
        let (settings, context) = (arguments.carbon.settings()?, arguments.carbon.context()?);
        gather(folders, &settings, &context, arguments.training_type.as_deref())?.disclosed(&disclosure)
    };
    let text = match arguments.format {
        CardFormat::Markdown => written::written(&card),
        CardFormat::Json => json::written(&card)?,
    };
    match &arguments.output {
        Some(output) => keep(output, &text)?,
        None => print(&text)?,
    }
    print_warnings(&card.warnings);
    if card.carbon.carbon.is_none() {
        writeln_stderr!("its carbon is unknown, so there is no `co2_eq_emissions`: {WHERE}");
    }
    Ok(ExitCode::SUCCESS)
}

fn keep(output: &Path, text: &str) -> Result<()> {
    whole::write(output, text.as_bytes())?;
    writeln_stderr!("jouletree: wrote {}", output.display());
    Ok(())
}
