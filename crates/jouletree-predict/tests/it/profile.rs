//! Profiles of a made-up machine that takes known energies: what was learned there must predict what was not seen.

use std::path::Path;

use jouletree_model::{Device, Joules, Kind, Pass};
use jouletree_predict::irene::{Level, Tree};
use jouletree_predict::operators::builtin::Choice;
use jouletree_predict::operators::find;
use jouletree_predict::profile::{
    AttentionForm, Calibration, Profile, Sketch, TrainingTree, as_footprint, by_kind, by_module,
};
use jouletree_predict::tradeoff::Tariff;

fn sketch(model: &str, batch: u64, sequence: u64, hidden: u64) -> Sketch {
    let choice = Choice {
        batch: Some(batch),
        sequence: Some(sequence),
        layers: Some(2),
        hidden: Some(hidden),
        ..Choice::default()
    };
    Sketch::of_operators(&find(model, choice).unwrap(), batch, sequence)
}

/// The tree as the machine would take it: so much for each operation, byte and call, and something for each module that
/// calls primitives.
fn measured(sketch: &Sketch) -> Tree {
    let mut tree = sketch.tree(AttentionForm::Apart, |_| None);
    for place in 0..tree.nodes.len() {
        let node = &tree.nodes[place];
        let below: f64 = tree.children(node).map(|child| child.measured.0).sum();
        let children = |level| tree.children(node).filter(|child| child.level == level).count() as f64;
        let own = match node.level {
            Level::Leaf => 1e-4 * node.specs.megaflops + 2e-3 * node.specs.mebibytes + 1e-3,
            Level::Module | Level::Model => 5e-4 * children(Level::Leaf),
        };
        tree.nodes[place].measured = Joules(below + own);
    }
    tree
}

fn profile() -> Profile {
    let mut trees = Vec::new();
    for model in ["bert", "gpt2"] {
        for (batch, sequence, hidden) in [(1, 16, 128), (4, 16, 256), (8, 64, 128), (2, 128, 256), (16, 32, 512)] {
            let tree = measured(&sketch(model, batch, sequence, hidden));
            trees.push(TrainingTree { run: model.to_owned(), source: "calibration", pass: Pass::Forward, tree });
        }
    }
    let (profile, warnings) = Profile::train(&trees, Vec::new(), Kind::Measured).unwrap();
    assert_eq!(warnings, Vec::new());
    profile
}

#[test]
fn a_model_that_never_ran_is_predicted() {
    let unseen = sketch("albert", 6, 48, 384);
    let predicted = profile().predict(&unseen, Pass::Forward).unwrap();
    let truth = measured(&unseen).root().unwrap().measured.0;
    let (energy, interval) = predicted.total();
    assert!((energy.0 / truth - 1.0).abs() < 0.05, "{} instead of {truth}", energy.0);
    assert!(interval.is_some_and(|interval| interval.low <= energy && energy <= interval.high));
}

#[test]
fn children_and_glue_are_the_node_and_either_table_is_the_whole() {
    let predicted = profile().predict(&sketch("bert", 2, 32, 256), Pass::Forward).unwrap();
    let total = predicted.total().0.0;
    for (place, node) in predicted.nodes.iter().enumerate() {
        let inside = predicted.nodes[place + 1..].iter().take_while(|other| other.depth > node.depth);
        let children: f64 = inside.filter(|other| other.depth == node.depth + 1).map(|child| child.energy.0).sum();
        let sum = if node.level == Level::Leaf { node.glue.0 } else { children + node.glue.0 };
        assert!((sum - node.energy.0).abs() <= 1e-12 * total, "{}", node.path);
    }
    for rows in [by_module(&predicted), by_kind(&predicted)] {
        let sum: f64 = rows.iter().map(|row| row.energy.0).sum();
        assert!((sum / total - 1.0).abs() < 1e-12);
        assert!((rows.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-12);
    }
    let footprint = as_footprint(std::slice::from_ref(&predicted), "host/cpu:0".parse::<Device>().unwrap());
    let device = &footprint.devices[0];
    assert!((device.attributed.0 / total - 1.0).abs() < 1e-12);
    assert_eq!((device.total, device.kind), (Some(device.attributed), Some(Kind::Predicted)));
}

#[test]
fn a_written_profile_predicts_the_same() {
    let profile = profile();
    let text = serde_json::to_string(&profile).unwrap();
    let read = Profile::parse(&text, Path::new("profile.json")).unwrap();
    let asked = sketch("bert", 4, 16, 256);
    let [before, after] = [&profile, &read].map(|profile| profile.predict(&asked, Pass::Forward).unwrap());
    assert!((after.total().0.0 / before.total().0.0 - 1.0).abs() < 1e-12);
}

#[test]
fn sizes_beyond_all_measured_are_flagged() {
    let profile = profile();
    let within = profile.predict(&sketch("bert", 4, 16, 256), Pass::Forward).unwrap();
    assert!(within.nodes.iter().all(|node| !node.is_outside), "{:?}", within.warnings);
    let beyond = profile.predict(&sketch("bert", 64, 512, 1024), Pass::Forward).unwrap();
    assert!(beyond.nodes.iter().any(|node| node.is_outside));
    assert!(beyond.warnings.iter().any(|warning| warning.message.contains("larger or smaller")));
}

#[test]
fn a_million_queries_are_a_million_samples() {
    let predicted = profile().predict(&sketch("bert", 4, 16, 256), Pass::Forward).unwrap();
    let per_million = predicted.per_million(Some(Tariff(0.1319)));
    let joules = predicted.total().0.0 / 4.0;
    assert!((per_million.kwh / (joules * 1e6 / 3.6e6) - 1.0).abs() < 1e-12);
    assert!((per_million.cost.unwrap() / (per_million.kwh * 0.1319) - 1.0).abs() < 1e-12);
}

#[test]
fn what_is_no_profile_or_calibration_is_refused() {
    let wrong = Path::new("wrong.json");
    let error = |text: &str| Profile::parse(text, wrong).unwrap_err().to_string();
    assert!(error("").contains("wrong.json") && error("{}").contains("jouletree train"));
    let other = serde_json::to_string(&profile()).unwrap().replacen("\"version\":1", "\"version\":7", 1);
    assert!(error(&other).contains("jouletree-profile 7"), "{}", error(&other));
    let empty = Profile::train(&[], Vec::new(), Kind::Measured).unwrap_err().to_string();
    assert!(empty.contains("jouletree calibrate"), "{empty}");
    let backward = profile().predict(&sketch("bert", 1, 16, 128), Pass::Backward).unwrap_err().to_string();
    assert!(backward.contains("backward"), "{backward}");
    assert!(Calibration::parse("[]", wrong).unwrap_err().to_string().contains("calibrate again"));
}
