//! Means over runs, and how far the runs lie apart.

use std::collections::HashMap;

use jouletree_account::{Tef, TefEntry, t2e};
use jouletree_model::{Device, Joules, Nanos, Pass, Watts};

use crate::PowerFloor;

/// One of the largest operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The operation, with means over the runs.
    pub entry: TefEntry,
    /// The standard deviation of its energy over the runs; `None` when there is one run.
    pub energy_deviation: Option<Joules>,
    /// The standard deviation of its power over the runs; `None` when there is one run.
    pub power_deviation: Option<Watts>,
}

/// What an operation is known by in every run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    path: Box<str>,
    op_type: Box<str>,
    mark: Option<Box<str>>,
    pass: Pass,
    device: Device,
}

impl From<&TefEntry> for Key {
    fn from(entry: &TefEntry) -> Key {
        let (path, op_type, device) = (entry.path.clone(), entry.op_type.clone(), entry.device.clone());
        Key { path, op_type, mark: entry.mark.clone(), pass: entry.pass, device }
    }
}

/// The standard deviations of layers and operations over runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Spread {
    layers: HashMap<String, f64>,
    operations: HashMap<Key, f64>,
}

impl Spread {
    pub fn of(runs: &[Tef]) -> Spread {
        if runs.len() < 2 {
            return Spread::default();
        }
        let mut layers: HashMap<String, Vec<f64>> = HashMap::new();
        let mut operations: HashMap<Key, Vec<f64>> = HashMap::new();
        for (number, tef) in runs.iter().enumerate() {
            let mut note = |path: &str, energy: Joules| {
                layers.entry(path.to_owned()).or_insert_with(|| vec![0.0; runs.len()])[number] = energy.0;
            };
            let root = t2e(tef, &[]);
            let mut waiting = vec![&root];
            while let Some(node) = waiting.pop() {
                note(&node.path, node.energy);
                waiting.extend(&node.children);
            }
            for (key, sum) in sums(tef) {
                operations.entry(key).or_insert_with(|| vec![0.0; runs.len()])[number] = sum.energy.0;
            }
        }
        Spread {
            layers: layers.into_iter().map(|(path, values)| (path, deviation(&values))).collect(),
            operations: operations.into_iter().map(|(key, values)| (key, deviation(&values))).collect(),
        }
    }

    pub fn of_layer(&self, path: &str) -> Option<Joules> {
        self.layers.get(path).copied().map(Joules)
    }

    /// The same with devices under other names.
    pub fn on(self, name: &dyn Fn(&Device) -> Device) -> Spread {
        let renamed = |(key, deviation): (Key, f64)| (Key { device: name(&key.device), ..key }, deviation);
        Spread { operations: self.operations.into_iter().map(renamed).collect(), ..self }
    }

    pub fn of_operation(&self, entry: &TefEntry) -> Option<Joules> {
        self.operations.get(&Key::from(entry)).copied().map(Joules)
    }
}

/// The mean of several footprints; an operation that a run does not have used nothing there.
pub(super) fn mean(runs: &[Tef]) -> Tef {
    if let [only] = runs {
        return only.clone();
    }
    let count = runs.len().max(1) as f64;
    let mut all: HashMap<Key, TefEntry> = HashMap::new();
    for entry in runs.iter().flat_map(Tef::entries) {
        add(&mut all, entry);
    }
    let share = |entry: TefEntry| TefEntry {
        energy: Joules(entry.energy.0 / count),
        busy: Nanos((entry.busy.0 as f64 / count).round() as i64),
        count: (entry.count as f64 / count).round() as u64,
        standard_error: entry.standard_error.map(|error| Joules(error.0 / count)),
        errors: entry.errors.map(|errors| Box::new(errors.scaled(1.0 / count))),
        ..entry
    };
    Tef::new(all.into_values().map(share).collect())
}

/// The operations with most energy, and of those whose power means something those with most power, of footprints whose blocks
/// are folded.
pub(super) fn tops(runs: &[Tef], most: usize, floor: &PowerFloor) -> (Vec<Ranked>, Vec<Ranked>) {
    let mean = mean(runs);
    let each: Vec<HashMap<Key, TefEntry>> = runs.iter().map(sums).collect();
    let ranked = |entry: &TefEntry| {
        let key = Key::from(entry);
        let of_runs = |value: &dyn Fn(&TefEntry) -> f64| -> Option<f64> {
            let values: Vec<f64> = each.iter().map(|run| run.get(&key).map_or(0.0, value)).collect();
            (values.len() > 1).then(|| deviation(&values))
        };
        Ranked {
            entry: entry.clone(),
            energy_deviation: of_runs(&|entry| entry.energy.0).map(Joules),
            power_deviation: of_runs(&|entry| entry.power().map_or(0.0, |power| power.0)).map(Watts),
        }
    };
    let used = |entry: &&TefEntry| entry.energy.0 > 0.0;
    let by_energy = mean.entries().iter().filter(used).take(most).map(ranked).collect();
    let by_power = floor.ranked(&mean).into_iter().take(most).map(ranked).collect();
    (by_energy, by_power)
}

/// The operations of a run by what they are known by.
fn sums(tef: &Tef) -> HashMap<Key, TefEntry> {
    let mut sums = HashMap::new();
    tef.entries().iter().for_each(|entry| add(&mut sums, entry));
    sums
}

fn add(sums: &mut HashMap<Key, TefEntry>, entry: &TefEntry) {
    let known = sums.entry(Key::from(entry));
    known
        .and_modify(|sum| {
            sum.add_error(entry);
            sum.energy += entry.energy;
            sum.busy += entry.busy;
            sum.count = sum.count.saturating_add(entry.count);
            sum.approximate |= entry.approximate;
        })
        .or_insert_with(|| entry.clone());
}

/// The standard deviation of a sample.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::DeviceClass;

    fn entry(path: &str, energy: f64) -> TefEntry {
        TefEntry {
            path: path.into(),
            op_type: "MatMul".into(),
            name: path.into(),
            mark: None,
            pass: Pass::Forward,
            approximate: false,
            device: Device::new(DeviceClass::Cpu, 0),
            energy: Joules(energy),
            busy: Nanos(1_000_000_000),
            count: 2,
            standard_error: None,
            errors: None,
        }
    }

    #[test]
    fn runs_have_a_mean_and_lie_apart() {
        let runs = [Tef::new(vec![entry("a/x", 1.0), entry("a/y", 4.0)]), Tef::new(vec![entry("a/x", 3.0)])];
        let tef = mean(&runs);
        let energies: Vec<(&str, f64)> =
            tef.entries().iter().map(|entry| (&*entry.path, entry.energy.0)).collect();
        assert_eq!(energies, [("a/x", 2.0), ("a/y", 2.0)]);
        let spread = Spread::of(&runs);
        let known = spread.of_operation(&entry("a/x", 0.0)).unwrap();
        assert!((known.0 - 2.0_f64.sqrt()).abs() < 1e-12);
        // 5 and 3 joules.
        assert!((spread.of_layer("a").unwrap().0 - 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Spread::of(&runs[..1]).of_layer("a"), None);
        let (top, _) = tops(&runs, 1, &PowerFloor::default());
        assert_eq!((top.len(), top[0].energy_deviation.is_some()), (1, true));
    }
}
