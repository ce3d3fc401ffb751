//! What a program noted about itself, with energy: its steps by what they do, its windows and its stages.

mod steps;

use std::collections::HashMap;

use jouletree_account::{EnergyIndex, Spreads};
use jouletree_model::{
    DeviceClass, Footprint, Joules, Kind, Program, ProgramSpan, SpanKind, StageEnergy, TimeRange, Timeline,
};
use jouletree_run::{MeteredSeries, Scope, accounted};
use serde::Serialize;

use crate::{StageWhole, Whole};

pub use steps::{StageSteps, StepSum};

/// A program and the energy of its process tree over time.
pub struct ProgramEnergy<'a> {
    program: &'a Program,
    energy: Vec<EnergyIndex>,
    kind: Option<Kind>,
}

/// Steps of one phase and function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseRow {
    /// What the steps do.
    pub phase: Box<str>,
    /// What distinguishes them from others of the phase; may be empty.
    pub function: Box<str>,
    /// How many there are in a process; of processes that ran one after the other, in all of them.
    pub steps: usize,
    /// How many of them had their operations recorded.
    pub recorded: usize,
    /// How many processes took such steps at the same time.
    pub processes: usize,
    /// What all of them used.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// What one of them used on average.
    #[serde(rename = "step_j")]
    pub step: Joules,
    /// How many samples they worked on, if all say.
    pub samples: Option<u64>,
    /// What one sample took on average.
    #[serde(rename = "sample_j")]
    pub sample: Option<Joules>,
    /// How long they took.
    pub seconds: f64,
    /// The kind of the energy.
    pub kind: Option<Kind>,
    /// What those used whose operations were recorded.
    #[serde(rename = "recorded_j")]
    pub recorded_energy: Joules,
    /// By how much the energy of all of them is more than that; `None` when none was recorded.
    pub factor: Option<f64>,
}

/// All windows of one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WindowRow {
    /// Its name.
    pub window: Box<str>,
    /// How many windows have this name.
    pub count: usize,
    /// What all of them used.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// What one of them used on average.
    #[serde(rename = "mean_j")]
    pub mean: Joules,
    /// How long they took.
    pub seconds: f64,
    /// The kind of the energy.
    pub kind: Option<Kind>,
}

/// A stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageRow {
    /// Its name.
    pub stage: String,
    /// What the devices used while it lasted.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// What the forward pass used.
    #[serde(rename = "forward_j")]
    pub forward: Joules,
    /// What the backward pass used.
    #[serde(rename = "backward_j")]
    pub backward: Joules,
    /// What the optimiser used.
    #[serde(rename = "optimizer_j")]
    pub optimizer: Joules,
    /// What no operation was charged with: between operations, and outside of recorded steps.
    #[serde(rename = "unattributed_j")]
    pub unattributed: Joules,
    /// What was used in recorded steps while no operation ran.
    #[serde(rename = "between_operations_j")]
    pub between_operations: Joules,
    /// What was used outside of recorded steps.
    #[serde(rename = "outside_j")]
    pub outside: Joules,
    /// The stage as a part of the run.
    pub run_share: f64,
}

