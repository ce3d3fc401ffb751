//! `jouletree calibrate`: measures models node by node, for `jouletree train`.
//!
//! It is a run of a program of ours (`jouletree._calibrate`) whose windows are the repetitions of nodes; what they took is
//! in `calibration.json` beside everything else that a run keeps.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use jouletree_predict::profile::Calibration;
use serde::Serialize;

use crate::cell::Cell;
use crate::cli::InspectFormat;
use crate::columns::{Columns, Keep};
use crate::page::{Look, Page};
use crate::reader_args::ReaderArgs;
use crate::run::{Level, RunArgs};
use crate::{json, print, print_warnings, run};

/// What `--help` shows.
pub const EXAMPLES: &str = "\
Examples:
  jouletree calibrate -o CALIBRATION               BERT and GPT-2 on this processor, five rounds of 2 s for each node
  jouletree calibrate bert gpt2 --batch 1,8,16 --seq 32,128 -o CALIBRATION
  jouletree calibrate bert --device cuda --seconds 20 --cool-down 10 -o CALIBRATION
      as long as the published protocol, for meters that read slowly
  jouletree calibrate model.py:build -o CALIBRATION
      a model of your own: build(batch, sequence) returns it and its inputs
  jouletree train CALIBRATION -o profile.json

Each module, and each primitive between modules, is repeated alone on what it is given inside its model, in rounds, from
standby, with a rest after it; nodes that are alike are measured once. Other programs should rest meanwhile. What was
measured is kept after every round. Needs PyTorch, and transformers or torchvision for the models that it knows by name:
bert, roberta, distilbert, gpt2, alexnet, vgg11, vgg13, vgg16.";

#[derive(Args)]
pub struct CalibrateArgs {
    /// Models by name, or functions of your own as file.py:function
    #[arg(value_name = "MODEL", default_values = ["bert", "gpt2"])]
    models: Vec<String>,
    /// The new folder; by default one named after the time
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Let others read the kept calibration, as far as the umask allows; by default only you can
    #[arg(long)]
    share: bool,
    /// Samples of a call; comma-separated
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 8])]
    batch: Vec<u64>,
    /// Tokens of a sample; comma-separated
    #[arg(long = "seq", value_name = "N", value_delimiter = ',', default_values_t = [32, 64, 128])]
    sequence: Vec<u64>,
    /// Layers of transformers, instead of the model's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    layers: Option<u64>,
    /// Features of a token
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    hidden: Option<u64>,
    /// Heads of attention
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    heads: Option<u64>,
    /// Where it runs, in PyTorch's words: cpu, cuda, cuda:1
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Threads of PyTorch; by default its own choice
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    threads: Option<u64>,
    /// How long a node is repeated in a round
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = positive)]
    seconds: f64,
    /// How many rounds there are
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The rest after each repetition, in seconds
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = not_negative)]
    cool_down: f64,
    /// By how many percent the power before a repetition may exceed that of standby
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = not_negative)]
    standby_tolerance: f64,
    /// How long standby is waited for before a repetition, in seconds
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = not_negative)]
    standby_timeout: f64,
    /// The Python that has PyTorch
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// How what was measured is written to standard output
    #[arg(long, value_enum, default_value = "table")]
    format: InspectFormat,
    #[command(flatten)]
    reader: ReaderArgs,
}

/// The settings for the Python program.
#[derive(Serialize)]
struct Plan<'a> {
    models: &'a [String],
    batches: &'a [u64],
    sequences: &'a [u64],
    choice: Choice,
    device: &'a str,
    threads: Option<u64>,
    seconds: f64,
    rounds: u32,
    cool_down_s: f64,
    standby_s: f64,
    standby_tolerance: f64,
    standby_timeout_s: f64,
    output: &'a Path,
}

#[derive(Serialize)]
struct Choice {
    layers: Option<u64>,
    hidden: Option<u64>,
    heads: Option<u64>,
}

/// Runs the command.
pub fn run(arguments: CalibrateArgs) -> Result<ExitCode> {
    let name = PathBuf::from("calibration");
    let output =
        arguments.output.clone().unwrap_or_else(|| crate::recording::default_output(&[name.into()], None));
    let output = std::path::absolute(output).context("the current folder is not known")?;
    let found = output.join(Calibration::FILE);
    let plan = Plan {
        models: &arguments.models,
        batches: &arguments.batch,
        sequences: &arguments.sequence,
        choice: Choice { layers: arguments.layers, hidden: arguments.hidden, heads: arguments.heads },
        device: &arguments.device,
        threads: arguments.threads,
        seconds: arguments.seconds,
        rounds: arguments.rounds,
        cool_down_s: arguments.cool_down,
        // Long enough for meters that tick slowly, and short beside a repetition.
        standby_s: (arguments.seconds / 4.0).min(1.0),
        standby_tolerance: arguments.standby_tolerance / 100.0,
        standby_timeout_s: arguments.standby_timeout,
        output: &found,
    };
    let plan = serde_json::to_string(&plan)?;
    let words = [arguments.python.as_os_str(), "-m".as_ref(), "jouletree._calibrate".as_ref(), plan.as_ref()];
    let command = words.iter().map(|word: &&OsStr| word.to_os_string()).collect();
    let quiet = RunArgs::quiet(command, output.clone(), Level::Process, arguments.reader);
    let status = run::run(&RunArgs { share: arguments.share, ..quiet })?;
    if found.is_file() {
        let calibration = Calibration::read(&found)?;
        print(&match arguments.format {
            InspectFormat::Table => page(&calibration).written(Look::of_stdout()),
            InspectFormat::Json => json::written(&calibration)?,
        })?;
        print_warnings(&calibration.warnings(&output.display().to_string()));
        writeln_stderr!("jouletree: kept in {}; now: jouletree train {0} -o profile.json", output.display());
    }
    Ok(status)
}

fn page(calibration: &Calibration) -> Page {
    let mut page = Page::default();
    for tree in &calibration.trees {
        page.title(format!("{}, {} samples of {} tokens", tree.model, tree.batch, tree.sequence));
        let mut table = Columns::new(&["node", "energy", "± sd", "time", "calls", "like it", "from standby"]);
        table = table.shorten(0, Keep::End).optional(&[6, 5, 4]);
        for node in tree.nodes.iter().filter(|node| node.same_as.is_none()) {
            let alike = tree.nodes.iter().filter(|other| other.same_as.as_ref() == Some(&node.path)).count();
            let path = if node.path.is_empty() { "(model)" } else { node.path.as_str() };
            let spread = if node.energy.0 > 0.0 { 100.0 * node.deviation.0 / node.energy.0 } else { 0.0 };
            table.row(vec![
                Cell::from(path),
                node.energy.to_string().into(),
                format!("{spread:.1} %").into(),
                milliseconds(node.seconds).into(),
                node.calls.to_string().into(),
                if alike > 0 { alike.to_string() } else { String::new() }.into(),
                format!("{} of {}", node.stable_rounds, calibration.protocol.rounds).into(),
            ]);
        }
        page.table(table);
    }
    page.gap();
    page.words(format!("{}; energies are {}", calibration.framework, calibration.kind));
    page
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", 1e3 * seconds)
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.01..=1e6).contains(&value) => Ok(value),
        _ => Err("a number of seconds from 0.01 to 1e6 is expected".to_owned()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e6).contains(&value) => Ok(value),
        _ => Err("a number from 0 to 1e6 is expected".to_owned()),
    }
}
