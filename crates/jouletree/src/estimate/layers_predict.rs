//! `jouletree estimate layers predict`: a model's operators at fitted prices, with intervals.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use jouletree_model::{Joules, Kind, Warning};
use jouletree_predict::layers::AdditiveModel;
use jouletree_predict::operators::Operator;
use serde::Serialize;

use super::layers_train::read_predictor;
use crate::cell::Cell;
use crate::cli::Format;
use crate::columns::{Columns, Keep};
use crate::named_model::{ModelArgs, print_some};
use crate::numbers::{energy_cell, percent, share};
use crate::page::{Look, Page};
use crate::show::look;
use crate::{json, print, tables};

pub const EXAMPLES: &str = "\
Examples:
  jouletree estimate layers predict vgg16 --predictor predictor.json --batch 8
  jouletree estimate layers predict model.onnx --predictor predictor.json --format json | jq '.energy_j'
  jouletree estimate layers predict model.toml --predictor predictor.json --format csv

All of it is predicted. Intervals are meant to hold nine operators in ten; that of the model adds up their ends. What lies
outside of the measured layers is flagged; an operator of a kind that was never measured has no energy and counts as nothing.";

#[derive(Args)]
pub struct PredictArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// A predictor that `jouletree estimate layers train` wrote
    #[arg(long, value_name = "FILE")]
    pub predictor: PathBuf,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// The prediction of a model.
#[derive(Serialize)]
struct Predicted {
    model: String,
    kind: Kind,
    method: &'static str,
    energy_j: f64,
    low_j: f64,
    high_j: f64,
    operators: Vec<Row>,
    warnings: Vec<Warning>,
}

/// The prediction of an operator; no energy where no such operator was measured.
#[derive(Serialize)]
struct Row {
    name: String,
    operator: &'static str,
    energy_j: Option<f64>,
    low_j: Option<f64>,
    high_j: Option<f64>,
    is_outside: bool,
    outside: Vec<String>,
}

/// A row as spreadsheets read it.
#[derive(Serialize)]
struct CsvRow<'a> {
    name: &'a str,
    operator: &'a str,
    energy_j: Option<f64>,
    low_j: Option<f64>,
    high_j: Option<f64>,
    is_outside: bool,
    kind: Kind,
}

/// Runs the command.
pub fn run(arguments: &PredictArgs) -> Result<ExitCode> {
    let predictor = read_predictor(&arguments.predictor)?;
    let found = arguments.model.found()?;
    let sum = predictor.predict_network(&found.name, &found.operators);
    let operators: Vec<Row> = found.operators.iter().map(|operator| row(&predictor, operator)).collect();
    if operators.iter().all(|row| row.energy_j.is_none()) {
        bail!(
            "{}: no kind of its operators was measured; train a predictor with tables of them",
            arguments.model.model
        );
    }
    let warnings: Vec<Warning> = found.warnings.into_iter().chain(sum.warnings).collect();
    let predicted = Predicted {
        model: found.name,
        kind: Kind::Predicted,
        method: "additive",
        energy_j: sum.energy.0,
        low_j: sum.low.0,
        high_j: sum.high.0,
        operators,
        warnings,
    };
    print(&match arguments.format {
        Format::Json => json::written(&predicted)?,
        Format::Csv => tables::csv(&predicted.csv())?,
        format => predicted.page().written(look(format).unwrap_or(Look::Markdown)),
    })?;
    print_some(&predicted.warnings);
    Ok(ExitCode::SUCCESS)
}

fn row(predictor: &AdditiveModel, operator: &Operator) -> Row {
    let prediction = predictor.predict(operator);
    let energy = |of: fn(&jouletree_predict::layers::Prediction) -> Joules| prediction.as_ref().map(|p| of(p).0);
    Row {
        name: operator.name().to_owned(),
        operator: operator.shape().kind(),
        energy_j: energy(|prediction| prediction.energy),
        low_j: energy(|prediction| prediction.low),
        high_j: energy(|prediction| prediction.high),
        is_outside: prediction.as_ref().is_some_and(|prediction| !prediction.outside.is_empty()),
        outside: prediction.map(|prediction| prediction.outside).unwrap_or_default(),
    }
}

impl Predicted {
    fn csv(&self) -> Vec<CsvRow<'_>> {
        let row = |row| {
            let Row { name, operator, energy_j, low_j, high_j, is_outside, .. }: &Row = row;
            let (energy_j, low_j, high_j) = (*energy_j, *low_j, *high_j);
            CsvRow { name, operator, energy_j, low_j, high_j, is_outside: *is_outside, kind: self.kind }
        };
        self.operators.iter().map(row).collect()
    }

    fn page(&self) -> Page {
        let mut page = Page::default();
        page.words(format!("{}, from measured layers: predicted, not measured", self.model));
        page.gap();
        let header = ["operator", "kind", "energy", "share", "9 of 10 within", "remark"];
        let mut table =
            Columns::new(&header).shorten(0, Keep::End).left(1).left(5).split_at(4, '…').optional(&[1, 5]);
        for row in &self.operators {
            let part = share(Joules(row.energy_j.unwrap_or_default()), Joules(self.energy_j));
            let remark = match (row.energy_j, row.is_outside) {
                (None, _) => "never measured: counts as nothing",
                (Some(_), true) => "outside of what was measured",
                (Some(_), false) => "",
            };
            let energy = row.energy_j.map(|joules| energy_cell(Joules(joules).to_string(), part, Some(self.kind)));
            table.row(vec![
                Cell::from(row.name.as_str()),
                row.operator.into(),
                energy.unwrap_or_else(|| "unknown".into()),
                row.energy_j.map(|_| percent(part)).unwrap_or_default().into(),
                interval(row.low_j.zip(row.high_j)).into(),
                remark.into(),
            ]);
        }
        table.row(vec![
            Cell::from("all"),
            "".into(),
            energy_cell(Joules(self.energy_j).to_string(), 1.0, Some(self.kind)),
            percent(1.0).into(),
            interval(Some((self.low_j, self.high_j))).into(),
            "".into(),
        ]);
        page.table(table);
        page
    }
}

fn interval(ends: Option<(f64, f64)>) -> String {
    ends.map(|(low, high)| format!("{} … {}", Joules(low), Joules(high))).unwrap_or_default()
}
