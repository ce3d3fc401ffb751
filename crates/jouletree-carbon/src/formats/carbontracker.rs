//! CarbonTracker's blocks, as its parser reads them.

use jouletree_model::{Grams, KilowattHours};

use super::Record;
use crate::{Equivalents, Factors};

/// How a block begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consumption {
    /// What was used.
    Actual,
    /// What will have been used.
    Predicted,
}

/// A block: time, energy, grams and kilometres for so many epochs.
pub fn block(
    what: Consumption,
    epochs: usize,
    seconds: f64,
    energy: KilowattHours,
    carbon: Option<Grams>,
) -> String {
    let KilowattHours(kilowatt_hours) = energy;
    let what = match what {
        Consumption::Actual => "Actual",
        Consumption::Predicted => "Predicted",
    };
    let mut text = format!(
        "CarbonTracker: \n{what} consumption for {epochs} epoch(s):\n\tTime:\t{}\n\tEnergy:\t{kilowatt_hours:.12} kWh\n",
        clock(seconds)
    );
    if let Some(carbon @ Grams(grams)) = carbon {
        let km = Equivalents::of(carbon, Factors::USUAL).car_km;
        text += &format!("\tCO2eq:\t{grams:.12} g\n\tThis is equivalent to:\n\t{km:.12} km travelled by car\n");
    }
    text
}

/// The log of a run: `<time> - ` before each block, as the program's own handler writes it.
pub fn log(record: &Record, epochs: usize) -> String {
    let impact = record.impact();
    let block =
        block(Consumption::Actual, epochs, record.seconds(), impact.energy.kilowatt_hours(), impact.carbon);
    format!("{} - {block}", super::local_time(record.end, ' '))
}

/// `h:mm:ss`.
fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
