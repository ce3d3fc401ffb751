//! What the page's script works on, as JSON: columns rather than rows, names and paths once.
//!
//! Numbers are written in full, so that what the page shows is what `jouletree show --format json` says.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexSet;
use jouletree_account::{EnergyTree, TefEntry};
use jouletree_model::{Kind, PREDICTION_LEVEL, Pass};
use rayon::prelude::*;
use serde::Serialize;

use crate::diagram::{BOX, BoxContent, Diagram};
use crate::parts::parts_by_name;
use crate::program_energy::{PhaseRow, WindowRow};
use crate::study::{DeviceTotal, PowerTrack, Ranked, StepView, Study};
use crate::{Trust, Whole};

#[derive(Serialize)]
pub struct Data<'a> {
    title: &'a str,
    runs: usize,
    whole: &'a Whole,
    /// Where all joules are, in a sentence.
    sentence: String,
    trust: Option<&'a Trust>,
    /// The facts of trust and the verdict, as sentences.
    trust_lines: Vec<String>,
    total: Total,
    devices: Vec<Total>,
    /// The parts of the run by name: energy, what operations were charged with of it, seconds.
    parts: Vec<(String, f64, f64, Option<f64>)>,
    phases: &'a [PhaseRow],
    windows: &'a [WindowRow],
    tree: Tree<'a>,
    diagrams: Diagrams,
    operations: Operations<'a>,
    top_energy: Vec<Bar>,
    top_power: Vec<Bar>,
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

/// The layers, each after its parent; the first is the root.
#[derive(Serialize, Default)]
struct Tree<'a> {
    name: Vec<&'a str>,
    parent: Vec<u32>,
    energy: Vec<f64>,
    own: Vec<f64>,
    /// By pass, in the order of [`Pass::ALL`].
    passes: [Vec<f64>; 3],
    busy: Vec<f64>,
    count: Vec<u64>,
    /// Which of them are layers and not tensors.
    composite: Vec<u8>,
    /// Empty when there is one run.
    sd: Vec<f64>,
    /// The ends of the intervals of a prediction; empty when there are none.
    predicted: Vec<Option<(f64, f64)>>,
    /// The level of these, in percent.
    predicted_level: u8,
}

/// Where the parts of layers stand.
#[derive(Serialize)]
struct Diagrams {
    box_size: (f64, f64),
    /// By the number of the layer in the tree.
    of: BTreeMap<u32, Drawn>,
}

#[derive(Serialize)]
struct Drawn {
    size: (i32, i32),
    /// The layer that a box stands for (-1: the layer's own operations, -2: all children from `others` on) and its middle.
    boxes: Vec<(i64, i32, i32)>,
    others: Option<usize>,
    /// From box, to box, what flows, the way.
    routes: Vec<(usize, usize, u8, Vec<i32>)>,
}

/// The operations, largest first.
#[derive(Serialize)]
struct Operations<'a> {
    types: Vec<&'a str>,
    devices: Vec<String>,
    /// The paths that are not written as the tree writes them, by row.
    paths: HashMap<usize, &'a str>,
    /// What distinguishes those that share path and pass, by row.
    marks: HashMap<usize, &'a str>,
    /// The node of the tree, the type, the pass, the device of each.
    node: Vec<u32>,
    kind: Vec<u32>,
    pass: Vec<u8>,
    device: Vec<u32>,
    energy: Vec<f64>,
    busy: Vec<f64>,
    count: Vec<u64>,
    sd: Vec<f64>,
}

