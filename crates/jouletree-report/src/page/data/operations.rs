//! The operations of the page: what each used, in all stages and in each, and which of them are added up in lists of the largest.

use std::collections::HashMap;

use indexmap::IndexSet;
use jouletree_account::TefEntry;
use jouletree_model::Pass;
use serde::Serialize;

use super::cleaned;
use crate::{PowerFloor, StageOperations, Study};

/// The operations, largest first.
#[derive(Serialize)]
pub struct Operations<'a> {
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
    /// The standard deviations over the runs; empty when there is one run.
    sd: Vec<f64>,
    /// The standard errors of the attribution; empty where it has none.
    error: Vec<Option<f64>>,
    /// What each used in each stage; empty where the program names none.
    stages: Vec<Stage<'a>>,
    /// The group in which it is added up with the same operation of repeated layers.
    group: Vec<u32>,
    groups: Groups,
    floor: Floor,
}

/// What operations used in a stage.
#[derive(Serialize)]
struct Stage<'a> {
    name: &'a str,
    /// Rows, each less the one before.
    row: Vec<usize>,
    energy: Vec<f64>,
    busy: Vec<f64>,
    count: Vec<u64>,
}

/// Operations that are added up.
#[derive(Serialize)]
struct Groups {
    /// What a group is called where it is more than one operation.
    label: Vec<Option<String>>,
    /// The standard errors of the attribution; empty where it has none.
    error: Vec<Option<f64>>,
    /// Of the largest, the standard deviations of energy and of power over the runs.
    sd: HashMap<usize, (Option<f64>, Option<f64>)>,
}

/// Of which operations the power means something.
#[derive(Serialize)]
struct Floor {
    /// The part of the energy of all operations that one needs,
    share: f64,
    /// and the time on each device, in seconds.
    seconds: Vec<f64>,
    words: String,
}

impl<'a> Operations<'a> {
    /// The operations of a study; `number` is that of a layer by its path.
    pub fn of(study: &'a Study, number: &dyn Fn(&str) -> u32) -> Operations<'a> {
        let entries = study.tef.entries();
        let (mut types, mut devices) = (IndexSet::<&str>::new(), IndexSet::new());
        let column = |set: &mut IndexSet<&'a str>, word: &'a str| set.insert_full(word).0 as u32;
        let kind = entries.iter().map(|entry| column(&mut types, &entry.op_type)).collect();
        let device = entries.iter().map(|entry| devices.insert_full(&entry.device).0 as u32).collect();
        let seconds = devices.iter().map(|device| study.floor.of_device(device).seconds()).collect();
        let place = |entry: &TefEntry| number(&cleaned(&entry.path));
        let is_other = |(_, entry): &(usize, &TefEntry)| cleaned(&entry.path) != *entry.path;
        let others = entries.iter().enumerate().filter(is_other);
        let (groups, group) = Groups::of(study);
        let has_errors = entries.iter().any(|entry| entry.standard_error.is_some());
        let deviation = |entry: &TefEntry| study.deviation_of_operation(entry).map_or(0.0, |sd| sd.0);
        let error = |entry: &TefEntry| entry.standard_error.map(|error| error.0);
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
            sd: if study.runs > 1 { entries.iter().map(deviation).collect() } else { Vec::new() },
            error: if has_errors { entries.iter().map(error).collect() } else { Vec::new() },
            stages: study.in_stages.iter().map(Stage::of).collect(),
            group,
            groups,
            floor: Floor { share: PowerFloor::ENERGY, seconds, words: study.floor.words() },
        }
    }
}

impl<'a> Stage<'a> {
    fn of(stage: &'a StageOperations) -> Stage<'a> {
        let mut before = 0;
        let row = stage.operations.iter().map(|operation| {
            let step = operation.row - before;
            before = operation.row;
            step
        });
        Stage {
            name: &stage.name,
            row: row.collect(),
            energy: stage.operations.iter().map(|operation| operation.energy.0).collect(),
            busy: stage.operations.iter().map(|operation| operation.busy.seconds()).collect(),
            count: stage.operations.iter().map(|operation| operation.count).collect(),
        }
    }
}

impl Groups {
    fn of(study: &Study) -> (Groups, Vec<u32>) {
        let (sums, places) = study.folding.groups(&study.tef);
        let mut members = vec![0_usize; sums.len()];
        places.iter().for_each(|place| members[*place] += 1);
        let label = |(sum, members): (&TefEntry, &usize)| (*members > 1).then(|| sum.label().into_owned());
        let is_same = |one: &TefEntry, other: &TefEntry| {
            (&one.path, &one.op_type, &one.mark, one.pass, &one.device)
                == (&other.path, &other.op_type, &other.mark, other.pass, &other.device)
        };
        let mut sd = HashMap::new();
        for ranked in study.top_energy.iter().chain(&study.top_power).filter(|_| study.runs > 1) {
            if let Some(place) = sums.iter().position(|sum| is_same(sum, &ranked.entry)) {
                let deviations = (ranked.energy_deviation.map(|sd| sd.0), ranked.power_deviation.map(|sd| sd.0));
                sd.insert(place, deviations);
            }
        }
        let has_errors = sums.iter().any(|sum| sum.standard_error.is_some());
        let error = |sum: &TefEntry| sum.standard_error.map(|error| error.0);
        let groups = Groups {
            label: sums.iter().zip(&members).map(label).collect(),
            error: if has_errors { sums.iter().map(error).collect() } else { Vec::new() },
            sd,
        };
        (groups, places.into_iter().map(|place| u32::try_from(place).unwrap_or(u32::MAX)).collect())
    }
}
