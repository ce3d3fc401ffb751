//! Calibrations and profiles: whatever they hold, training on it and predicting by it ends without a negative energy.
#![no_main]

use std::path::Path;

use jouletree_model::{Kind, Pass};
use jouletree_predict::operators::builtin::Choice;
use jouletree_predict::operators::find;
use jouletree_predict::profile::{Calibration, Profile, Sketch, TrainingTree};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path = Path::new("fuzz.json");
    let trained = Calibration::parse(text, path).ok().and_then(|calibration| {
        let tree = |tree: &jouletree_predict::profile::MeasuredTree| TrainingTree {
            run: String::new(),
            source: "calibration",
            pass: Pass::Forward,
            tree: tree.tree().0,
        };
        let trees: Vec<TrainingTree> = calibration.trees.iter().map(tree).collect();
        Profile::train(&trees, Vec::new(), Kind::Estimated).ok().map(|(profile, _)| profile)
    });
    let Some(profile) = trained else {
        // Numbers of a profile are the user's own: they are only read.
        let _ = Profile::parse(text, path);
        return;
    };
    let choice = Choice { layers: Some(1), sequence: Some(4), ..Choice::default() };
    let Ok(found) = find("bert", choice) else { return };
    let Ok(predicted) = profile.predict(&Sketch::of_operators(&found, 1, 4), Pass::Forward) else { return };
    for node in &predicted.nodes {
        assert!(!(node.energy.0 < 0.0), "{node:?}");
    }
});
