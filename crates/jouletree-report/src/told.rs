//! What a program told about itself, with energy: its steps by what they do, its windows and its stages.

use jouletree_account::EnergyIndex;
use jouletree_model::{
    DeviceClass, DeviceEnergy, Footprint, Joules, Kind, Pass, Program, ProgramSpan, SpanKind, TimeRange,
};
use jouletree_run::{EnergyOf, MeteredSeries, accounted};
use serde::Serialize;

/// A program and the energy of its process tree over time.
pub struct Told<'a> {
    program: &'a Program,
    energy: Vec<EnergyIndex>,
    kind: Option<Kind>,
}

/// Steps that do the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseRow {
    /// What the steps do.
    pub phase: Box<str>,
    /// How many there are.
    pub steps: usize,
    /// How many of them had their operations recorded.
    pub recorded: usize,
    /// What all of them used.
    pub energy_j: f64,
    /// What one of them used on average.
    pub step_j: f64,
    /// How many samples they worked on, if all say.
    pub samples: Option<u64>,
    /// What one sample took on average.
    pub sample_j: Option<f64>,
    /// How long they took.
    pub seconds: f64,
    /// How far from a meter the energy stands.
    pub kind: Option<Kind>,
}

/// All windows of one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WindowRow {
    /// Its name.
    pub window: Box<str>,
    /// How many windows have this name.
    pub count: usize,
    /// What all of them used.
    pub energy_j: f64,
    /// What one of them used on average.
    pub mean_j: f64,
    /// How long they took.
    pub seconds: f64,
    /// How far from a meter the energy stands.
    pub kind: Option<Kind>,
}

/// A stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageRow {
    /// Its name.
    pub stage: String,
    /// What the devices used while it lasted.
    pub energy_j: f64,
    /// What the forward pass used.
    pub forward_j: f64,
    /// What the backward pass used.
    pub backward_j: f64,
    /// What the optimiser used.
    pub optimizer_j: f64,
    /// What no operation was charged with.
    pub unattributed_j: f64,
}

/// How much of what steps used was used by those whose operations were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scale {
    /// How many steps there were.
    pub steps: usize,
    /// How many of them were recorded.
    pub recorded: usize,
    /// By how much the energy of all steps is more.
    pub factor: f64,
}

impl<'a> Told<'a> {
    /// What a program told, and the power that was recorded meanwhile.
    pub fn new(program: &'a Program, power: Vec<MeteredSeries>) -> Told<'a> {
        let power = accounted(power, EnergyOf::Tree);
        // A meter at the plug sees what the others see.
        let is_part =
            |series: &&MeteredSeries| series.domain.is_none() && series.device.class() != DeviceClass::Machine;
        let kind = power.iter().filter(is_part).map(|series| series.kind).max();
        let energy = power.iter().filter(is_part).map(|series| EnergyIndex::from(&series.series)).collect();
        Told { program, energy, kind }
    }

    /// Its steps by what they do, in the order of their beginnings.
    pub fn phases(&self) -> Vec<PhaseRow> {
        let row = |(phase, spans): (Box<str>, Vec<&ProgramSpan>)| {
            let ranges = united(&spans);
            // Every rank of a job takes the same steps.
            let ranks = spans.chunk_by(|a, b| a.process == b.process);
            let rank = ranks.max_by_key(|rank| rank.len()).unwrap_or_default();
            let steps = rank.len();
            let samples =
                spans.iter().map(|span| span.samples).sum::<Option<u64>>().filter(|samples| *samples > 0);
            let energy = self.within(&ranges);
            PhaseRow {
                phase,
                steps,
                recorded: rank.iter().filter(|span| span.is_recorded).count(),
                energy_j: energy.0,
                step_j: energy.0 / steps.max(1) as f64,
                samples,
                sample_j: samples.map(|samples| energy.0 / samples as f64),
                seconds: seconds(&ranges),
                kind: self.kind,
            }
        };
        self.by_name(SpanKind::Step).into_iter().map(row).collect()
    }

    /// Its windows by name.
    pub fn windows(&self) -> Vec<WindowRow> {
        let row = |(window, spans): (Box<str>, Vec<&ProgramSpan>)| {
            let energy: Joules = spans.iter().map(|span| self.within(&[span.range])).sum();
            let time = spans.iter().map(|span| span.range.duration().seconds()).sum();
            let (count, mean_j) = (spans.len(), energy.0 / spans.len() as f64);
            WindowRow { window, count, energy_j: energy.0, mean_j, seconds: time, kind: self.kind }
        };
        self.by_name(SpanKind::Window).into_iter().map(row).collect()
    }

    /// How the steps that were recorded relate to all; `None` when all of them were, or none.
    pub fn scale(&self) -> Option<Scale> {
        let steps = self.program.steps().count();
        let recorded = self.program.steps().filter(|step| step.is_recorded).count();
        let (all, part) = (self.within(&self.program.stepped()), self.within(&self.program.recorded()));
        let factor = all.0 / part.0;
        (recorded > 0 && recorded < steps && factor.is_finite()).then_some(Scale { steps, recorded, factor })
    }

    fn within(&self, ranges: &[TimeRange]) -> Joules {
        self.energy.iter().map(|index| index.within(ranges)).sum()
    }

    fn by_name(&self, kind: SpanKind) -> Vec<(Box<str>, Vec<&'a ProgramSpan>)> {
        let mut groups: Vec<(Box<str>, Vec<&ProgramSpan>)> = Vec::new();
        for span in self.program.spans.iter().filter(|span| span.kind == kind) {
            match groups.iter_mut().find(|(name, _)| *name == span.name) {
                Some((_, spans)) => spans.push(span),
                None => groups.push((span.name.clone(), vec![span])),
            }
        }
        groups
    }
}

/// What each stage used.
pub fn stages(footprint: &Footprint) -> Vec<StageRow> {
    let row = |(number, stage): (usize, &jouletree_model::StageEnergy)| {
        let pass = |pass: Pass| -> f64 {
            let charged = footprint.energies.iter().filter(|charged| charged.stage == number);
            let charged =
                charged.filter(|charged| footprint.ops.get(charged.op).is_some_and(|op| op.pass == pass));
            charged.map(|charged| charged.energy.0).sum()
        };
        let sum = |of: fn(&DeviceEnergy) -> Joules| -> f64 {
            let parts = stage.devices.iter().filter(|device| device.device.class() != DeviceClass::Machine);
            parts.map(|device| of(device).0).sum()
        };
        StageRow {
            stage: if stage.name.is_empty() { "(before the first)".to_owned() } else { stage.name.to_string() },
            energy_j: sum(|device| device.measured.unwrap_or(Joules::ZERO)),
            forward_j: pass(Pass::Forward),
            backward_j: pass(Pass::Backward),
            optimizer_j: pass(Pass::Optimizer),
            unattributed_j: sum(|device| device.unattributed),
        }
    };
    footprint.stages.iter().enumerate().map(row).collect()
}

fn united(spans: &[&ProgramSpan]) -> Vec<TimeRange> {
    jouletree_model::united(spans.iter().map(|span| span.range))
}

fn seconds(ranges: &[TimeRange]) -> f64 {
    ranges.iter().map(|range| range.duration().seconds()).sum()
}
