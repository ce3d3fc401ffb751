//! `jouletree predict`: the energy of every node of a model, from a profile, without running it.

mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use jouletree_model::{Device, Footprint, Joules, Kind, Origin, Pass, Trace};
use jouletree_predict::profile::{
    BreakdownRow, PerMillion, Predicted, Profile, Sketch, Total, TrainedOn, add_optimizer, as_footprint, by_kind,
    by_module,
};
use jouletree_predict::tradeoff::Tariff;
use jouletree_run::{Accounting, RunContents, RunFolder};
use serde::Serialize;

use crate::cli::Format;
use crate::named_model::ModelArgs;
use crate::recording::shared;
use crate::{json, print, print_warnings, report, show, tables};

/// What `--help` shows.
pub const EXAMPLES: &str = "\
Examples:
  jouletree calibrate bert gpt2 -o CALIBRATION     once for each machine: measure models node by node
  jouletree train CALIBRATION -o profile.json
  jouletree predict bert --profile profile.json --batch 16 --seq 128
      the energy of every node of a model that never ran here, before it runs
  jouletree predict model.onnx --profile profile.json --per-million-queries --tariff 0.1319
  jouletree predict gpt2 --hidden 1024 --layers 24 --profile profile.json --training
      a step of training: forward, backward and optimizer, from a profile that has seen trainings
  jouletree predict bert --profile profile.json -o PREDICTED && jouletree report PREDICTED
      the same as a page with diagrams

MODEL is a name that is built in, an ONNX file, the tree.json or the folder of a run (perhaps of another machine), or a
description (docs/theory.md). All numbers are predicted, and say so.";

#[derive(Args)]
pub struct PredictArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// What this machine taught: a file that `jouletree train` wrote
    #[arg(long, value_name = "PROFILE")]
    profile: PathBuf,
    /// A step of training instead of a call
    #[arg(long)]
    training: bool,
    /// What a million samples take
    #[arg(long)]
    per_million_queries: bool,
    /// The price of a kilowatt-hour, in any currency
    #[arg(long, value_name = "PRICE", requires = "per_million_queries", value_parser = price)]
    tariff: Option<f64>,
    /// Keep the prediction as a run in this new folder, with its page: show, report and export know it
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    /// Let others read the kept run, as far as the umask allows; by default only you can
    #[arg(long, requires = "output")]
    share: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// How many levels of modules the tree shows
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..))]
    depth: u16,
    /// Leave out nodes with a smaller share of the whole, in percent; 0 shows all
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5)]
    min_share: f64,
}

/// The result for programs.
#[derive(Serialize)]
struct Written<'a> {
    model: &'a str,
    batch: u64,
    sequence: u64,
    kind: Kind,
    profile: WrittenProfile<'a>,
    energy_j: f64,
    interval_j: Option<[f64; 2]>,
    optimizer_j: Option<f64>,
    per_million_queries: PerMillion,
    passes: &'a [Predicted],
    by_module: Vec<BreakdownRow>,
    by_kind: Vec<BreakdownRow>,
}

#[derive(Serialize)]
struct WrittenProfile<'a> {
    trained_on_kind: Kind,
    trained_on: &'a [TrainedOn],
}

/// One node as a row of a spreadsheet.
#[derive(Serialize)]
struct Row<'a> {
    path: &'a str,
    kind: &'a str,
    level: jouletree_predict::irene::Level,
    pass: Pass,
    energy_j: f64,
    low_j: Option<f64>,
    high_j: Option<f64>,
    share: f64,
    glue_j: f64,
    basis: jouletree_predict::irene::Basis,
    outside: bool,
}

