//! `jouletree tradeoff`: accuracy against energy of several models, and which of them to take.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use jouletree_host::whole;
use jouletree_model::{Interval, Joules, Kind};
use jouletree_predict::tradeoff::{
    Candidate, MILLION, Standing, Tariff, best_under, cheapest_reaching, front, read_models, standings,
};
use jouletree_report::{FigureFormat, TradeoffPoint, tradeoff};
use serde::Serialize;

use crate::cell::Cell;
use crate::cli::Format;
use crate::columns::{Columns, Keep};
use crate::numbers::{energy_cell, kind_cell};
use crate::page::{Look, Page};
use crate::show::look;
use crate::{json, print, tables};

pub const EXAMPLES: &str = "\
Examples:
  jouletree tradeoff models.csv                              which models no other beats
  jouletree tradeoff models.csv --budget 5 --target 88       the best for 5 J, the cheapest that reaches 88
  jouletree tradeoff models.csv --per-million-queries --tariff 0.1319
      kilowatt-hours and money of a million queries
  jouletree tradeoff models.csv --figure tradeoff.pdf        accuracy against energy, in the width of a column

The file is a CSV with a header: name, accuracy (more is better), and energy_j or energy_kwh of one query; and, if they are
known, sd_j or low_j and high_j (sd_kwh, low_kwh, high_kwh), and kind (measured, derived, estimated, predicted).";

#[derive(Args)]
pub struct TradeoffArgs {
    /// A table of models
    #[arg(value_name = "MODELS")]
    pub models: PathBuf,
    /// Say which is the most accurate that takes no more than this
    #[arg(long, value_name = "JOULES", value_parser = positive)]
    pub budget: Option<f64>,
    /// Say which is the cheapest that is at least so accurate
    #[arg(long, value_name = "ACCURACY", value_parser = finite, allow_negative_numbers = true)]
    pub target: Option<f64>,
    /// Show what a million queries take
    #[arg(long)]
    pub per_million_queries: bool,
    /// How many queries the energy of a row answers, such as a batch of 16
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub queries: u64,
    /// What a kilowatt-hour costs
    #[arg(long, value_name = "PRICE", requires = "per_million_queries", value_parser = positive)]
    pub tariff: Option<f64>,
    /// What the tariff is in
    #[arg(long, value_name = "NAME", default_value = "USD", requires = "tariff")]
    pub currency: String,
    /// Draw accuracy against energy: .svg, .pdf or .png; replaces an earlier figure
    #[arg(long, value_name = "FILE")]
    pub figure: Option<PathBuf>,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// Everything there is to say.
#[derive(Serialize)]
struct Choice<'a> {
    models: Vec<Row<'a>>,
    front: Vec<&'a str>,
    budget_j: Option<f64>,
    best_under_budget: Option<&'a str>,
    target: Option<f64>,
    cheapest_for_target: Option<&'a str>,
    tariff_per_kwh: Option<f64>,
    currency: Option<&'a str>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    accuracy: f64,
    energy_j: f64,
    low_j: Option<f64>,
    high_j: Option<f64>,
    kind: Option<Kind>,
    standing: Standing,
    kwh_per_million: Option<f64>,
    cost_per_million: Option<f64>,
}

/// Runs the command.
pub fn run(arguments: &TradeoffArgs) -> Result<ExitCode> {
    let models = read_models(&arguments.models)?;
    let standings = standings(&models);
    let budget = arguments.budget.map(Joules);
    let name = |model: Option<&Candidate>| model.map(|model| model.name.clone());
    let best = name(budget.and_then(|budget| best_under(&models, budget)));
    let cheapest = name(arguments.target.and_then(|target| cheapest_reaching(&models, target)));
    let with_standings = models.iter().zip(&standings);
    let rows: Vec<Row<'_>> = with_standings.map(|(model, standing)| arguments.row(model, *standing)).collect();
    if let Some(path) = &arguments.figure {
        draw(&models, &standings, arguments, path)?;
    }
    let choice = Choice {
        models: rows,
        front: front(&models).into_iter().map(|model| model.name.as_str()).collect(),
        budget_j: arguments.budget,
        best_under_budget: best.as_deref(),
        target: arguments.target,
        cheapest_for_target: cheapest.as_deref(),
        tariff_per_kwh: arguments.tariff,
        currency: arguments.tariff.map(|_| arguments.currency.as_str()),
    };
    print(&match arguments.format {
        Format::Json => json::written(&choice)?,
        Format::Csv => tables::csv(&choice.models)?,
        format => choice.page().written(look(format).unwrap_or(Look::Markdown)),
    })?;
    Ok(ExitCode::SUCCESS)
}