impl<'a> ProgramEnergy<'a> {
    /// The program's own record, and the power that was recorded meanwhile.
    pub fn new(program: &'a Program, power: Vec<MeteredSeries>) -> ProgramEnergy<'a> {
        let power = accounted(power, Scope::Tree);
        // A meter at the plug sees what the others see, unless it is alone.
        let is_machine = |series: &MeteredSeries| series.device.class() == DeviceClass::Machine;
        let is_alone = power.iter().all(is_machine);
        let is_part = |series: &&MeteredSeries| series.is_whole() && (is_alone || !is_machine(series));
        let kind = power.iter().filter(is_part).map(|series| series.kind).max();
        let energy = power.iter().filter(is_part).map(|series| EnergyIndex::from(&series.series)).collect();
        ProgramEnergy { program, energy, kind }
    }

    /// Its steps by phase and function, in the order of their beginnings. At each instant one step counts, so that the
    /// energies of all rows sum up to that of all steps.
    pub fn phases(&self) -> Vec<PhaseRow> {
        let Some(timeline) = Timeline::of(self.program, None) else { return Vec::new() };
        let mut ranges: HashMap<(&str, &str), [Vec<TimeRange>; 2]> = HashMap::new();
        for (part, parts) in timeline.parts.iter().zip(timeline.ranges()).filter(|(part, _)| part.is_steps()) {
            let [unrecorded, recorded] = ranges.entry((&part.phase, &part.function)).or_default();
            if part.is_recorded() { recorded } else { unrecorded }.extend(parts);
        }
        let row = |(phase, function, spans): (&'a str, &'a str, Vec<&ProgramSpan>)| {
            let [unrecorded, recorded] = ranges.get(&(phase, function)).cloned().unwrap_or_default();
            let counts = Counts::of(&spans);
            let samples =
                spans.iter().map(|span| span.samples).sum::<Option<u64>>().filter(|samples| *samples > 0);
            let recorded_energy = self.within(&recorded);
            let energy = recorded_energy + self.within(&unrecorded);
            let factor = energy.0 / recorded_energy.0;
            PhaseRow {
                phase: phase.into(),
                function: function.into(),
                steps: counts.steps,
                recorded: counts.recorded,
                processes: counts.processes,
                energy,
                step: Joules(energy.0 / counts.steps.max(1) as f64),
                samples,
                sample: samples.map(|samples| Joules(energy.0 / samples as f64)),
                seconds: seconds(&recorded) + seconds(&unrecorded),
                kind: self.kind,
                recorded_energy,
                factor: (recorded_energy.0 > 0.0 && factor.is_finite()).then_some(factor),
            }
        };
        let mut groups: Vec<(&str, &str, Vec<&ProgramSpan>)> = Vec::new();
        let mut known: HashMap<(&str, &str), usize> = HashMap::new();
        let mut steps: Vec<&ProgramSpan> = self.program.steps().collect();
        steps.sort_by_key(|step| step.range.start);
        for step in steps {
            let place = *known.entry((&step.name, &step.function)).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((_, _, spans)) => spans.push(step),
                None => groups.push((&step.name, &step.function, vec![step])),
            }
        }
        groups.into_iter().map(row).collect()
    }

    /// Its windows and what was compiled, by name.
    pub fn windows(&self) -> Vec<WindowRow> {
        let row = |(window, spans): (Box<str>, Vec<&ProgramSpan>)| {
            let energy: Joules = spans.iter().map(|span| self.within(&[span.range])).sum();
            let time = spans.iter().map(|span| span.range.duration().seconds()).sum();
            let (count, mean) = (spans.len(), Joules(energy.0 / spans.len() as f64));
            WindowRow { window, count, energy, mean, seconds: time, kind: self.kind }
        };
        self.by_name(&[SpanKind::Window, SpanKind::Compilation]).into_iter().map(row).collect()
    }

    fn within(&self, ranges: &[TimeRange]) -> Joules {
        self.energy.iter().map(|index| index.within(ranges)).sum()
    }

    fn by_name(&self, kinds: &[SpanKind]) -> Vec<(Box<str>, Vec<&'a ProgramSpan>)> {
        let mut groups: Vec<(Box<str>, Vec<&ProgramSpan>)> = Vec::new();
        for span in self.program.spans.iter().filter(|span| kinds.contains(&span.kind)) {
            match groups.iter_mut().find(|(name, _)| *name == span.name) {
                Some((_, spans)) => spans.push(span),
                None => groups.push((span.name.clone(), vec![span])),
            }
        }
        groups
    }
}