/// Runs the command.
pub fn run(arguments: &PredictArgs) -> Result<ExitCode> {
    let profile = Profile::read(&arguments.profile)?;
    let sketch = arguments.model.sketch()?;
    if !sketch.has_primitives() {
        print_warnings(&sketch.warnings);
        bail!("{}: it holds no primitive whose size is known; there is nothing to predict", sketch.name);
    }
    let passes = passes(&profile, &sketch, arguments.training)?;
    let optimizer = if arguments.training { profile.optimizer(&passes)? } else { None };
    let footprint = footprint(&profile, &passes, optimizer)?;
    if let Some(output) = &arguments.output {
        keep(output, &footprint)?;
        if arguments.share {
            shared(output);
        }
    }
    let text = match arguments.format {
        Format::Json => written(&profile, &passes, optimizer, arguments.tariff)?,
        Format::Csv => tables::csv(&rows(&passes))?,
        Format::Table | Format::Markdown => {
            let million = arguments.per_million_queries.then_some(arguments.tariff);
            let page = table::page(&profile, &passes, optimizer, million, (arguments.depth, arguments.min_share));
            page.written(show::look(arguments.format).unwrap_or(crate::page::Look::Markdown))
        }
    };
    print(&text)?;
    print_warnings(&footprint.warnings);
    Ok(ExitCode::SUCCESS)
}

fn passes(profile: &Profile, sketch: &Sketch, training: bool) -> Result<Vec<Predicted>> {
    let wanted: &[Pass] = if training { &[Pass::Forward, Pass::Backward] } else { &[Pass::Forward] };
    Ok(wanted.iter().map(|pass| profile.predict(sketch, *pass)).collect::<Result<_, _>>()?)
}

fn footprint(profile: &Profile, passes: &[Predicted], optimizer: Option<Joules>) -> Result<Footprint> {
    let device: Device = match profile.devices.as_slice() {
        [only] => only.device.parse()?,
        _ => "host/machine:0".parse()?,
    };
    let mut footprint = as_footprint(passes, device);
    optimizer.into_iter().for_each(|energy| add_optimizer(&mut footprint, energy));
    Ok(footprint)
}

/// Keeps a prediction as a run without time: nothing happened yet.
fn keep(output: &std::path::Path, footprint: &Footprint) -> Result<()> {
    let devices = footprint.devices.iter().map(|balance| &balance.device).collect();
    let trace = Trace { devices, ops: footprint.ops.clone(), model: footprint.model.clone(), ..Trace::default() };
    let accounting =
        Accounting { command: std::env::args().collect(), origin: Origin::Predicted, ..Accounting::default() };
    let run = RunFolder::create(output, &RunContents { accounting, trace: &trace, power: &[], footprint })?;
    report::write_for(&run, footprint, &[], &trace)?;
    writeln_stderr!("jouletree: kept in {}", output.display());
    Ok(())
}

fn written(
    profile: &Profile,
    passes: &[Predicted],
    optimizer: Option<Joules>,
    tariff: Option<f64>,
) -> Result<String> {
    let first = passes.first().context("nothing was predicted")?;
    let total = Total::of(passes, optimizer);
    json::written(&Written {
        model: &first.model,
        batch: first.batch,
        sequence: first.sequence,
        kind: Kind::Predicted,
        profile: WrittenProfile { trained_on_kind: profile.trained_on_kind, trained_on: &profile.trained_on },
        energy_j: total.energy.0,
        interval_j: total.interval.map(|interval| [interval.low.0, interval.high.0]),
        optimizer_j: optimizer.map(|energy| energy.0),
        per_million_queries: first.per_million(tariff.map(Tariff)),
        passes,
        by_module: by_module(first),
        by_kind: by_kind(first),
    })
}

fn rows(passes: &[Predicted]) -> Vec<Row<'_>> {
    let of_pass = |predicted| {
        let Predicted { nodes, pass, .. }: &Predicted = predicted;
        nodes.iter().map(move |node| Row {
            path: &node.path,
            kind: &node.kind,
            level: node.level,
            pass: *pass,
            energy_j: node.energy.0,
            low_j: node.interval.map(|interval| interval.low.0),
            high_j: node.interval.map(|interval| interval.high.0),
            share: node.share,
            glue_j: node.glue.0,
            basis: node.basis,
            outside: node.is_outside,
        })
    };
    passes.iter().flat_map(of_pass).collect()
}

fn price(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(value),
        _ => Err("a price of a kilowatt-hour is expected, such as 0.1319".to_owned()),
    }
}