impl TradeoffArgs {
    fn row<'a>(&self, model: &'a Candidate, standing: Standing) -> Row<'a> {
        let million = Joules(model.energy.0 / self.queries as f64 * MILLION);
        Row {
            name: &model.name,
            accuracy: model.accuracy,
            energy_j: model.energy.0,
            low_j: model.ends.map(|(low, _)| low.0),
            high_j: model.ends.map(|(_, high)| high.0),
            kind: model.kind,
            standing,
            kwh_per_million: self.per_million_queries.then(|| million.kilowatt_hours().0),
            cost_per_million: self.tariff.map(|price| Tariff(price).cost(million)),
        }
    }
}

impl Choice<'_> {
    fn page(&self) -> Page {
        let header =
            ["model", "accuracy", "energy", "interval", "kind", "front", "kWh a million", "cost a million"];
        let mut table =
            Columns::new(&header).shorten(0, Keep::Start).left(4).left(5).split_at(3, '…').optional(&[4, 3]);
        let is_absent =
            |column: usize, is_known: fn(&Row<'_>) -> bool| (!self.models.iter().any(is_known)).then_some(column);
        let absent = [
            is_absent(3, |row| row.low_j.is_some()),
            is_absent(4, |row| row.kind.is_some()),
            is_absent(6, |row| row.kwh_per_million.is_some()),
            is_absent(7, |row| row.cost_per_million.is_some()),
        ];
        table = table.without(&absent.into_iter().flatten().collect::<Vec<_>>());
        let mut rows: Vec<&Row<'_>> = self.models.iter().collect();
        rows.sort_by(|a, b| a.energy_j.total_cmp(&b.energy_j));
        for row in rows {
            let ends = row.low_j.zip(row.high_j).map(|(low, high)| format!("{} … {}", Joules(low), Joules(high)));
            let front = match row.standing {
                Standing::Front => "yes",
                Standing::Perhaps => "perhaps",
                Standing::Behind => "",
            };
            let cost = row.cost_per_million.map(|cost| format!("{cost:.2} {}", self.currency.unwrap_or_default()));
            table.row(vec![
                Cell::from(row.name),
                row.accuracy.to_string().into(),
                energy_cell(Joules(row.energy_j).to_string(), None, row.kind),
                ends.unwrap_or_default().into(),
                kind_cell(row.kind),
                front.into(),
                row.kwh_per_million.map(|hours| format!("{hours:.4}")).unwrap_or_default().into(),
                cost.unwrap_or_default().into(),
            ]);
        }
        let mut page = Page::of(table);
        page.gap();
        if self.models.iter().any(|row| row.standing == Standing::Perhaps) {
            page.words("perhaps: another is better, unless the energies lie at the far ends of their intervals");
        }
        if let Some(budget) = self.budget_j {
            page.words(match self.best_under_budget {
                Some(name) => format!("the most accurate for {}: {name}", Joules(budget)),
                None => format!("no model takes as little as {}; raise --budget", Joules(budget)),
            });
        }
        if let Some(target) = self.target {
            page.words(match self.cheapest_for_target {
                Some(name) => format!("the cheapest with an accuracy of {target}: {name}"),
                None => format!("no model has an accuracy of {target}; lower --target"),
            });
        }
        page
    }
}

fn draw(models: &[Candidate], standings: &[Standing], arguments: &TradeoffArgs, path: &Path) -> Result<()> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let formats = [FigureFormat::Svg, FigureFormat::Pdf, FigureFormat::Png];
    let Some(format) = formats.into_iter().find(|format| format.extension() == ending) else {
        bail!("{}: figures are written as .svg, .pdf or .png; choose one of these endings", path.display());
    };
    let point = |(model, standing): (&Candidate, &Standing)| TradeoffPoint {
        name: model.name.clone(),
        accuracy: model.accuracy,
        energy: model.energy,
        interval: model.ends.map(|(low, high)| Interval { low, high }),
        kind: model.kind,
        is_on_front: *standing == Standing::Front,
    };
    let points: Vec<TradeoffPoint> = models.iter().zip(standings).map(point).collect();
    let Some(figure) = tradeoff(&points, arguments.budget.map(Joules), arguments.target) else { return Ok(()) };
    whole::write(path, &figure.bytes(format)?)?;
    writeln_stderr!("jouletree: wrote {}", path.display());
    Ok(())
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| "a number above 0 is expected".to_owned())
}

fn finite(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| "a number is expected".to_owned())
}
