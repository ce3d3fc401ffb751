//! How sure the numbers of a footprint are, as tables show it: the kind of their devices and what they may be off by.

use std::collections::BTreeMap;

use jouletree_account::{EnergyTree, Shares, Spreads, TefEntry};
use jouletree_model::{Device, Footprint, Interval, Joules, Kind, LEVEL, PREDICTION_LEVEL, Spread};
use jouletree_report::{Base, Whole};

use crate::cell::Cell;
use crate::colour;

/// The digits of an energy of which no interval is known.
const DIGITS: usize = 3;

/// What is known of the devices behind a footprint, and what shares are shares of.
pub struct Numbers<'a> {
    kinds: BTreeMap<&'a Device, Kind>,
    footprint: &'a Footprint,
    spreads: &'a Spreads,
    pub whole: &'a Whole,
}

impl<'a> Numbers<'a> {
    pub fn of(footprint: &'a Footprint, spreads: &'a Spreads, whole: &'a Whole) -> Numbers<'a> {
        let kinds = footprint.devices.iter().filter_map(|balance| Some((&balance.device, balance.kind?)));
        Numbers { kinds: kinds.collect(), footprint, spreads, whole }
    }

    /// The header of shares of recorded steps or of the trace.
    pub fn base(&self) -> &'static str {
        match self.whole.base {
            Base::Run => "of run",
            Base::RecordedSteps => "of steps",
            Base::Trace => "of trace",
            Base::AllSteps => "of all steps",
        }
    }

    /// An energy as a part of the run, and of recorded steps if it is inside of them.
    pub fn shares(&self, energy: Joules, is_inside: bool) -> [Cell; 2] {
        let (run, base) = (self.whole.of_run(energy), self.whole.of_base(energy));
        let inside =
            if is_inside { Cell::from(percent(base)).styled(colour::number(base)) } else { Cell::default() };
        [Cell::from(percent(run)).styled(colour::number(run)), inside]
    }

    /// An energy of all devices together.
    pub fn text(&self, energy: Joules) -> String {
        written(energy, self.whole.spread())
    }

    /// Whether it is known of any energy what it may be off by.
    pub fn have_bounds(&self) -> bool {
        self.is_predicted() || self.footprint_spreads().next().is_some()
    }

    /// The title of the column of intervals: their level.
    pub fn level(&self) -> &'static str {
        if self.is_predicted() { prediction_level() } else { "95 %" }
    }

    fn is_predicted(&self) -> bool {
        !self.footprint.intervals.is_empty()
    }

    /// An energy of a device.
    pub fn on(&self, device: &Device, energy: Joules, share: impl Into<Option<f64>>) -> Cell {
        energy_cell(written(energy, self.spreads.get(device)), share, self.kinds.get(device).copied())
    }

    /// An energy of several devices; it is no surer than the least sure of them.
    pub fn across(&self, devices: &Shares<Device>, energy: Joules, share: f64) -> Cell {
        let used = devices.iter().filter(|(_, energy)| energy.0 != 0.0);
        energy_cell(
            written(energy, self.spreads.of(devices)),
            share,
            used.filter_map(|(device, _)| self.kinds.get(device).copied()).max(),
        )
    }

    /// The interval of all that a device used.
    pub fn bounds_of_device(&self, device: &Device, energy: Joules) -> String {
        match self.footprint.predicted_interval().filter(|_| self.footprint.devices.len() == 1) {
            Some(interval) => interval.to_string(),
            None => self.bounds_on(device, energy),
        }
    }

    /// The interval of what an operation used.
    pub fn bounds_of_operation(&self, entry: &TefEntry) -> String {
        match self.footprint.interval_of(&entry.path, entry.pass, entry.energy) {
            Some(interval) => interval.to_string(),
            None => self.bounds_on(&entry.device, entry.energy),
        }
    }

    /// The interval of what a layer used.
    pub fn bounds_of_layer(&self, node: &EnergyTree) -> String {
        node.predicted.map_or_else(|| self.bounds_across(&node.devices), |interval| interval.to_string())
    }

    /// The 95 % interval of an energy of a device.
    fn bounds_on(&self, device: &Device, energy: Joules) -> String {
        let spread = self.spreads.get(device);
        self.bounds(spread, spread.map(|spread| spread.around(energy)))
    }

    /// The 95 % interval of an energy of several devices.
    fn bounds_across(&self, devices: &Shares<Device>) -> String {
        self.bounds(self.spreads.of(devices), self.spreads.interval(devices))
    }

    /// The 95 % interval of an energy of all devices together.
    pub fn bounds_of(&self, energy: Joules) -> String {
        let spread = self.whole.spread();
        self.bounds(spread, spread.map(|spread| spread.around(energy)))
    }

    /// One form for a whole column.
    fn bounds(&self, spread: Option<Spread>, interval: Option<Interval>) -> String {
        match (spread, interval) {
            (Some(spread), _) if self.footprint_spreads().all(Spread::is_even) => spread.to_string(),
            (_, Some(interval)) => interval.to_string(),
            _ => String::new(),
        }
    }

    fn footprint_spreads(&self) -> impl Iterator<Item = Spread> {
        self.kinds.keys().filter_map(|device| self.spreads.get(device))
    }
}

/// An energy with as many digits as it deserves.
pub fn written(energy: Joules, spread: Option<Spread>) -> String {
    let digits = spread.map_or(DIGITS, Spread::digits);
    format!("{energy:.digits$}")
}

/// The title of a column of intervals of predictions.
pub const fn prediction_level() -> &'static str {
    const { assert!(LEVEL == 95 && PREDICTION_LEVEL == 90) };
    "90 %"
}

/// An energy, so that its kind is seen, and its weight where it is a share of a whole.
pub fn energy_cell(text: String, share: impl Into<Option<f64>>, kind: Option<Kind>) -> Cell {
    let weight = share.into().map(colour::number).unwrap_or_default();
    Cell::from(text).styled(colour::of_kind(weight, kind))
}

/// The standard error of an energy by itself.
pub fn error_cell(error: Option<Joules>) -> Cell {
    Cell::from(error.map(|error| format!("± {error}")).unwrap_or_default()).styled(colour::quiet())
}

/// The name of a kind.
pub fn kind_cell(kind: Option<Kind>) -> Cell {
    let text = kind.map(|kind| kind.to_string()).unwrap_or_default();
    Cell::from(text).styled(colour::of_kind(Default::default(), kind))
}

/// A part of the whole; nothing is no part of nothing.
pub fn share(part: Joules, whole: Joules) -> f64 {
    if whole.0 > 0.0 { part.0 / whole.0 } else { 0.0 }
}

/// A share in percent. What is not nothing is not called so.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 { "< 0.1 %".to_owned() } else { format!("{:.1} %", 100.0 * share) }
}