#[derive(Serialize)]
struct Bar {
    path: Box<str>,
    label: String,
    op_type: Box<str>,
    pass: Pass,
    device: String,
    energy: f64,
    energy_sd: Option<f64>,
    power: Option<f64>,
    power_sd: Option<f64>,
    busy: f64,
    count: u64,
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
struct Power {
    run: Vec<Track>,
    step: Option<StepData>,
}

#[derive(Serialize)]
struct Track {
    device: String,
    ours: bool,
    kind: Kind,
    piece: f64,
    watts: Vec<Option<f32>>,
}

#[derive(Serialize)]
struct StepData {
    name: String,
    steps: usize,
    seconds: f64,
    tracks: Vec<Track>,
    /// Microseconds since the moment before, and of the moment.
    start: Vec<i64>,
    lasts: Vec<i64>,
    node: Vec<u32>,
    left_out: usize,
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
            sentence: study.whole.sentence(),
            trust: study.trust.as_ref(),
            trust_lines: study.trust.iter().flat_map(|trust| [trust.line(), trust.judgement()]).collect(),
            total: Total::from(&study.total()),
            devices: study.devices.iter().map(Total::from).collect(),
            parts: (parts_by_name(&study.parts).into_iter())
                .map(|(name, row)| (name, row.energy.0, row.operations.0, row.seconds))
                .collect(),
            phases: &study.phases,
            windows: &study.windows,
            diagrams: Diagrams::of(&nodes, &known),
            operations: Operations::of(study, &number),
            top_energy: study.top_energy.iter().map(Bar::from).collect(),
            top_power: study.top_power.iter().map(Bar::from).collect(),
            stages: study.stages.iter().map(Stage::from).collect(),
            power: Power {
                run: study.power.run.iter().map(Track::from).collect(),
                step: study.power.step.as_ref().map(|step| StepData::of(step, &known)),
            },
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

impl<'a> Tree<'a> {
    fn of(study: &'a Study, nodes: &mut Vec<&'a EnergyTree>) -> Tree<'a> {
        let mut tree = Tree { predicted_level: PREDICTION_LEVEL, ..Tree::default() };
        let is_predicted = study.tree.is_predicted();
        let mut waiting: Vec<(&EnergyTree, u32)> = vec![(&study.tree, 0)];
        while let Some((node, parent)) = waiting.pop() {
            let number = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
            nodes.push(node);
            tree.name.push(&node.name);
            tree.parent.push(parent);
            tree.energy.push(node.energy.0);
            tree.own.push(node.own.0);
            for (column, pass) in tree.passes.iter_mut().zip(Pass::ALL) {
                column.push(node.passes.get(&pass).0);
            }
            tree.busy.push(node.busy.seconds());
            tree.count.push(node.count);
            tree.composite.push(u8::from(node.is_composite()));
            if study.runs > 1 {
                tree.sd.push(study.deviation_of(&node.path).map_or(0.0, |sd| sd.0));
            }
            if is_predicted {
                tree.predicted.push(node.predicted.map(|interval| (interval.low.0, interval.high.0)));
            }
            // The largest child comes next.
            waiting.extend(node.children.iter().rev().map(|child| (child, number)));
        }
        tree
    }
}

impl Diagrams {
    fn of(nodes: &[&EnergyTree], number: &(dyn Fn(&str) -> Option<u32> + Sync)) -> Diagrams {
        let drawn = |(place, node): (usize, &&EnergyTree)| {
            let diagram = Diagram::of(node)?;
            Some((u32::try_from(place).ok()?, Drawn::of(node, &diagram, number)))
        };
        Diagrams { box_size: BOX, of: nodes.par_iter().enumerate().filter_map(drawn).collect() }
    }
}

impl Drawn {
    fn of(node: &EnergyTree, diagram: &Diagram, number: &dyn Fn(&str) -> Option<u32>) -> Drawn {
        let whole = |(x, y): (f64, f64)| (x.round() as i32, y.round() as i32);
        let mut others = None;
        let boxes = diagram.places.iter().map(|place| {
            let (x, y) = whole(place.at);
            let stands_for = match place.part {
                BoxContent::Child(child) => {
                    node.children.get(child).and_then(|child| number(&child.path)).map_or(-1, i64::from)
                }
                BoxContent::Own => -1,
                BoxContent::Others(from) => {
                    others = Some(from);
                    -2
                }
            };
            (stands_for, x, y)
        });
        let boxes = boxes.collect();
        let routes = diagram.routes.iter().map(|route| {
            let points = route.points.iter().flat_map(|point| <[i32; 2]>::from(whole(*point))).collect();
            (route.from, route.to, route.heads.0, points)
        });
        Drawn { size: whole(diagram.size), boxes, others, routes: routes.collect() }
    }
}

impl<'a> Operations<'a> {
    fn of(study: &'a Study, number: &dyn Fn(&str) -> u32) -> Operations<'a> {
        let entries = study.tef.entries();
        let (mut types, mut devices) = (IndexSet::<&str>::new(), IndexSet::new());
        let column = |set: &mut IndexSet<&'a str>, word: &'a str| set.insert_full(word).0 as u32;
        let kind = entries.iter().map(|entry| column(&mut types, &entry.op_type)).collect();
        let device = entries.iter().map(|entry| devices.insert_full(&entry.device).0 as u32).collect();
        let place = |entry: &TefEntry| number(&cleaned(&entry.path));
        let is_other = |(_, entry): &(usize, &TefEntry)| cleaned(&entry.path) != *entry.path;
        let others = entries.iter().enumerate().filter(is_other);
        Operations {
            kind,
            device,
            types: types.into_iter().collect(),
            devices: devices.into_iter().map(ToString::to_string).collect(),
            paths: others.map(|(row, entry)| (row, &*entry.path)).collect(),
            marks: (entries.iter().enumerate())
                .filter_map(|(row, entry)| Some((row, entry.mark.as_deref()?)))
                .collect(),
            node: entries.iter().map(place).collect(),
            pass: entries
                .iter()
                .map(|entry| Pass::ALL.iter().position(|pass| *pass == entry.pass).unwrap_or(0) as u8)
                .collect(),
            energy: entries.iter().map(|entry| entry.energy.0).collect(),
            busy: entries.iter().map(|entry| entry.busy.seconds()).collect(),
            count: entries.iter().map(|entry| entry.count).collect(),
            sd: match study.runs {
                0 | 1 => Vec::new(),
                _ => entries
                    .iter()
                    .map(|entry| study.deviation_of_operation(entry).map_or(0.0, |sd| sd.0))
                    .collect(),
            },
        }
    }
}

/// A path as the tree has it: without empty components.
fn cleaned(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

impl From<&Ranked> for Bar {
    fn from(ranked: &Ranked) -> Bar {
        let entry = &ranked.entry;
        Bar {
            path: entry.path.clone(),
            label: entry.label().into_owned(),
            op_type: entry.op_type.clone(),
            pass: entry.pass,
            device: entry.device.to_string(),
            energy: entry.energy.0,
            energy_sd: ranked.energy_deviation.map(|sd| sd.0),
            power: entry.power().map(|power| power.0),
            power_sd: ranked.power_deviation.map(|sd| sd.0),
            busy: entry.busy.seconds(),
            count: entry.count,
        }
    }
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

impl From<&PowerTrack> for Track {
    fn from(track: &PowerTrack) -> Track {
        let watts =
            track.watts.iter().map(|watts| watts.map(|watts| (watts.0 * 1e3).round() as f32 / 1e3)).collect();
        let device = track.device.to_string();
        Track { device, ours: track.is_ours, kind: track.kind, piece: track.piece.seconds(), watts }
    }
}

impl StepData {
    fn of(step: &StepView, number: &dyn Fn(&str) -> Option<u32>) -> StepData {
        let nodes: Vec<Option<u32>> = step.paths.iter().map(|path| number(&cleaned(path))).collect();
        let (mut start, mut lasts, mut node) = (Vec::new(), Vec::new(), Vec::new());
        let mut before = 0;
        for moment in &step.moments {
            let Some(place) = nodes.get(moment.path).copied().flatten() else { continue };
            let at = moment.start.0 / 1000;
            start.push(at - before);
            before = at;
            lasts.push((moment.duration.0 + 500) / 1000);
            node.push(place);
        }
        StepData {
            name: step.name.clone(),
            steps: step.steps,
            seconds: step.duration.seconds(),
            tracks: step.tracks.iter().map(Track::from).collect(),
            start,
            lasts,
            node,
            left_out: step.left_out,
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
