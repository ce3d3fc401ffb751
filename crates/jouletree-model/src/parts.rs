//! What the parts of a program's time used, what operations used in each, and how recorded steps relate to all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{DeviceClass, DeviceEnergy, Footprint, Joules, Nanos, OpEnergy, OpId, Part, standard_error_of_same};

/// What a part of the program's time used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartEnergy {
    /// The part.
    #[serde(flatten)]
    pub part: Part,
    /// How long it lasted while any power is known.
    pub time: Nanos,
    /// What each device used, in the order of [`Footprint::devices`].
    pub devices: Vec<PartBalance>,
}

/// What one device used in a part of the program's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PartBalance {
    /// What it used.
    pub energy: Joules,
    /// What operations were charged with of it.
    pub operations: Joules,
}

/// What one operation used in one part of the program's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartCharge {
    /// The index of the part in [`Footprint::parts`].
    pub part: usize,
    /// What it used.
    pub charged: OpEnergy,
}

/// Steps of one phase and function: those that were recorded, and all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct StepGroup {
    /// What the steps do.
    pub phase: Box<str>,
    /// What distinguishes them from others of the phase; may be empty.
    pub function: Box<str>,
    /// What all of them used.
    pub energy: Joules,
    /// What those used whose operations were recorded.
    pub recorded: Joules,
}

/// What an operation used, before times and counts are rounded.
#[derive(Default)]
struct Sum {
    energy: Joules,
    error: Option<Joules>,
    busy: f64,
    count: f64,
}

impl StepGroup {
    /// By how much the energy of all steps is more than that of recorded ones; `None` when none was recorded.
    pub fn factor(&self) -> Option<f64> {
        let factor = self.energy.0 / self.recorded.0;
        (self.recorded.0 > 0.0 && factor.is_finite()).then_some(factor)
    }
}

impl Footprint {
    /// What a part used on all devices. A meter at the plug sees what the others see and is left out, unless it is alone.
    pub fn of_part(&self, part: &PartEnergy) -> PartBalance {
        let is_machine = |balance: &DeviceEnergy| balance.device.class() == DeviceClass::Machine;
        let is_alone = self.devices.iter().filter(|balance| balance.total.is_some()).all(is_machine);
        let devices = self.devices.iter().zip(&part.devices);
        let counted = devices.filter(|(balance, _)| is_alone || !is_machine(balance));
        counted.fold(PartBalance::default(), |sum, (_, more)| PartBalance {
            energy: sum.energy + more.energy,
            operations: sum.operations + more.operations,
        })
    }

    /// Its steps by phase and function, in the order in which they began.
    pub fn step_groups(&self) -> Vec<StepGroup> {
        let mut groups: Vec<StepGroup> = Vec::new();
        for part in self.parts.iter().filter(|part| part.part.is_steps()) {
            let energy = self.of_part(part).energy;
            let recorded = if part.part.is_recorded() { energy } else { Joules::ZERO };
            let (phase, function) = (&part.part.phase, &part.part.function);
            match groups.iter_mut().find(|group| group.phase == *phase && group.function == *function) {
                Some(group) => {
                    group.energy += energy;
                    group.recorded += recorded;
                }
                None => {
                    groups.push(StepGroup { phase: phase.clone(), function: function.clone(), energy, recorded })
                }
            }
        }
        groups
    }

    /// The same for all steps, as an estimate: what an operation used in the recorded steps of a phase and function is
    /// multiplied by [`StepGroup::factor`]. Steps of which none was recorded are left out.
    pub fn of_all_steps(&self) -> Footprint {
        let groups = self.step_groups();
        let factor = |part: &Part| {
            let is_of = |group: &&StepGroup| group.phase == part.phase && group.function == part.function;
            let group = groups.iter().filter(|_| part.is_steps()).find(is_of);
            group.and_then(StepGroup::factor).unwrap_or(1.0)
        };
        let factors: Vec<Option<f64>> =
            self.parts.iter().map(|part| part.part.is_recorded().then(|| factor(&part.part))).collect();
        let mut sums: BTreeMap<(usize, OpId, usize), Sum> = BTreeMap::new();
        for PartCharge { part, charged } in &self.charges {
            let Some(factor) = factors.get(*part).copied().flatten() else { continue };
            let sum = sums.entry((charged.device, charged.op, charged.stage)).or_default();
            let scaled = |joules: Joules| Joules(joules.0 * factor);
            let more = (scaled(charged.energy), charged.standard_error.map(scaled));
            sum.error = standard_error_of_same((sum.energy, sum.error), more);
            sum.energy += more.0;
            sum.busy += charged.busy.0 as f64 * factor;
            sum.count += charged.count as f64 * factor;
        }
        let charged = |((device, op, stage), sum): ((usize, OpId, usize), Sum)| {
            let (busy, count) = (Nanos(sum.busy.round() as i64), sum.count.round() as u64);
            OpEnergy { device, op, stage, energy: sum.energy, busy, count, standard_error: sum.error }
        };
        Footprint { energies: sums.into_iter().map(charged).collect(), ..self.clone() }
    }

    /// What operations used outside of recorded steps, as a footprint of its own.
    pub fn outside_steps(&self) -> Footprint {
        let is_outside = |part: usize| self.parts.get(part).is_some_and(|part| !part.part.is_recorded());
        let mut sums: BTreeMap<(usize, OpId), OpEnergy> = BTreeMap::new();
        for PartCharge { charged, .. } in self.charges.iter().filter(|charge| is_outside(charge.part)) {
            let (energy, busy, count, standard_error) = (Joules::ZERO, Nanos(0), 0, None);
            let none = OpEnergy { stage: 0, energy, busy, count, standard_error, ..*charged };
            sums.entry((charged.device, charged.op)).or_insert(none).add(charged);
        }
        let energies = sums.into_values().collect();
        let (stages, steps, parts, charges) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Footprint { energies, stages, steps, parts, charges, ..self.clone() }
    }
}
