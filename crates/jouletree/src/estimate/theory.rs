//! `jouletree estimate theory`: every operator's arithmetic and memory accesses at a price, as a bracket.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use jouletree_model::{Joules, Kind, Warning};
use jouletree_predict::operators::Operator;
use jouletree_predict::theory::{Bits, Costs, Estimate, OperatorEstimate, estimate};
use serde::Serialize;

use super::calibration::{Calibrated, calibrated};
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
  jouletree estimate theory bert --batch 16 --seq 128        a bracket for each operator of BERT
  jouletree estimate theory model.onnx --by kind             what convolutions, dense layers and the rest take
  jouletree estimate theory vgg16 --bits 8 --by total        the same network with elements of 8 bits
  jouletree estimate theory model.toml --costs 7nm.toml      a model that is only described, at prices of your own
  jouletree estimate theory bert --calibrate RUN             prices as a recorded run of another model implies them
  jouletree estimate theory vgg16 --calibrate alexnet=1.42   one measured energy ties theory to a machine

All of it is predicted. `once` moves every element a single time, `naive` takes both operands of every multiplication from
their tensors; what a machine takes lies between them as far as theory goes. docs/theory.md has the conventions.";

#[derive(Args)]
pub struct TheoryArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// The width of elements and of arithmetic: 32, 16 or 8
    #[arg(long, default_value = "32")]
    pub bits: Bits,
    /// Prices in picojoules (TOML); by default Horowitz's at 45 nm
    #[arg(long, value_name = "TABLE")]
    pub costs: Option<PathBuf>,
    /// A measured energy that ties theory to a machine: joules of one run of this model, OTHER=JOULES of one run of
    /// another, or a run folder
    #[arg(long, value_name = "RUN|JOULES")]
    pub calibrate: Option<String>,
    /// What to sum by
    #[arg(long, value_enum, default_value = "operator")]
    pub by: TheoryBy,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TheoryBy {
    /// Operators, in the model's order
    Operator,
    /// Kinds of operators, the largest first
    Kind,
    /// The whole model
    Total,
}

/// Everything that theory says of a model.
#[derive(Serialize)]
struct Theory {
    model: String,
    kind: Kind,
    method: &'static str,
    bits: u64,
    costs: String,
    by: TheoryBy,
    total: Row,
    rows: Vec<Row>,
    calibration: Option<Calibrated>,
    warnings: Vec<Warning>,
}

/// An operator, a kind of operators, or a model.
#[derive(Serialize)]
struct Row {
    /// The operator's kind; none for a whole model.
    operator: Option<&'static str>,
    count: usize,
    once_j: f64,
    naive_j: f64,
    calibrated_j: Option<f64>,
    #[serde(flatten)]
    estimate: OperatorEstimate,
}

/// A row as spreadsheets read it.
#[derive(Serialize)]
struct CsvRow<'a> {
    name: &'a str,
    operator: &'a str,
    count: usize,
    mul: u64,
    sum: u64,
    macs: u64,
    parameters: u64,
    once_bytes: u64,
    naive_bytes: u64,
    compute_j: f64,
    once_j: f64,
    naive_j: f64,
    calibrated_j: Option<f64>,
    kind: Kind,
}

/// Runs the command.
pub fn run(arguments: &TheoryArgs) -> Result<ExitCode> {
    let found = arguments.model.found()?;
    let (costs, source) = arguments.read_costs()?;
    let mut warnings = found.warnings;
    let bits = arguments.bits;
    let Estimate { operators, total } = estimate(&found.name, &found.operators, bits, &costs);
    let calibration = match &arguments.calibrate {
        Some(said) => Some(calibrated(said, &total, bits, &costs, &mut warnings)?),
        None => None,
    };
    let row = |operator, count, estimate: OperatorEstimate| Row {
        operator,
        count,
        once_j: estimate.once().0,
        naive_j: estimate.naive().0,
        calibrated_j: calibration.as_ref().map(|known| known.calibration.energy(&estimate).0),
        estimate,
    };
    let all = operators.len();
    let rows = match arguments.by {
        TheoryBy::Operator => {
            let kinds = found.operators.iter().map(|operator| operator.shape().kind());
            kinds.zip(operators).map(|(kind, estimate)| row(Some(kind), 1, estimate)).collect()
        }
        TheoryBy::Kind => {
            let groups = by_kind(&found.operators);
            let mut rows: Vec<Row> = groups
                .into_iter()
                .map(|(kind, some)| row(Some(kind), some.len(), estimate(kind, &some, bits, &costs).total))
                .collect();
            rows.sort_by(|a, b| b.naive_j.total_cmp(&a.naive_j));
            rows
        }
        TheoryBy::Total => Vec::new(),
    };
    let theory = Theory {
        model: found.name.clone(),
        kind: Kind::Predicted,
        method: "theory",
        bits: bits.bytes() * 8,
        costs: source,
        by: arguments.by,
        total: row(None, all, total),
        rows,
        calibration,
        warnings,
    };
    print(&match arguments.format {
        Format::Json => json::written(&theory)?,
        Format::Csv => tables::csv(&theory.csv())?,
        format => theory.page().written(look(format).unwrap_or(Look::Markdown)),
    })?;
    print_some(&theory.warnings);
    Ok(ExitCode::SUCCESS)
}

