//! Sums: what devices and stages used.

use jouletree_model::{Device, DeviceClass, Footprint, Interval, Joules, Kind, Nanos, Spread};
use jouletree_run::{Balance, Manifest, Recording};

use super::spread::deviation;
use crate::whole::used;
use crate::{Slice, StageWhole, Whole};

/// What one device used, or all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceTotal {
    /// The device; `None` for all of them together.
    pub device: Option<Device>,
    /// How far from a meter the energy is; of several, the farthest.
    pub kind: Option<Kind>,
    /// What the program used of it, where that is known, and otherwise what was measured.
    pub energy: Joules,
    /// By what that energy may be off, where it is known.
    pub spread: Option<Spread>,
    /// The standard deviation over the runs; `None` when there is one run.
    pub deviation: Option<Joules>,
    /// How long it was metered.
    pub time: Nanos,
    /// What operations were charged with.
    pub attributed: Joules,
    /// What was used while operations were recorded and none ran.
    pub idle: Joules,
    /// What was used while no operations were recorded.
    pub unrecorded: Joules,
    /// What recording itself used of it; in none of the other figures.
    pub monitor: Option<Joules>,
}

/// What one stage used: all of it, by pass and beside operations.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTotal {
    /// Its name; empty when the program named no stages, which makes it the run.
    pub name: String,
    /// What each pass used, in the order of [`Pass::ALL`], with the standard deviation over the runs.
    pub passes: [(Joules, Option<Joules>); 3],
    /// What was used in recorded steps while no operation ran.
    pub between: Joules,
    /// What was used outside of recorded steps.
    pub outside: Joules,
    /// The standard deviation of the whole stage.
    pub deviation: Option<Joules>,
}

impl StageTotal {
    /// All that was used during the stage.
    pub fn energy(&self) -> Joules {
        self.passes.iter().map(|(energy, _)| *energy).sum::<Joules>() + self.between + self.outside
    }
}

impl DeviceTotal {
    /// All devices together.
    pub(super) fn sum(devices: &[DeviceTotal]) -> DeviceTotal {
        let is_machine = |total: &&DeviceTotal| {
            total.device.as_ref().is_some_and(|device| device.class() == DeviceClass::Machine)
        };
        let mut parts: Vec<&DeviceTotal> = devices.iter().filter(|total| !is_machine(total)).collect();
        if parts.is_empty() {
            parts = devices.iter().collect();
        }
        let sum = |of: fn(&DeviceTotal) -> Joules| parts.iter().map(|part| of(part)).sum::<Joules>();
        let energy = sum(|part| part.energy);
        // Errors of several devices are taken to go together, as those of one model do.
        let bound = |of: fn(Interval) -> Joules| -> Option<Joules> {
            let bounds = parts.iter().map(|part| Some(of(part.spread?.around(part.energy)).0));
            bounds.sum::<Option<f64>>().map(Joules)
        };
        let interval = bound(|interval| interval.low).zip(bound(|interval| interval.high));
        let squares = parts.iter().map(|part| Some(part.deviation?.0.powi(2))).sum::<Option<f64>>();
        let monitor: Vec<Joules> = parts.iter().filter_map(|part| part.monitor).collect();
        DeviceTotal {
            device: None,
            kind: parts.iter().filter_map(|part| part.kind).max(),
            energy,
            spread: interval.and_then(|(low, high)| Spread::of(energy, Interval { low, high })),
            deviation: squares.filter(|_| !parts.is_empty()).map(|squares| Joules(squares.sqrt())),
            time: parts.iter().map(|part| part.time).max().unwrap_or_default(),
            attributed: sum(|part| part.attributed),
            idle: sum(|part| part.idle),
            unrecorded: sum(|part| part.unrecorded),
            monitor: (!monitor.is_empty()).then(|| monitor.into_iter().sum()),
        }
    }
}

/// What each device used, as a mean over runs.
pub(super) fn devices<'a>(runs: impl Iterator<Item = (&'a Manifest, &'a Footprint)>) -> Vec<DeviceTotal> {
    let runs: Vec<Vec<DeviceTotal>> = runs.map(|(manifest, footprint)| of_run(manifest, footprint)).collect();
    let mut names: Vec<&Device> = runs.iter().flatten().filter_map(|total| total.device.as_ref()).collect();
    names.sort_unstable();
    names.dedup();
    let mean = |device: &Device| -> Option<DeviceTotal> {
        let known: Vec<&DeviceTotal> =
            runs.iter().filter_map(|run| run.iter().find(|total| total.device.as_ref() == Some(device))).collect();
        let (first, count) = (*known.first()?, known.len() as f64);
        let mean = |of: fn(&DeviceTotal) -> f64| known.iter().map(|total| of(total)).sum::<f64>() / count;
        let energies: Vec<f64> = known.iter().map(|total| total.energy.0).collect();
        Some(DeviceTotal {
            energy: Joules(mean(|total| total.energy.0)),
            deviation: (known.len() > 1).then(|| Joules(deviation(&energies))),
            time: Nanos(mean(|total| total.time.0 as f64).round() as i64),
            attributed: Joules(mean(|total| total.attributed.0)),
            idle: Joules(mean(|total| total.idle.0)),
            unrecorded: Joules(mean(|total| total.unrecorded.0)),
            monitor: first.monitor.map(|_| Joules(mean(|total| total.monitor.unwrap_or(Joules::ZERO).0))),
            kind: known.iter().filter_map(|total| total.kind).max(),
            ..first.clone()
        })
    };
    names.into_iter().filter_map(mean).collect()
}

