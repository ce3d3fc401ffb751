//! A card as Markdown, with the block at its head that Hugging Face's model cards have.

use jouletree_carbon::Intensity;
use jouletree_model::{Grams, Joules, Nanos};
use jouletree_report::Base;
use jouletree_report::card::{Card, Emissions, LayerRow, Sensitivity, Summary};

use crate::cell::Cell;
use crate::columns::{Columns, Keep};
use crate::numbers::percent;
use crate::page::{Look, Page};
use crate::program::phase_table;
use crate::{carbon, markdown, tables};

/// How many layers are named; others are summed.
const LAYERS: usize = 10;

/// All of it.
pub fn written(card: &Card) -> String {
    let head = card.co2_eq_emissions.as_ref().map(front_matter).unwrap_or_default();
    let title = format!("## Energy and carbon of {}\n\n", markdown::code("", &card.title));
    head + &title + &page(card).written(Look::Markdown)
}

/// The YAML block. A JSON string is a YAML string.
fn front_matter(emissions: &Emissions) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut block = format!("---\nco2_eq_emissions:\n  emissions: {}\n", decimal(emissions.emissions));
    let texts = [
        ("source", Some(&emissions.source)),
        ("training_type", emissions.training_type.as_ref()),
        ("geographical_location", emissions.geographical_location.as_ref()),
        ("hardware_used", emissions.hardware_used.as_ref()),
    ];
    for (name, text) in texts {
        block += &text.map(|text| format!("  {name}: {}\n", quoted(text))).unwrap_or_default();
    }
    block + "---\n\n"
}

/// A number with three digits that every YAML reader takes for one: those of version 1.1 take `1e-7` for a text.
fn decimal(value: f64) -> String {
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let text = format!("{rounded}");
    if text.contains('.') { text } else { format!("{text}.0") }
}

fn page(card: &Card) -> Page {
    let mut page = Page::default();
    let count = card.runs.len();
    let runs = if count == 1 { "one run".to_owned() } else { format!("{count} runs") };
    let kind = card.kind.map_or("nothing was metered".to_owned(), |kind| kind.to_string());
    page.words(format!("Energy of {runs}, {kind}; written by jouletree {}.", env!("CARGO_PKG_VERSION")));
    page.table(totals(card));
    if card.whole.energy.0 > 0.0 {
        let mean = if count > 1 { " on average" } else { "" };
        page.words(format!("All joules of a run{mean}, {}: {}.", card.whole.energy, card.whole.sentence()));
    }
    card.trust.iter().for_each(|trust| tables::trust(&mut page, trust));
    if !card.phases.is_empty() {
        page.title("Training and inference");
        page.table(phase_table(&card.phases, card.whole.spread()));
    }
    if !card.stages.is_empty() {
        page.title("Stages");
        let mut table = Columns::new(&["stage", "energy"]).names(0);
        for stage in &card.stages {
            table.row(vec![stage.stage.clone(), stage.energy.to_string()]);
        }
        page.table(table);
    }
    page.title("Carbon");
    page.table(carbon_table(card));
    if let Some(note) = card.carbon.intensity.as_ref().and_then(|intensity| intensity.note.clone()) {
        page.words(note);
    }
    if count > 1 {
        page.title("Sensitivity over the runs");
        page.table(run_table(card));
        if !card.sensitivity.is_empty() {
            page.words("By arguments that differ:");
            page.table(sensitivity_table(&card.sensitivity));
        }
    }
    if !card.layers.is_empty() {
        page.title("Energy by layer");
        page.words(format!(
            "Parts that do not overlap; shares are {}; the mean over the runs.",
            Base::Run.as_str()
        ));
        page.table(layer_table(&card.layers));
    }
    page.title("Hardware and software");
    page.table(facts(card));
    page.title("What this card does not contain");
    page.words(missing(card));
    page
}

