//! What the page's script works on, as JSON: columns rather than rows, names and paths once.
//!
//! Numbers are written in full, so that what the page shows is what `jouletree show --format json` says.

mod layers;
mod operations;
mod time;

use std::collections::HashMap;

use jouletree_account::EnergyTree;
use jouletree_model::Kind;
use serde::Serialize;

use crate::facts::{Fact, answer, facts};
use crate::parts::parts_by_name;
use crate::program_energy::{PhaseRow, StageSteps, WindowRow};
use crate::study::{DeviceTotal, Study};
use crate::{Segment, SegmentEnergy, Trust, Whole};
use layers::{Diagrams, Tree};
use operations::Operations;
use time::Power;

#[derive(Serialize)]
pub struct Data<'a> {
    title: &'a str,
    runs: usize,
    whole: &'a Whole,
    /// All joules as one bar.
    bar: Vec<SegmentEnergy>,
    /// Where they are, in sentences.
    answer: Vec<String>,
    facts: Vec<Fact>,
    /// What shares of operations and layers are shares of, beside the run.
    base: &'static str,
    trust: Option<&'a Trust>,
    /// The verdict with its reasons.
    judgement: Option<String>,
    total: Total,
    devices: Vec<Total>,
    parts: Vec<Part>,
    phases: &'a [PhaseRow],
    steps: &'a [StageSteps],
    windows: &'a [WindowRow],
    tree: Tree<'a>,
    diagrams: Diagrams,
    operations: Operations<'a>,
    stages: Vec<Stage<'a>>,
    power: Power,
    provenance: Vec<Provenance<'a>>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Total {
    device: Option<String>,
    kind: Option<Kind>,
    energy: f64,
    bounds: Option<(f64, f64)>,
    sd: Option<f64>,
    seconds: f64,
    attributed: f64,
    idle: f64,
    unrecorded: f64,
    monitor: Option<f64>,
}

/// A part of the first run.
#[derive(Serialize)]
struct Part {
    name: String,
    /// The segment that it is in; operations are in three.
    segment: Option<Segment>,
    energy: f64,
    operations: f64,
    seconds: Option<f64>,
}

#[derive(Serialize)]
struct Stage<'a> {
    name: &'a str,
    passes: [f64; 3],
    passes_sd: [Option<f64>; 3],
    between: f64,
    outside: f64,
    sd: Option<f64>,
}

#[derive(Serialize)]
struct Provenance<'a> {
    facts: &'a [(&'static str, String)],
    sensors: Vec<(String, String, Kind, String)>,
    commands: &'a [String],
}

impl<'a> Data<'a> {
    pub fn of(study: &'a Study) -> Data<'a> {
        let mut nodes: Vec<&EnergyTree> = Vec::new();
        let tree = Tree::of(study, &mut nodes);
        let numbers: HashMap<&str, u32> =
            nodes.iter().zip(0_u32..).map(|(node, number)| (node.path.as_str(), number)).collect();
        let number = |path: &str| numbers.get(path).copied().unwrap_or(0);
        let known = |path: &str| numbers.get(path).copied();
        Data {
            title: &study.title,
            runs: study.runs,
            whole: &study.whole,
            bar: study.whole.segments(),
            answer: answer(study),
            facts: facts(study),
            base: study.whole.base.as_str(),
            trust: study.trust.as_ref(),
            judgement: study.trust.as_ref().map(Trust::judgement),
            total: Total::from(&study.total()),
            devices: study.devices.iter().map(Total::from).collect(),
            parts: (parts_by_name(&study.parts).into_iter())
                .map(|(name, row)| Part {
                    name,
                    segment: Segment::of_part(row.part),
                    energy: row.energy.0,
                    operations: row.operations.0,
                    seconds: row.seconds,
                })
                .collect(),
            phases: &study.phases,
            steps: &study.steps,
            windows: &study.windows,
            diagrams: Diagrams::of(&nodes, &known),
            operations: Operations::of(study, &number),
            stages: study.stages.iter().map(Stage::from).collect(),
            power: Power::of(study, &known),
            provenance: study.provenance.iter().map(Provenance::from).collect(),
            warnings: study.warnings.iter().map(ToString::to_string).collect(),
            tree,
        }
    }
}

impl From<&DeviceTotal> for Total {
    fn from(total: &DeviceTotal) -> Total {
        Total {
            device: total.device.as_ref().map(ToString::to_string),
            kind: total.kind,
            energy: total.energy.0,
            bounds: total.spread.map(|spread| (spread.low(), spread.high())),
            sd: total.deviation.map(|sd| sd.0),
            seconds: total.time.seconds(),
            attributed: total.attributed.0,
            idle: total.idle.0,
            unrecorded: total.unrecorded.0,
            monitor: total.monitor.map(|energy| energy.0),
        }
    }
}

/// A path as the tree has it: without empty components.
fn cleaned(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

impl<'a> From<&'a crate::study::StageTotal> for Stage<'a> {
    fn from(stage: &'a crate::study::StageTotal) -> Stage<'a> {
        Stage {
            name: &stage.name,
            passes: stage.passes.map(|(energy, _)| energy.0),
            passes_sd: stage.passes.map(|(_, sd)| sd.map(|sd| sd.0)),
            between: stage.between.0,
            outside: stage.outside.0,
            sd: stage.deviation.map(|sd| sd.0),
        }
    }
}

impl<'a> From<&'a crate::study::Provenance> for Provenance<'a> {
    fn from(provenance: &'a crate::study::Provenance) -> Provenance<'a> {
        let sensor = |sensor: &jouletree_run::SensorRecord| {
            let domain = sensor.domain.clone().unwrap_or_default();
            (sensor.device.to_string(), domain, sensor.kind, sensor.source.clone())
        };
        let sensors = provenance.sensors.iter().map(sensor).collect();
        Provenance { facts: &provenance.facts, sensors, commands: &provenance.commands }
    }
}