fn of_run(manifest: &Manifest, footprint: &Footprint) -> Vec<DeviceTotal> {
    let recording = manifest.recording.as_ref();
    let balance = |device: &Device| whole(recording).find(|balance| balance.device == *device);
    let mut totals: Vec<DeviceTotal> = Vec::new();
    for known in &footprint.devices {
        let Some(measured) = known.total else { continue };
        let balance = balance(&known.device);
        totals.push(DeviceTotal {
            device: Some(known.device.clone()),
            kind: known.kind,
            energy: measured,
            spread: balance.and_then(Balance::spread),
            deviation: None,
            time: known.metered,
            attributed: known.attributed,
            idle: Joules((known.unattributed - known.outside_trace).0.max(0.0)),
            unrecorded: known.outside_trace,
            monitor: balance.and_then(|balance| balance.parts).map(|parts| parts.own),
        });
    }
    // What was metered and not accounted.
    let Some(recording) = recording else { return totals };
    for balance in whole(Some(recording)).filter(|balance| balance.coverage > 0.0) {
        if totals.iter().any(|total| total.device.as_ref() == Some(&balance.device)) {
            continue;
        }
        let energy = used(recording, balance);
        let duration = recording.duration_ns;
        totals.push(DeviceTotal {
            device: Some(balance.device.clone()),
            kind: Some(balance.kind),
            energy,
            spread: balance.spread(),
            deviation: None,
            time: Nanos((duration as f64 * balance.coverage).round() as i64),
            attributed: Joules::ZERO,
            idle: Joules::ZERO,
            unrecorded: energy,
            monitor: balance.parts.map(|parts| parts.own),
        });
    }
    totals
}

fn whole(recording: Option<&Recording>) -> impl Iterator<Item = &Balance> {
    recording.into_iter().flat_map(|recording| &recording.balance).filter(|balance| balance.domain.is_none())
}

/// What each stage used, as a mean over runs; they sum up to the run. One without a name where the program named none, unless no operation is known.
pub(super) fn stages(runs: &[Whole]) -> Vec<StageTotal> {
    let of_run = |run: &Whole| -> Vec<StageWhole> {
        if !run.stages.is_empty() {
            return run.stages.clone();
        }
        if run.at(Slice::Operations).energy.0 <= 0.0 {
            return Vec::new();
        }
        let between = run.at(Slice::BetweenOperations).energy;
        let outside = run.energy - run.recorded();
        vec![StageWhole { name: String::new(), energy: run.energy, passes: run.passes, between, outside }]
    };
    let runs: Vec<Vec<StageWhole>> = runs.iter().map(of_run).collect();
    let mut names: Vec<&String> = Vec::new();
    for stage in runs.iter().flatten() {
        if !names.contains(&&stage.name) {
            names.push(&stage.name);
        }
    }
    let total = |name: &String| {
        // A run without the stage used nothing in it.
        let values = |of: &dyn Fn(&StageWhole) -> Joules| -> Vec<f64> {
            let of_run =
                |run: &Vec<StageWhole>| run.iter().filter(|stage| stage.name == *name).map(of).sum::<Joules>().0;
            runs.iter().map(of_run).collect()
        };
        let mean = |of: &dyn Fn(&StageWhole) -> Joules| {
            let values = values(of);
            Joules(values.iter().sum::<f64>() / values.len().max(1) as f64)
        };
        let spread = |of: &dyn Fn(&StageWhole) -> Joules| {
            let values = values(of);
            (values.len() > 1).then(|| Joules(deviation(&values)))
        };
        let pass = |index: usize| {
            let of = move |stage: &StageWhole| stage.passes[index];
            (mean(&of), spread(&of))
        };
        StageTotal {
            name: name.clone(),
            passes: [pass(0), pass(1), pass(2)],
            between: mean(&|stage| stage.between),
            outside: mean(&|stage| stage.outside),
            deviation: spread(&|stage| stage.energy),
        }
    };
    let used = |stage: &StageTotal| stage.energy().0 > 0.0;
    names.into_iter().map(total).filter(used).collect()
}
