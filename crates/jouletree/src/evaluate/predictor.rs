//! `jouletree evaluate predictor`: IrEne, its ablations and ours on a device's measured trees, each on what it has not seen.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jouletree_model::{Warning, Watts};
use jouletree_predict::irene::{
    Dataset, EvaluationOptions, EvaluationRow, FeatureSet, IreneError, Method, Protocol, SoftwareTracker,
    evaluate_watched, read,
};
use serde::Serialize;

use super::tables;
use crate::cli::Format;
use crate::progress::counted;
use crate::show::look;
use crate::{json, print, print_warnings};

pub const EXAMPLES: &str = "\
Examples:
  jouletree evaluate predictor device_1            all methods under all protocols, with the publication's tables 5 to 9
  jouletree evaluate predictor device_1 --protocol family --strategy specs-only
      one method, on families of models that it has never seen
  jouletree evaluate predictor trees.jsonl --strategy end2end --features full,specs,resources --seeds 10
      what each group of features is worth
  jouletree evaluate predictor device_1 --format json | jq '.[] | select(.protocol == \"leak-free\")'
  jouletree evaluate predictor device_1 --strategy software-tracker --pue 1 --cpu-watts 65
      what a software tracker would say, with constants of your own

DATA is a folder with ml1_, ml2_, module_ and model_level_features.csv, plain or as .csv.gz, or a file with one tree on each
line (.jsonl, .jsonl.gz). Errors are in percent of the measured energy, every node counting once; what has a random beginning
is repeated, and ± is the standard deviation over the beginnings.";