fn totals(card: &Card) -> Columns {
    if card.runs.len() < 2 {
        let mut table = Columns::new(&["quantity", "amount", "95 %"]).left(0);
        let one = |summary: Option<Summary>| summary.map(|summary| summary.total).unwrap_or_default();
        table.row(vec!["time".to_owned(), seconds(one(card.time_s)), String::new()]);
        let interval = interval(card.low.0, card.high.0, &|joules| Joules(joules).to_string());
        table.row(vec!["energy".to_owned(), Joules(one(card.energy_j)).to_string(), interval]);
        let grams = card.carbon.carbon.map_or("unknown".to_owned(), carbon::grams);
        let ends = card.carbon.carbon_low.zip(card.carbon.carbon_high);
        let interval = ends.map(|(low, high)| self::interval(low.0, high.0, &|grams| carbon::grams(Grams(grams))));
        table.row(vec!["carbon".to_owned(), grams, interval.unwrap_or_default()]);
        return table;
    }
    let mut table = Columns::new(&["quantity", "mean", "deviation", "least", "most", "all runs"]).left(0);
    let mut row = |name: &str, summary: Option<Summary>, text: &dyn Fn(f64) -> String| {
        let cells = summary.map(|summary| {
            let deviation = summary.deviation.map(text).unwrap_or_default();
            [text(summary.mean), deviation, text(summary.least), text(summary.most), text(summary.total)]
        });
        let unknown = || ["unknown".to_owned(), String::new(), String::new(), String::new(), String::new()];
        table.row([vec![name.to_owned()], cells.unwrap_or_else(unknown).to_vec()].concat());
    };
    row("time", card.time_s, &seconds);
    row("energy", card.energy_j, &|joules| Joules(joules).to_string());
    row("carbon", card.carbon_g, &|value| carbon::grams(Grams(value)));
    table
}

/// `445 mJ … 2.06 J`; nothing where unknown.
fn interval(low: f64, high: f64, text: &dyn Fn(f64) -> String) -> String {
    if low < high { format!("{} … {}", text(low), text(high)) } else { String::new() }
}

fn carbon_table(card: &Card) -> Columns {
    let carbon = &card.carbon;
    let mut table = Columns::new(&["item", "amount", "basis"]).left(0).left(2);
    let mut row = |line: &str, amount: String, how: String| table.row(vec![line.to_owned(), amount, how]);
    let kind = card.kind.map_or("nothing was metered".to_owned(), |kind| kind.to_string());
    row("IT equipment", carbon::kilowatt_hours(carbon.it_energy_kwh), kind);
    row("data centre", carbon::kilowatt_hours(carbon.energy_kwh), format!("PUE {}", carbon.pue));
    match (&carbon.intensity, carbon.carbon) {
        (Some(intensity), Some(grams)) => row("carbon", carbon::grams(grams), of_intensity(intensity)),
        _ => row("carbon", "unknown".to_owned(), "location unknown; add --country".to_owned()),
    }
    if let Some(litres) = carbon.water_l {
        row("water", carbon::litres(litres), "by the data centre’s WUE".to_owned());
    }
    if let Some(grams) = carbon.embodied {
        row("embodied emissions", carbon::grams(grams), "its share of time; not in the lines above".to_owned());
    }
    if let (Some(cost), Some(currency)) = (carbon.cost, &carbon.currency) {
        row(
            "cost",
            format!("{} {currency}", carbon::significant(cost)),
            "by the tariff, at the local time".to_owned(),
        );
    }
    table
}

fn of_intensity(intensity: &Intensity) -> String {
    format!("{intensity}, {}", intensity.origin)
}

fn run_table(card: &Card) -> Columns {
    let mut table = Columns::new(&["run", "arguments", "time", "energy", "95 %", "carbon"]).names(0).left(1);
    for run in &card.runs {
        let arguments: Vec<String> = run.arguments.iter().map(|(name, value)| format!("{name} {value}")).collect();
        table.row(vec![
            run.run.clone(),
            arguments.join(", "),
            seconds(run.duration_s),
            run.energy.to_string(),
            interval(run.low.0, run.high.0, &|joules| Joules(joules).to_string()),
            run.carbon.map_or("unknown".to_owned(), carbon::grams),
        ]);
    }
    table
}

fn sensitivity_table(rows: &[Sensitivity]) -> Columns {
    let header = ["argument", "value", "runs", "energy, mean", "deviation", "time, mean"];
    let mut table = Columns::new(&header).names(0).names(1);
    for row in rows {
        let deviation = row.energy_j.and_then(|energy| energy.deviation);
        table.row(vec![
            row.argument.clone(),
            row.value.clone().unwrap_or_else(|| "not given".to_owned()),
            row.runs.to_string(),
            row.energy_j.map(|energy| Joules(energy.mean).to_string()).unwrap_or_default(),
            deviation.map(|joules| Joules(joules).to_string()).unwrap_or_default(),
            row.time_s.map(|time| seconds(time.mean)).unwrap_or_default(),
        ]);
    }
    table
}