/// What each stage used. They sum up to the run.
pub fn stages(footprint: &Footprint) -> Vec<StageRow> {
    let whole = Whole::of(footprint, &Spreads::default());
    let row = |(stage, balances): (&StageWhole, &StageEnergy)| StageRow {
        stage: if stage.name.is_empty() { "(before the first)".to_owned() } else { stage.name.clone() },
        energy: stage.energy,
        forward: stage.passes[0],
        backward: stage.passes[1],
        optimizer: stage.passes[2],
        unattributed: unattributed(balances),
        between_operations: stage.between,
        outside: stage.outside,
        run_share: whole.of_run(stage.energy),
    };
    whole.stages.iter().zip(&footprint.stages).map(row).collect()
}

/// What no operation was charged with; a meter at the plug sees what the others see.
fn unattributed(stage: &StageEnergy) -> Joules {
    let parts = stage.devices.iter().filter(|device| device.device.class() != DeviceClass::Machine);
    parts.map(|device| device.unattributed).sum()
}

/// How many steps of one phase and function there are.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    steps: usize,
    recorded: usize,
    processes: usize,
}

impl Counts {
    /// The ranks of a job take the same steps at the same time: they are counted in the process that took most. Processes
    /// that follow each other take steps of their own.
    fn of(spans: &[&ProgramSpan]) -> Counts {
        let mut processes: HashMap<usize, (TimeRange, usize, usize)> = HashMap::new();
        for span in spans {
            let process = processes.entry(span.process).or_insert((span.range, 0, 0));
            process.0 = process.0.union(span.range);
            process.1 += 1;
            process.2 += usize::from(span.is_recorded);
        }
        let mut processes: Vec<(TimeRange, usize, usize)> = processes.into_values().collect();
        processes.sort_unstable_by_key(|(range, steps, recorded)| (range.start, range.end, *steps, *recorded));
        let mut counts = Counts::default();
        let mut rest = processes.as_slice();
        while let Some((first, _)) = rest.split_first() {
            let mut end = first.0.end;
            let together = rest.iter().take_while(|(range, ..)| {
                let overlaps = range.start < end || range.start == first.0.start;
                end = if overlaps { end.max(range.end) } else { end };
                overlaps
            });
            let (now, later) = rest.split_at(together.count().max(1));
            let most = now.iter().max_by_key(|(_, steps, recorded)| (*steps, *recorded));
            counts.steps += most.map_or(0, |(_, steps, _)| *steps);
            counts.recorded += most.map_or(0, |(_, _, recorded)| *recorded);
            counts.processes = counts.processes.max(now.len());
            rest = later;
        }
        counts
    }
}

fn seconds(ranges: &[TimeRange]) -> f64 {
    ranges.iter().map(|range| range.duration().seconds()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{Nanos, Step};

    fn step(process: usize, start: i64, is_recorded: bool) -> ProgramSpan {
        ProgramSpan {
            kind: SpanKind::Step,
            name: "train".into(),
            process,
            range: TimeRange { start: Nanos(start), end: Nanos(start + 8) },
            step: Step::NONE,
            is_recorded,
            samples: None,
            function: "".into(),
        }
    }

    #[test]
    fn steps_are_counted_in_each_of_the_processes_that_run_together() {
        let of = |spans: &[ProgramSpan]| Counts::of(&spans.iter().collect::<Vec<_>>());
        let counts = |steps, recorded, processes| Counts { steps, recorded, processes };
        let ranks: Vec<ProgramSpan> =
            (0..30).flat_map(|at| [0, 1].map(|rank| step(rank, 10 * at, at < 20))).collect();
        assert_eq!(of(&ranks), counts(30, 20, 2));
        let after: Vec<ProgramSpan> = (0..30).map(|at| step(at as usize / 10, 10 * at, at % 10 == 0)).collect();
        assert_eq!(of(&after), counts(30, 3, 1));
        let uneven = [step(0, 0, true), step(1, 4, true), step(1, 30, false), step(2, 35, true)];
        assert_eq!(of(&uneven), counts(2, 1, 3), "one that overlaps another runs together with it");
        assert_eq!(of(&[]), counts(0, 0, 0));
    }
}