/// Operators by kind, in the order in which kinds first occur.
fn by_kind(operators: &[Operator]) -> Vec<(&'static str, Vec<Operator>)> {
    let mut groups: Vec<(&'static str, Vec<Operator>)> = Vec::new();
    for operator in operators {
        let kind = operator.shape().kind();
        match groups.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, some)) => some.push(operator.clone()),
            None => groups.push((kind, vec![operator.clone()])),
        }
    }
    groups
}

impl TheoryArgs {
    fn read_costs(&self) -> Result<(Costs, String)> {
        let Some(path) = &self.costs else { return Ok((Costs::default(), "Horowitz, 45 nm".to_owned())) };
        let name = path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| format!("{name}: cannot read the table of costs"))?;
        let costs = Costs::from_toml(&text).with_context(|| name.clone())?;
        Ok((costs, name))
    }
}

impl Theory {
    /// What is listed: rows, or the whole.
    fn csv(&self) -> Vec<CsvRow<'_>> {
        let rows = if self.by == TheoryBy::Total { std::slice::from_ref(&self.total) } else { &self.rows };
        let row = |row| {
            let Row { operator, count, once_j, naive_j, calibrated_j, estimate }: &Row = row;
            CsvRow {
                name: &estimate.name,
                operator: operator.unwrap_or("model"),
                count: *count,
                mul: estimate.mul,
                sum: estimate.sum,
                macs: estimate.macs,
                parameters: estimate.parameters,
                once_bytes: estimate.traffic.once.bytes,
                naive_bytes: estimate.traffic.naive.bytes,
                compute_j: estimate.compute.0,
                once_j: *once_j,
                naive_j: *naive_j,
                calibrated_j: *calibrated_j,
                kind: self.kind,
            }
        };
        rows.iter().map(row).collect()
    }

    fn page(&self) -> Page {
        let mut page = Page::default();
        page.words(format!(
            "{}, by theory ({} bits, {}): predicted, not measured",
            self.model, self.bits, self.costs
        ));
        page.words("once: every element is moved a single time; naive: every operand comes from its tensor");
        page.gap();
        let header = ["operator", "kind", "count", "MACs", "parameters", "once", "naive", "share", "calibrated"];
        let mut table = Columns::new(&header).shorten(0, Keep::End).left(1).optional(&[4, 2, 3]);
        let mut hidden = Vec::new();
        if self.calibration.is_none() {
            hidden.push(8);
        }
        if self.by == TheoryBy::Operator {
            hidden.push(2);
        }
        if self.by == TheoryBy::Kind {
            hidden.push(1);
        }
        table = table.without(&hidden);
        for row in self.rows.iter().chain([&self.total]) {
            let part = share(Joules(row.naive_j), Joules(self.total.naive_j));
            let energy = |joules: f64| energy_cell(Joules(joules).to_string(), part, Some(self.kind));
            table.row(vec![
                Cell::from(row.estimate.name.as_str()),
                row.operator.unwrap_or_default().into(),
                row.count.to_string().into(),
                row.estimate.macs.to_string().into(),
                row.estimate.parameters.to_string().into(),
                energy(row.once_j),
                energy(row.naive_j),
                percent(part).into(),
                row.calibrated_j.map(energy).unwrap_or_default(),
            ]);
        }
        page.table(table);
        if let Some(known) = &self.calibration {
            page.gap();
            page.words(format!(
                "calibrated by {} at {}: {} of the avoidable traffic, prices times {:.4}",
                known.by,
                Joules(known.measured_j),
                percent(known.avoidable_traffic),
                known.cost_factor
            ));
        }
        page
    }
}
