//! What each operation used in each stage, as a mean over runs, by the rows of the footprint of all stages.

use std::collections::HashMap;

use jouletree_account::Tef;
use jouletree_model::{Footprint, Joules, Nanos};

use super::spread::{Key, mean};

/// What operations used in one stage.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StageOperations {
    /// The stage; empty for the time before the first.
    pub name: String,
    /// The operations that ran in it, by their rows in the footprint of all stages.
    pub operations: Vec<InStage>,
}

/// What one operation used in a stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InStage {
    /// Its row in the footprint of all stages.
    pub row: usize,
    /// What it used.
    pub energy: Joules,
    /// How long it was active.
    pub busy: Nanos,
    /// How often it ran.
    pub count: u64,
}

/// The stages in which operations ran, in order; none where programs name no stages.
pub(super) fn in_stages(footprints: &[&Footprint], all: &Tef) -> Vec<StageOperations> {
    let mut names: Vec<&str> = Vec::new();
    for stage in footprints.iter().flat_map(|footprint| &footprint.stages) {
        if !names.contains(&&*stage.name) {
            names.push(&stage.name);
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let rows: HashMap<Key, usize> = all.entries().iter().map(Key::from).zip(0..).collect();
    let of_stage = |name: &&str| {
        // A run without the stage used nothing in it.
        let of_run = |footprint: &&Footprint| {
            let number = footprint.stages.iter().position(|stage| *stage.name == **name);
            let part = number.and_then(|number| footprint.of_stage(number));
            part.map(|part| Tef::from(&part)).unwrap_or_default()
        };
        let tefs: Vec<Tef> = footprints.iter().map(of_run).collect();
        let tef = mean(&tefs);
        let found = tef.entries().iter().filter_map(|entry| {
            let row = *rows.get(&Key::from(entry))?;
            Some(InStage { row, energy: entry.energy, busy: entry.busy, count: entry.count })
        });
        let mut operations: Vec<InStage> = found.collect();
        operations.sort_by_key(|operation| operation.row);
        StageOperations { name: (*name).to_owned(), operations }
    };
    names.iter().map(of_stage).filter(|stage| !stage.operations.is_empty()).collect()
}
