//! `jouletree carbon`: a run in grams, litres and money, and its layers in grams.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jouletree_account::{EnergyTree, Spreads, Tef, t2e};
use jouletree_carbon::amounts::{LITRES, amount, grams, kilowatt_hours, significant};
use jouletree_carbon::formats::Record;
use jouletree_carbon::{Equivalents, Factors, Impact, Intensity, sci};
use jouletree_model::{Grams, Interval, Joules, KilowattHours, Kind, Warning};
use jouletree_report::{Trust, Whole};
use jouletree_run::{RunError, Scope, accounted};
use serde::Serialize;

use super::of_run::{self, embodied};
use super::{CarbonArgs, WHERE, cost};
use crate::cell::Cell;
use crate::cli::Format;
use crate::columns::{Columns, Keep};
use crate::numbers::percent;
use crate::page::Page;
use crate::show::look;
use crate::{colour, json, print, print_warnings, run, tables};

pub const EXAMPLES: &str = "\
Examples:
  jouletree carbon RUN --country ITA               grams of CO2 of a run and of its layers, with their source
  jouletree carbon RUN --provider gcp --region europe-west1 --pue 1.09
  jouletree carbon RUN --country USA --region california --tariff 8:30-19:00=0.31,19:00-8:30=0.22 --currency USD
  jouletree carbon RUN --intensity 23 --embodied server --units 5000
      the machine's making counted, too, and the SCI score of 5000 answers
  jouletree carbon RUN --country FRA --format json | jq '.carbon_g, .intensity'
  jouletree config show                            which place and price hold here, and who says so

Without a location the carbon of a run is unknown. Nothing is asked over the network unless --online is given.
docs/carbon.md names the tables and their years.";

