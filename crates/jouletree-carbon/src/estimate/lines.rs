//! An answer line by line: what it amounts to and where that comes from, as tables, the page and spreadsheets show it.

use jouletree_model::KilowattHours;
use serde::Serialize;

use super::answer::Answer;
use crate::{Intensity, amounts};

/// One amount.
#[derive(Debug, Serialize)]
pub struct Line {
    /// Its name.
    pub line: &'static str,
    /// The amount with every digit; none where it is not known.
    pub value: Option<f64>,
    /// Its unit.
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
    let energy =
        |name, value: KilowattHours, how| line(name, Some(value.0), "kWh", amounts::kilowatt_hours(value), how);
    let mut lines = vec![
        energy("IT equipment", answer.it_energy_kwh, hardware(answer)),
        energy("data centre", answer.energy_kwh, format!("PUE {}", answer.pue)),
    ];
    lines.push(match (&answer.intensity, answer.carbon) {
        (Some(intensity), Some(grams)) => {
            line("carbon", Some(grams.0), "g", amounts::grams(grams), described(intensity))
        }
        _ => line("carbon", None, "g", "unknown".to_owned(), "location unknown; add --country".to_owned()),
    });
    for table in &answer.published {
        let how = format!("{:.1} g/kWh ({}, {})", table.intensity.0, table.source, table.year);
        lines.push(line("carbon, by others", Some(table.carbon.0), "g", amounts::grams(table.carbon), how));
    }
    lines.push(match answer.water_l {
        Some(litres) => {
            line("water", Some(litres), "L", amounts::litres(litres), format!("WUE {} L/kWh", answer.wue))
        }
        None => line("water", None, "L", "unknown".to_owned(), "no WUE was given".to_owned()),
    });
    if let Some(grams) = answer.embodied {
        let how = "making the machine, its share of time; not in the lines above".to_owned();
        lines.push(line("embodied", Some(grams.0), "g", amounts::grams(grams), how));
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
        lines.extend(same.lines().map(|(value, unit, how)| {
            line(
                "comparable to",
                Some(value),
                unit,
                format!("{} {unit}", amounts::significant(value)),
                how.to_owned(),
            )
        }));
    }
    lines
}

/// `8 × A100 PCIe 40/80GB of 250 W for 100 h`.
fn hardware(answer: &Answer) -> String {
    let machines = &answer.hardware;
    let mut basis = String::new();
    if machines.each.0 > 0.0 {
        let name = machines.accelerator.map(|name| format!("{name} of ")).unwrap_or_default();
        basis = format!("{} × {name}{}", machines.count, machines.each);
        if machines.utilization < 1.0 {
            basis += &format!(" at {} %", 100.0 * machines.utilization);
        }
    }
    if machines.others.0 > 0.0 {
        let and = if basis.is_empty() { "" } else { " and " };
        basis += &format!("{and}{} for the rest", machines.others);
    }
    format!("{basis}, {} h", machines.hours)
}

fn described(intensity: &Intensity) -> String {
    format!("{intensity}, {}", intensity.origin)
}
