//! An answer line by line: what it amounts to and where that comes from, as tables, the page and spreadsheets show it.

use jouletree_carbon::Intensity;
use jouletree_model::Watts;
use serde::Serialize;

use super::answer::{Answer, Region};
use crate::cell::Cell;
use crate::columns::{Columns, Keep};
use crate::numbers::energy_cell;
use crate::page::Page;
use crate::{carbon, colour};

/// One amount.
#[derive(Debug, Serialize)]
pub struct Line {
    pub line: &'static str,
    /// The amount with every digit; none where it is not known.
    pub value: Option<f64>,
    pub unit: String,
    /// The amount for people.
    #[serde(skip)]
    pub text: String,
    /// Where it comes from.
    pub how: String,
}

/// Everything in an answer but its regions.
pub fn lines(answer: &Answer) -> Vec<Line> {
    let line = |line, value: Option<f64>, unit: &str, text: String, how: String| Line {
        line,
        value,
        unit: unit.to_owned(),
        text,
        how,
    };
    let energy = |name, value: f64, how| line(name, Some(value), "kWh", carbon::kilowatt_hours(value), how);
    let mut lines = vec![
        energy("computers", answer.it_energy_kwh, hardware(answer)),
        energy("data centre", answer.energy_kwh, format!("PUE {}", answer.pue)),
    ];
    lines.push(match (&answer.intensity, answer.carbon_g) {
        (Some(intensity), Some(grams)) => line("carbon", Some(grams), "g", carbon::grams(grams), told(intensity)),
        _ => line("carbon", None, "g", "unknown".to_owned(), "nobody said where it runs".to_owned()),
    });
    for table in &answer.published {
        let how = format!("{:.1} g/kWh ({}, {})", table.g_per_kwh, table.source, table.year);
        lines.push(line("carbon, by others", Some(table.carbon_g), "g", carbon::grams(table.carbon_g), how));
    }
    lines.push(match answer.water_l {
        Some(litres) => {
            line("water", Some(litres), "L", carbon::litres(litres), format!("WUE {} L/kWh", answer.wue))
        }
        None => line("water", None, "L", "unknown".to_owned(), "no WUE was given".to_owned()),
    });
    if let Some(grams) = answer.embodied_g {
        let how = "making the machine, its share of time; not in the lines above".to_owned();
        lines.push(line("embodied", Some(grams), "g", carbon::grams(grams), how));
    }
    if let Some(cost) = answer.cost {
        let currency = answer.currency.as_deref().unwrap_or_default();
        lines.push(line(
            "cost",
            Some(cost),
            currency,
            format!("{cost:.2} {currency}"),
            "by the tariff".to_owned(),
        ));
    }
    if let Some(same) = &answer.equivalents {
        lines.extend(same.lines().into_iter().map(|(value, unit, how)| {
            line("as much as", Some(value), unit, format!("{} {unit}", carbon::significant(value)), how.to_owned())
        }));
    }
    lines
}

/// `8 × A100 PCIe 40/80GB of 250 W for 100 h`.
fn hardware(answer: &Answer) -> String {
    let machines = &answer.hardware;
    let mut told = String::new();
    if machines.watts_each_w > 0.0 {
        let name = machines.accelerator.map(|name| format!("{name} of ")).unwrap_or_default();
        told = format!("{} × {name}{}", machines.count, Watts(machines.watts_each_w));
        if machines.utilization < 1.0 {
            told += &format!(" at {} %", 100.0 * machines.utilization);
        }
    }
    if machines.others_w > 0.0 {
        let and = if told.is_empty() { "" } else { " and " };
        told += &format!("{and}{} for the rest", Watts(machines.others_w));
    }
    format!("{told}, {} h", machines.hours)
}

fn told(intensity: &Intensity) -> String {
    format!("{intensity}, {}", intensity.origin)
}

/// An answer for people.
pub fn page(answer: &Answer) -> Page {
    let mut page = Page::default();
    page.words("predicted, not measured");
    let mut table = Columns::new(&["line", "amount", "how"]).left(0).left(2);
    for line in lines(answer) {
        table.row(vec![
            Cell::from(line.line),
            energy_cell(line.text, None, Some(answer.kind)),
            Cell::from(line.how).styled(colour::quiet()),
        ]);
    }
    page.table(table);
    for note in &answer.notes {
        page.words(Cell::from(format!("note: {note}")).styled(colour::quiet()));
    }
    if !answer.regions.is_empty() {
        page.title("the same energy elsewhere");
        page.table(region_table(&answer.regions));
    }
    page
}

fn region_table(regions: &[Region]) -> Columns {
    let header = ["region", "where", "carbon", "g/kWh", "", "year", "source"];
    let table = Columns::new(&header).names(0).left(1).left(4).left(6);
    let mut table = table.shorten(6, Keep::Start).shorten(1, Keep::Start).optional(&[6, 5, 1]);
    let most = regions.iter().filter_map(|region| region.carbon_g).fold(0.0, f64::max);
    for region in regions {
        let share = region.carbon_g.filter(|_| most > 0.0).map_or(0.0, |grams| grams / most);
        let here = if region.is_here { " ← here" } else { "" };
        let name = if region.name.is_empty() { region.country } else { region.name };
        table.row(vec![
            Cell::from(format!("{}/{}{here}", region.provider, region.region)),
            Cell::from(name),
            Cell::from(region.carbon_g.map_or("unknown".to_owned(), carbon::grams)),
            Cell::from(region.g_per_kwh.map(|amount| format!("{amount:.1}")).unwrap_or_default()),
            Cell::bar(share),
            Cell::from(region.year.map(|year| year.to_string()).unwrap_or_default()),
            Cell::from(region.source.as_deref().unwrap_or_default()).styled(colour::quiet()),
        ]);
    }
    table
}