#[derive(Args)]
pub struct PredictorArgs {
    /// Measured trees of one device: a folder of four tables, or a file of lines of JSON
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// What is left out; comma-separated, by default all of them
    #[arg(long, value_name = "PROTOCOL", value_delimiter = ',', value_parser = protocols())]
    pub protocol: Vec<Protocol>,
    /// What is compared; comma-separated, by default all of them
    #[arg(long, value_name = "METHOD", value_delimiter = ',', value_parser = methods())]
    pub strategy: Vec<Method>,
    /// What IrEne may look at; by default all features, and under the protocol `paper` each group alone for end2end
    #[arg(long, value_name = "FEATURES", value_delimiter = ',', value_parser = features())]
    pub features: Vec<FeatureSet>,
    /// How often trainings with a random beginning are repeated
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// The software tracker's joules of a data centre for each joule of a computer
    #[arg(long, value_name = "FACTOR", default_value_t = SoftwareTracker::default().pue, value_parser = at_least_one)]
    pub pue: f64,
    /// The software tracker's power of a processor in full use, where its energy was not logged
    #[arg(long, value_name = "WATTS", default_value_t = SoftwareTracker::default().processor.0, value_parser = watts)]
    pub cpu_watts: f64,
    /// The software tracker's power of memory in full use, where its energy was not logged
    #[arg(long, value_name = "WATTS", default_value_t = SoftwareTracker::default().memory.0, value_parser = watts)]
    pub dram_watts: f64,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// A row as programs read it.
#[derive(Serialize)]
struct Row {
    method: Method,
    protocol: Protocol,
    features: FeatureSet,
    ml: f64,
    module: f64,
    model: f64,
    sd: f64,
}

/// A row as spreadsheets read it.
#[derive(Serialize)]
struct CsvRow {
    method: &'static str,
    protocol: &'static str,
    features: &'static str,
    ml: f64,
    module: f64,
    module_sd: f64,
    model: f64,
    sd: f64,
    seeds: u64,
}

/// Runs the command.
pub fn run(arguments: &PredictorArgs) -> Result<ExitCode> {
    let data = read(&arguments.data)?;
    let mut warnings = data.warnings.clone();
    let (rows, said) = compared(arguments, &data)?;
    warnings.extend(said);
    let text = match arguments.format {
        Format::Json => json::written(&rows.iter().map(Row::of).collect::<Vec<_>>())?,
        Format::Csv => crate::tables::csv(&rows.iter().map(CsvRow::of).collect::<Vec<_>>())?,
        format => {
            tables::page(&rows, arguments.seeds).written(look(format).unwrap_or(crate::page::Look::Markdown))
        }
    };
    print(&text)?;
    if rows.iter().any(|row| row.method == Method::SoftwareTracker) {
        let message = format!(
            "{}; the energy of processor and memory was not logged, so nominal power is used instead: this repeats \
             the formula and not the published errors, whose logs are not published",
            arguments.tracker().formula()
        );
        writeln_stderr!("note: software-tracker: {message}");
    }
    print_warnings(&warnings);
    Ok(ExitCode::SUCCESS)
}

/// All comparisons that were asked for, one after another.
fn compared(arguments: &PredictorArgs, data: &Dataset) -> Result<(Vec<EvaluationRow>, Vec<Warning>)> {
    let mut warnings = Vec::new();
    let mut plan = arguments.plan(data, &mut warnings);
    // What was not asked for by name need not be possible with these data.
    let is_asked = !arguments.protocol.is_empty();
    let mut trainings = 0;
    let mut possible = Vec::new();
    for options in plan.drain(..) {
        match options.trainings(data) {
            Ok(count) => {
                trainings += count;
                possible.push(options);
            }
            Err(error @ IreneError::NoFolds { .. }) if !is_asked => {
                let source = arguments.data.display().to_string();
                let warning = Warning::new(source, format!("{error}; the protocol is left out"));
                // The ablations are a plan of their own under the same protocol.
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    let bar = counted(trainings, "trained");
    let mut rows: Vec<EvaluationRow> = Vec::new();
    for options in &possible {
        let (some, said) = evaluate_watched(data, options, &mut |what| {
            bar.set_message(what.to_owned());
            bar.inc(1);
        })?;
        rows.extend(some);
        for warning in said {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    bar.finish_and_clear();
    if rows.is_empty() {
        print_warnings(&[&data.warnings[..], &warnings].concat());
        bail!("{}: no method can be tried on these data; read the warnings above", arguments.data.display());
    }
    Ok((rows, warnings))
}

impl PredictorArgs {
    fn tracker(&self) -> SoftwareTracker {
        SoftwareTracker { pue: self.pue, processor: Watts(self.cpu_watts), memory: Watts(self.dram_watts) }
    }

    /// What is compared, protocol by protocol.
    fn plan(&self, data: &Dataset, warnings: &mut Vec<Warning>) -> Vec<EvaluationOptions> {
        let protocols = if self.protocol.is_empty() { &Protocol::ALL[..] } else { &self.protocol };
        let methods = if self.strategy.is_empty() { &Method::ALL[..] } else { &self.strategy };
        let features = match (self.features.as_slice(), data.has_resources()) {
            ([], true) => &[FeatureSet::Full][..],
            ([], false) => {
                let message = "not every node has its utilisation, latency and device energy; IrEne is tried with the \
                               features `specs`";
                warnings.push(Warning::new(self.data.display().to_string(), message));
                &[FeatureSet::Specs]
            }
            (features, _) => features,
        };
        let mut plan = Vec::new();
        for protocol in protocols {
            plan.push(EvaluationOptions {
                methods: methods.to_vec(),
                protocols: vec![*protocol],
                features: features.to_vec(),
                seeds: self.seeds,
                tracker: self.tracker(),
            });
            // The publication's table 8.
            let is_ablated = self.features.is_empty() && data.has_resources();
            if *protocol == Protocol::Paper && methods.contains(&Method::IreneEndToEnd) && is_ablated {
                plan.push(EvaluationOptions {
                    methods: vec![Method::IreneEndToEnd],
                    protocols: vec![*protocol],
                    features: vec![FeatureSet::Specs, FeatureSet::Resources],
                    seeds: self.seeds,
                    tracker: self.tracker(),
                });
            }
        }
        plan
    }
}

impl Row {
    fn of(row: &EvaluationRow) -> Row {
        let EvaluationRow { method, protocol, features, ml, module, model, sd, .. } = *row;
        Row { method, protocol, features, ml, module, model, sd }
    }
}

impl CsvRow {
    fn of(row: &EvaluationRow) -> CsvRow {
        CsvRow {
            method: row.method.name(),
            protocol: row.protocol.name(),
            features: row.features.name(),
            ml: row.ml,
            module: row.module,
            module_sd: row.module_sd,
            model: row.model,
            sd: row.sd,
            seeds: row.seeds,
        }
    }
}

fn protocols() -> impl TypedValueParser<Value = Protocol> {
    let values = Protocol::ALL.map(|protocol| PossibleValue::new(protocol.name()).help(protocol.meaning()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Protocol>())
}

fn methods() -> impl TypedValueParser<Value = Method> {
    let values = Method::ALL.map(|method| {
        let value = PossibleValue::new(method.name()).help(format!("knows: {}", method.knows()));
        // As the publication calls its strategies.
        value.aliases(method.name().strip_prefix("irene-"))
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Method>())
}

fn features() -> impl TypedValueParser<Value = FeatureSet> {
    let values = FeatureSet::ALL.map(|features| PossibleValue::new(features.name()));
    let chosen = |name: String| FeatureSet::ALL.into_iter().find(|features| features.name() == name);
    PossibleValuesParser::new(values).try_map(move |name| chosen(name).ok_or("not a group of features"))
}

fn at_least_one(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 1.0);
    value.ok_or_else(|| "a number of 1 or more is expected".to_owned())
}

fn watts(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| "a number of watts, 0 or more, is expected".to_owned())
}