fn layer_table(layers: &[LayerRow]) -> Columns {
    let has_deviation = layers.iter().any(|layer| layer.deviation.is_some());
    let table = Columns::new(&["layer", "energy", "deviation", "of run"]).shorten(0, Keep::End);
    let mut table = if has_deviation { table } else { table.without(&[2]) };
    let mut row = |path: String, energy: Joules, deviation: Option<Joules>, share: f64| {
        let deviation = deviation.map(|deviation| deviation.to_string()).unwrap_or_default();
        table.row(vec![Cell::from(path), energy.to_string().into(), deviation.into(), percent(share).into()]);
    };
    for layer in layers.iter().take(LAYERS) {
        let own = if layer.is_own { " (itself)" } else { "" };
        let path = if layer.path.is_empty() { "(model)" } else { &layer.path };
        row(format!("{path}{own}"), layer.energy, layer.deviation, layer.run_share);
    }
    let others = layers.get(LAYERS..).unwrap_or_default();
    if !others.is_empty() {
        row(
            format!("({} others)", others.len()),
            others.iter().map(|layer| layer.energy).sum(),
            None,
            others.iter().map(|layer| layer.run_share).sum(),
        );
    }
    table
}

fn facts(card: &Card) -> Columns {
    let mut table = Columns::new(&["fact", "value"]).left(0).left(1);
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            table.row(vec![name.to_owned(), value]);
        }
    };
    let (hardware, software) = (&card.hardware, &card.software);
    row("processor", hardware.cpu.clone());
    row("hardware threads", hardware.threads.map(|threads| threads.to_string()));
    row("memory", hardware.memory_gib.map(|memory| format!("{memory:.1} GiB")));
    row("GPUs", Some(hardware.gpus.join(", ")));
    row("system", software.os.clone());
    row("Python", software.python.clone());
    let frameworks: Vec<String> =
        software.frameworks.iter().map(|(name, version)| format!("{name} {version}")).collect();
    row("frameworks", Some(frameworks.join(", ")));
    row("meters", Some(card.meters.join(", ")));
    row("recorded with", Some(format!("jouletree {}", card.jouletree)));
    table
}

/// What the runs lack, in words.
fn missing(card: &Card) -> String {
    let mut missing = vec!["how good the model is"];
    if card.phases.is_empty() {
        missing.push("which part was training and which inference (the program recorded no steps)");
    }
    if card.layers.is_empty() {
        missing.push("which layer used how much (operations were not recorded)");
    }
    if card.hardware.cpu.is_none() && card.hardware.gpus.is_empty() {
        missing.push("what it ran on");
    }
    if card.carbon.carbon.is_none() {
        missing.push("where it ran, and so its carbon");
    }
    if card.carbon.embodied.is_none() {
        missing.push("what making the machine emitted");
    }
    format!("Not known from the runs: {}.", missing.join("; "))
}

fn seconds(seconds: f64) -> String {
    Nanos((seconds * 1e9).round() as i64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_grams_are_numbers_to_every_reader() {
        assert_eq!(decimal(1e-7), "0.0000001");
        assert_eq!(decimal(25.0), "25.0");
        assert_eq!(decimal(0.005906558826494329), "0.00591");
        assert_eq!(decimal(1e21), "1000000000000000000000.0");
    }

    #[test]
    fn names_cannot_leave_their_line() {
        let emissions = Emissions {
            emissions: 1.5,
            source: "a: \"b\"\n---".to_owned(),
            training_type: Some("fine-tuning".to_owned()),
            geographical_location: None,
            hardware_used: Some("x #y".to_owned()),
        };
        let wanted = "---\nco2_eq_emissions:\n  emissions: 1.5\n  source: \"a: \\\"b\\\"\\n---\"\n  \
                      training_type: \"fine-tuning\"\n  hardware_used: \"x #y\"\n---\n\n";
        assert_eq!(front_matter(&emissions), wanted);
    }
}
