//! The energy of a run as parts that make the whole: operations, the rest of recorded steps, steps that were not recorded,
//! compilation, recording, and the time around steps.

use jouletree_model::{DeviceClass, DeviceEnergy, Footprint, Joules, Kind, PartBalance, PartEnergy, PartKind};
use serde::Serialize;

/// A part of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartRow {
    /// What it is.
    pub part: &'static str,
    /// What its steps do; `None` when it is not made of steps.
    pub phase: Option<Box<str>>,
    /// The function of its steps; `None` when it is not made of steps, or they have none.
    pub function: Option<Box<str>>,
    /// What it used.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// What operations were charged with of it.
    #[serde(rename = "operations_j")]
    pub operations: Joules,
    /// Its share of the energy of all parts.
    pub share: f64,
    /// How long it lasted; `None` for operations and the time between them, which is what recorded steps are made of.
    pub seconds: Option<f64>,
    /// How far from a meter the energy is.
    pub kind: Option<Kind>,
}

/// Operations of recorded steps.
pub const OPERATIONS: &str = "operations";
/// What no operation was charged with in recorded steps.
pub const BETWEEN_OPERATIONS: &str = "between_operations";

/// The parts of a run; none when its program has no steps.
pub fn parts(footprint: &Footprint) -> Vec<PartRow> {
    let is_machine = |balance: &&DeviceEnergy| balance.device.class() == DeviceClass::Machine;
    let kinds = |machines: bool| {
        let devices = footprint.devices.iter().filter(move |balance| is_machine(balance) == machines);
        devices.filter_map(|balance| balance.kind).max()
    };
    let kind = kinds(false).or_else(|| kinds(true));
    let whole: Joules = footprint.parts.iter().map(|part| footprint.of_part(part).energy).sum();
    let row = |part: &PartEnergy, name, energy: Joules, operations: Joules, seconds| PartRow {
        part: name,
        phase: part.part.is_steps().then(|| part.part.phase.clone()),
        function: Some(part.part.function.clone()).filter(|function| !function.is_empty()),
        energy,
        operations,
        share: if whole.0 > 0.0 { energy.0 / whole.0 } else { 0.0 },
        seconds,
        kind,
    };
    let mut ordered: Vec<&PartEnergy> = footprint.parts.iter().collect();
    ordered.sort_by_key(|part| part.part.kind);
    let (mut inside, mut between, mut outside) = (Vec::new(), Vec::new(), Vec::new());
    for part in ordered {
        let PartBalance { energy, operations } = footprint.of_part(part);
        if part.part.is_recorded() {
            // Sums of many charges differ from the energy of the part in their last digits.
            let rest = Joules((energy - operations).0.max(0.0));
            inside.push(row(part, OPERATIONS, operations, operations, None));
            between.push(row(part, BETWEEN_OPERATIONS, rest, Joules::ZERO, None));
        } else {
            outside.push(row(part, part.part.kind.as_str(), energy, operations, Some(part.time.seconds())));
        }
    }
    [inside, between, outside].concat()
}

impl PartRow {
    /// What it is, for people.
    pub fn name(&self) -> String {
        let is = |kind: PartKind| self.part == kind.as_str();
        let name = match self.part {
            OPERATIONS if self.phase.is_none() => "operations",
            OPERATIONS => "operations of recorded steps",
            BETWEEN_OPERATIONS if self.phase.is_none() => "between operations",
            BETWEEN_OPERATIONS => "between operations in recorded steps",
            _ if is(PartKind::UnrecordedSteps) => {
                return format!("{} steps that were not recorded", self.phase.as_deref().unwrap_or_default());
            }
            _ if is(PartKind::Compilation) => "compilation",
            _ if is(PartKind::Recording) => "recording operations",
            _ if is(PartKind::BeforeSteps) => "before the first step",
            _ if is(PartKind::BetweenSteps) => "between steps",
            _ if is(PartKind::AfterSteps) => "after the last step",
            _ => "the rest of the program",
        };
        name.to_owned()
    }
}

/// The same with those of one name summed.
pub fn parts_by_name(rows: &[PartRow]) -> Vec<(String, PartRow)> {
    let mut sums: Vec<(String, PartRow)> = Vec::new();
    for row in rows {
        let name = row.name();
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => {
                sum.energy += row.energy;
                sum.operations += row.operations;
                sum.share += row.share;
                sum.seconds = sum.seconds.zip(row.seconds).map(|(one, other)| one + other);
            }
            None => sums.push((name, row.clone())),
        }
    }
    sums
}