#[derive(Args)]
pub struct CarbonCommand {
    /// A run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    #[command(flatten)]
    pub carbon: CarbonArgs,
    /// Whose energy counts: the program's, or all that its machine used
    #[arg(long, value_name = "machine|process")]
    pub tracking_mode: Option<String>,
    /// How many units of use the run served (requests, samples, users), for the SCI score
    #[arg(long, value_name = "N", value_parser = crate::cli::units)]
    pub units: Option<f64>,
    /// How many levels of layers are shown
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub depth: u16,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// The energy of a run and its impact.
#[derive(Serialize)]
struct RunView {
    run_id: String,
    kind: Option<Kind>,
    duration_s: f64,
    tracking_mode: String,
    it_energy_j: f64,
    low_j: f64,
    high_j: f64,
    it_energy_kwh: KilowattHours,
    pue: f64,
    energy_kwh: KilowattHours,
    intensity: Option<Intensity>,
    carbon_g: Option<Grams>,
    carbon_low_g: Option<Grams>,
    carbon_high_g: Option<Grams>,
    wue: f64,
    water_l: f64,
    embodied_g: Option<Grams>,
    units: Option<f64>,
    sci_g: Option<Grams>,
    cost: Option<f64>,
    currency: String,
    equivalents: Option<Equivalents>,
    layers: Vec<Layer>,
    /// Where all joules are; `None` where operations were not accounted, or others' energy counts.
    whole: Option<Whole>,
    trust: Trust,
    warnings: Vec<Warning>,
}

/// A layer, or what no layer was charged with.
#[derive(Serialize)]
struct Layer {
    path: String,
    depth: u16,
    energy_j: f64,
    share: f64,
    carbon_g: Option<Grams>,
}

/// Runs the command.
pub fn run(arguments: &CarbonCommand) -> Result<ExitCode> {
    let run = run::opened(&arguments.run)?;
    let mut settings = arguments.carbon.settings()?;
    if let Some(mode) = &arguments.tracking_mode {
        let layer = jouletree_carbon::settings::Layer::Flag("--tracking-mode".to_owned());
        settings.set(jouletree_carbon::settings::Key::TrackingMode, mode.as_str(), layer);
    }
    let context = arguments.carbon.context()?;
    let mut warnings = Vec::new();
    let record = of_run::record(&run, &settings, context, &mut warnings)?;
    let scope = if record.tracking_mode == "process" { Scope::Tree } else { Scope::Device };
    let power = accounted(run.read_power()?, scope);
    let accounting = run.manifest().accounting.as_ref();
    let recording = run.manifest().recording.as_ref();
    let (layers, whole) = match run.read_footprint() {
        // Layers are parts of what was accounted, and of nothing else.
        Ok(_) if accounting.is_some_and(|accounting| accounting.energy != scope) => (Vec::new(), None),
        Ok(footprint) => {
            let spreads: Spreads = recording.into_iter().flat_map(|recording| recording.spreads()).collect();
            let whole = Whole::of(&footprint, &spreads);
            (layers(&t2e(&Tef::from(&footprint), &[]), &record, arguments.depth), Some(whole))
        }
        Err(RunError::OnlyRecorded(_)) => (Vec::new(), None),
        Err(error) => return Err(error.into()),
    };
    let trust = {
        let (low, high) = record.parts.bounds();
        let interval = (low < high).then_some(Interval { low, high });
        let energy = Whole::unplaced(record.impact().it_energy, record.parts.kind(), interval);
        Trust::of(recording, &energy)
    };
    let view = view(&record, cost(&record, Some(&power)), arguments.units, (layers, whole, trust), warnings);
    print(&match (look(arguments.format), arguments.format) {
        (Some(look), _) => page(&view).written(look),
        (None, Format::Csv) => tables::csv(&view.layers)?,
        (None, _) => json::written(&view)?,
    })?;
    print_warnings(&view.warnings);
    if view.carbon_g.is_none() {
        writeln_stderr!("its carbon is unknown: {WHERE}");
    }
    Ok(ExitCode::SUCCESS)
}

fn view(
    record: &Record,
    cost: Option<f64>,
    units: Option<f64>,
    (layers, whole, trust): (Vec<Layer>, Option<Whole>, Trust),
    warnings: Vec<Warning>,
) -> RunView {
    let (impact, context) = (record.impact(), &record.context);
    let (low, high) = record.parts.bounds();
    let of = |energy: Joules| Impact::of(energy, context.facility, context.intensity.as_ref()).carbon;
    let embodied_g = embodied(record);
    let sci_g = units.and_then(|units| sci(impact.carbon?, embodied_g.unwrap_or_default(), units));
    RunView {
        run_id: record.run_id.clone(),
        kind: record.parts.kind(),
        duration_s: record.seconds(),
        tracking_mode: record.tracking_mode.clone(),
        it_energy_j: impact.it_energy.0,
        low_j: low.0,
        high_j: high.0,
        it_energy_kwh: impact.it_energy.kilowatt_hours(),
        pue: context.facility.pue,
        energy_kwh: impact.energy.kilowatt_hours(),
        intensity: context.intensity.clone(),
        carbon_g: impact.carbon,
        carbon_low_g: of(low),
        carbon_high_g: of(high),
        wue: context.facility.wue,
        water_l: impact.water_l,
        embodied_g,
        units,
        sci_g,
        cost,
        currency: context.currency.clone(),
        equivalents: impact.carbon.map(|grams| Equivalents::of(grams, Factors::USUAL)),
        layers,
        whole,
        trust,
        warnings,
    }
}

/// The layers of a run, and last what no layer was charged with: the first and the last add up to the run.
fn layers(tree: &EnergyTree, record: &Record, depth: u16) -> Vec<Layer> {
    let (impact, context) = (record.impact(), &record.context);
    let whole = impact.it_energy;
    let layer = |path: String, depth: u16, energy: Joules| Layer {
        path,
        depth,
        energy_j: energy.0,
        share: if whole.0 > 0.0 { energy.0 / whole.0 } else { 0.0 },
        carbon_g: Impact::of(energy, context.facility, context.intensity.as_ref()).carbon,
    };
    let mut rows = Vec::new();
    let mut open = vec![(tree, String::new(), 0_u16)];
    while let Some((node, path, level)) = open.pop() {
        let name = if level == 0 { "(all layers)".to_owned() } else { path.clone() };
        rows.push(layer(name, level, node.energy));
        if level < depth {
            let below = |child: &EnergyTree| match level {
                0 => child.name.clone(),
                _ => format!("{path}/{}", child.name),
            };
            open.extend(node.children.iter().rev().map(|child| (child, below(child), level + 1)));
        }
    }
    rows.push(layer("(no layer)".to_owned(), 0, Joules(whole.0 - tree.energy.0)));
    rows
}

fn page(view: &RunView) -> Page {
    let mut page = Page::default();
    let mut table = Columns::new(&["item", "amount", "basis"]).left(0).left(2);
    let mut row = |name: &str, amount: String, how: String| {
        table.row(vec![Cell::from(name), Cell::from(amount), Cell::from(how).styled(colour::quiet())]);
    };
    let kind = view.kind.map_or("nothing was metered".to_owned(), |kind| kind.to_string());
    let is_known = view.low_j < view.high_j;
    let bounds =
        if is_known { format!(", {} … {}", Joules(view.low_j), Joules(view.high_j)) } else { String::new() };
    row("IT equipment", kilowatt_hours(view.it_energy_kwh), format!("{kind}{bounds}"));
    if view.pue != 1.0 {
        row("data centre", kilowatt_hours(view.energy_kwh), format!("PUE {}", view.pue));
    }
    match (&view.intensity, view.carbon_g) {
        (Some(intensity), Some(carbon)) => row("carbon", grams(carbon), intensity.to_string()),
        _ => row("carbon", "unknown".to_owned(), "location unknown; add --country".to_owned()),
    }
    if view.wue > 0.0 {
        row("water", amount(view.water_l, &LITRES), format!("WUE {} L/kWh", view.wue));
    }
    if let Some(embodied) = view.embodied_g {
        row("embodied emissions", grams(embodied), "its share of time; not in the lines above".to_owned());
    }
    if let (Some(score), Some(units)) = (view.sci_g, view.units) {
        row("SCI", grams(score), format!("per unit, of {units}"));
    }
    if let Some(cost) = view.cost {
        row(
            "cost",
            format!("{} {}", significant(cost), view.currency),
            "by the tariff, at the local time".to_owned(),
        );
    }
    for (amount, unit, how) in view.equivalents.iter().flat_map(Equivalents::lines) {
        row("comparable to", format!("{} {unit}", significant(amount)), how.to_owned());
    }
    page.table(table);
    if let Some(note) = view.intensity.as_ref().and_then(|intensity| intensity.note.clone()) {
        page.words(Cell::from(format!("note: {note}")).styled(colour::quiet()));
    }
    if !view.layers.is_empty() {
        page.title("by layer");
        page.table(layer_table(&view.layers));
        page.words(
            view.whole.as_ref().map(|whole| format!("{}: {}", whole.energy, whole.sentence())).unwrap_or_default(),
        );
    }
    tables::trust(&mut page, &view.trust);
    page
}

fn layer_table(layers: &[Layer]) -> Columns {
    let mut table = Columns::new(&["layer", "carbon", "energy", "of run", ""]).left(4).shorten(0, Keep::End);
    for layer in layers.iter().filter(|layer| layer.depth == 0 || layer.share >= 0.005) {
        let lead = "  ".repeat(usize::from(layer.depth));
        let name = layer.path.rsplit('/').next().unwrap_or_default();
        table.row(vec![
            Cell::below(&lead, name).styled(colour::number(layer.share)),
            Cell::from(layer.carbon_g.map_or("unknown".to_owned(), grams)),
            Cell::from(Joules(layer.energy_j).to_string()),
            Cell::from(percent(layer.share)),
            Cell::bar(layer.share),
        ]);
    }
    table
}
