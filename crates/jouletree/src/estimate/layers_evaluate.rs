//! `jouletree estimate layers evaluate`: the additive model beside the published predictors, on what neither was fitted on.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jouletree_predict::layers::{BothScores, Evaluation, RelativeScore, evaluate};
use serde::Serialize;

use crate::cell::Cell;
use crate::cli::Format;
use crate::columns::Columns;
use crate::page::{Look, Page};
use crate::show::look;
use crate::{json, print, print_warnings, tables};

pub const EXAMPLES: &str = "\
Examples:
  jouletree estimate layers evaluate layers/                 both ways, on layers held out and on whole networks
  jouletree estimate layers evaluate layers/ --format json | jq '.networks.all.additive.mean_percent'

One layer in five is held out, by a hash of what it is; `additive` is ours. `getzner` are the published predictors (Getzner et
al., 2023), fitted and scored on their own split, and `getzner+real` the same with real layers among those fitted on. Networks
and their layers are in no other fit.";

#[derive(Args)]
pub struct EvaluateArgs {
    /// A folder of tables of measured layers, and of networks if there are any
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// A score as spreadsheets read it.
#[derive(Serialize)]
struct Row<'a> {
    part: &'static str,
    name: &'a str,
    method: &'static str,
    count: usize,
    mean_percent: f64,
    median_percent: f64,
    p90_percent: f64,
    worst_percent: f64,
    mae_j: f64,
    mse_j2: f64,
    r2: f64,
    r2_of_log: Option<f64>,
    negative: usize,
    coverage_percent: Option<f64>,
    scaled_mse: Option<f64>,
    cross_validated_r2: Option<f64>,
    intercept_j: Option<f64>,
}

/// Runs the command.
pub fn run(arguments: &EvaluateArgs) -> Result<ExitCode> {
    let evaluation = evaluate(&arguments.folder)?;
    print(&match arguments.format {
        Format::Json => json::written(&evaluation)?,
        Format::Csv => tables::csv(&rows(&evaluation))?,
        format => page(&evaluation).written(look(format).unwrap_or(Look::Markdown)),
    })?;
    print_warnings(&evaluation.warnings);
    Ok(ExitCode::SUCCESS)
}

const ADDITIVE: &str = "additive";
const PUBLISHED: &str = "getzner";
const WITH_REAL_LAYERS: &str = "getzner+real";

fn rows(evaluation: &Evaluation) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (kind, scores) in &evaluation.layers {
        let coverage_percent = Some(scores.coverage_percent);
        rows.push(Row { coverage_percent, ..Row::of("layers", kind.as_str(), ADDITIVE, &scores.additive) });
        if let Some(published) = &scores.published {
            rows.push(Row {
                scaled_mse: scores.published_scaled_mse,
                cross_validated_r2: scores.published_cross_validated_r2,
                intercept_j: scores.published_intercept.map(|intercept| intercept.0),
                ..Row::of("layers", kind.as_str(), PUBLISHED, published)
            });
        }
    }
    for (kind, scores) in &evaluation.real_layers {
        rows.extend(both("real layers", kind.as_str(), scores));
    }
    for (kind, scores) in &evaluation.network_layers {
        rows.extend(both("network layers", kind.as_str(), scores));
    }
    for (name, scores) in &evaluation.networks {
        rows.extend(both("networks", name, scores));
    }
    rows
}

fn both<'a>(part: &'static str, name: &'a str, scores: &BothScores) -> Vec<Row<'a>> {
    let with_real = scores.published_with_real_layers.as_ref();
    let methods =
        [(ADDITIVE, Some(&scores.additive)), (PUBLISHED, Some(&scores.published)), (WITH_REAL_LAYERS, with_real)];
    methods.into_iter().filter_map(|(method, score)| Some(Row::of(part, name, method, score?))).collect()
}

impl<'a> Row<'a> {
    fn of(part: &'static str, name: &'a str, method: &'static str, score: &RelativeScore) -> Row<'a> {
        Row {
            part,
            name,
            method,
            count: score.count,
            mean_percent: score.mean_percent,
            median_percent: score.median_percent,
            p90_percent: score.p90_percent,
            worst_percent: score.worst_percent,
            mae_j: score.mae_j,
            mse_j2: score.mse_j2,
            r2: score.r2,
            r2_of_log: score.r2_of_log,
            negative: score.negative,
            coverage_percent: None,
            scaled_mse: None,
            cross_validated_r2: None,
            intercept_j: None,
        }
    }
}

fn page(evaluation: &Evaluation) -> Page {
    let rows = rows(evaluation);
    let mut page = Page::default();
    page.words("Relative errors of predictions; additive is ours, getzner as published.");
    let titles = [
        ("layers", "layers held out"),
        ("real layers", "layers like those of real networks, measured alone and never fitted on"),
        ("network layers", "the layers of networks, measured alone and never fitted on"),
        ("networks", "whole networks, never fitted on"),
    ];
    for (part, title) in titles {
        let some: Vec<&Row<'_>> = rows.iter().filter(|row| row.part == part).collect();
        if !some.is_empty() {
            page.title(title);
            page.table(scores(&some));
        }
    }
    let published: Vec<&Row<'_>> = rows.iter().filter(|row| row.scaled_mse.is_some()).collect();
    if !published.is_empty() {
        page.title("the published predictors by their own measures");
        let mut table = Columns::new(&["layer", "R²", "R², cross-validated", "scaled MSE", "intercept"]).left(0);
        for row in published {
            table.row(vec![
                Cell::from(row.name),
                format!("{:.4}", row.r2).into(),
                row.cross_validated_r2.map(|value| format!("{value:.4}")).unwrap_or_default().into(),
                row.scaled_mse.map(|value| format!("{value:.3e}")).unwrap_or_default().into(),
                row.intercept_j.map(|value| jouletree_model::Joules(value).to_string()).unwrap_or_default().into(),
            ]);
        }
        page.table(table);
    }
    page
}

fn scores(rows: &[&Row<'_>]) -> Columns {
    let header = ["", "method", "count", "mean", "median", "90 %", "worst", "negative", "R²", "intervals hold"];
    let header = [&["name"], &header[1..]].concat();
    let mut table = Columns::new(&header).left(0).left(1).optional(&[8, 7, 5]);
    if rows.iter().all(|row| row.coverage_percent.is_none()) {
        table = table.without(&[9]);
    }
    for row in rows {
        table.row(vec![
            Cell::from(row.name),
            row.method.into(),
            row.count.to_string().into(),
            percent(row.mean_percent),
            percent(row.median_percent),
            percent(row.p90_percent),
            percent(row.worst_percent),
            row.negative.to_string().into(),
            format!("{:.4}", row.r2).into(),
            row.coverage_percent.map(percent).unwrap_or_default(),
        ]);
    }
    table
}

fn percent(value: f64) -> Cell {
    Cell::from(if value.abs() < 100.0 { format!("{value:.1} %") } else { format!("{value:.0} %") })
}
