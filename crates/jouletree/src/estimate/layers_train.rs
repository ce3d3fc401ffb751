//! `jouletree estimate layers train`: the prices of work and traffic, kept in a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use jouletree_host::whole;
use jouletree_predict::layers::{AdditiveModel, LayerKind, Unit, read_tables};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::cli::Format;
use crate::columns::Columns;
use crate::page::{Look, Page};
use crate::show::look;
use crate::{json, print, print_warnings, tables};

pub const EXAMPLES: &str = "\
Examples:
  jouletree estimate layers train layers/                    fits on all tables in layers/, writes predictor.json
  jouletree estimate layers train layers/ -o server.json     the predictor of one machine among several
  jouletree estimate layers predict vgg16 --predictor server.json

The folder holds a table for each kind of layer: conv2d.csv, maxpool2d.csv, linear.csv, relu.csv, sigmoid.csv, tanh.csv,
softmax.csv, plain or as .csv.gz; docs/layers.md has their columns.";

/// What the file says it is.
const FORMAT: &str = "jouletree-layer-predictor-1";

#[derive(Args)]
pub struct TrainArgs {
    /// A folder of tables of measured layers
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The new file of the predictor
    #[arg(short, long, value_name = "FILE", default_value = "predictor.json")]
    pub output: PathBuf,
    /// How the prices are written to standard output
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// A predictor as its file holds it.
#[derive(Serialize, Deserialize)]
struct PredictorFile {
    format: String,
    /// The tables it was fitted on.
    source: String,
    #[serde(flatten)]
    model: AdditiveModel,
}

/// A price.
#[derive(Serialize)]
struct Price<'a> {
    layer: LayerKind,
    layers: usize,
    column: &'a str,
    joules: f64,
    unit: Unit,
    least: f64,
    most: f64,
    interval_factor: f64,
}

/// Runs the command.
pub fn run(arguments: &TrainArgs) -> Result<ExitCode> {
    let output = &arguments.output;
    if output.symlink_metadata().is_ok() {
        bail!("{} exists already; choose another -o or remove it", output.display());
    }
    let tables = read_tables(&arguments.folder)?;
    let model = AdditiveModel::fit(&tables.tables, |_| true)?;
    let source = arguments.folder.display().to_string();
    let file = PredictorFile { format: FORMAT.to_owned(), source, model };
    whole::write(output, json::written(&file)?.as_bytes())?;
    let prices = prices(&file.model);
    print(&match arguments.format {
        Format::Json => json::written(&prices)?,
        Format::Csv => tables::csv(&prices)?,
        format => page(&prices).written(look(format).unwrap_or(Look::Markdown)),
    })?;
    writeln_stderr!("jouletree: wrote {}", output.display());
    print_warnings(&tables.warnings);
    Ok(ExitCode::SUCCESS)
}

/// Reads a predictor that was written so.
pub fn read_predictor(path: &Path) -> Result<AdditiveModel> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{name}: cannot read the predictor"))?;
    let remedy = "make one with `jouletree estimate layers train DIR`";
    let file: PredictorFile =
        serde_json::from_str(&text).with_context(|| format!("{name}: not a predictor of layers; {remedy}"))?;
    if file.format != FORMAT {
        bail!("{name}: its format is `{}` and not `{FORMAT}`; {remedy}", file.format);
    }
    let prices = file.model.kinds.values().flat_map(|kind| &kind.coefficients).map(|price| price.joules);
    let factors = file.model.kinds.values().map(|kind| kind.interval_factor);
    let is_right = prices.into_iter().all(|joules| joules.is_finite() && joules >= 0.0)
        && factors.into_iter().all(|factor| factor.is_finite() && factor >= 1.0);
    if !is_right || file.model.kinds.is_empty() {
        bail!("{name}: it has no prices, or prices that cannot be; {remedy}");
    }
    Ok(file.model)
}

fn prices(model: &AdditiveModel) -> Vec<Price<'_>> {
    let of_kind = |(layer, kind)| {
        let (layer, kind): (&LayerKind, &jouletree_predict::layers::KindModel) = (layer, kind);
        kind.coefficients.iter().map(move |price| Price {
            layer: *layer,
            layers: kind.layers,
            column: &price.name,
            joules: price.joules,
            unit: price.unit,
            least: price.least,
            most: price.most,
            interval_factor: kind.interval_factor,
        })
    };
    model.kinds.iter().flat_map(of_kind).collect()
}

fn page(prices: &[Price<'_>]) -> Page {
    let header =
        ["layer", "fitted on", "what", "price", "unit", "measured from", "to", "9 of 10 within a factor of"];
    let mut table = Columns::new(&header).left(0).left(2).left(4).optional(&[5, 6]);
    for price in prices {
        table.row(vec![
            Cell::from(price.layer.as_str()),
            price.layers.to_string().into(),
            price.column.into(),
            format!("{:.3e}", price.joules).into(),
            price.unit.to_string().into(),
            format!("{:.3e}", price.least).into(),
            format!("{:.3e}", price.most).into(),
            format!("{:.3}", price.interval_factor).into(),
        ]);
    }
    Page::of(table)
}
