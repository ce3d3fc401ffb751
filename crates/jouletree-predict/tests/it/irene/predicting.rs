//! The predictors on trees whose laws are known, because they were made by them.

use jouletree_predict::irene::{
    Basis, Dataset, EvaluationOptions, FeatureSet, Method, Protocol, Tree, TreePredictor, evaluate, read,
};
use tempfile::tempdir;

use test_support::made_trees as made;

fn data() -> Dataset {
    let folder = tempdir().unwrap();
    made::write_folder(folder.path(), &made::calls());
    read(folder.path()).unwrap()
}

fn fitted(data: &Dataset, without: &str) -> TreePredictor {
    let trees: Vec<&Tree> = data.trees.iter().filter(|tree| tree.model != without).collect();
    TreePredictor::fit(&trees).unwrap()
}

#[test]
fn the_law_is_found_again() {
    let data = data();
    let law = fitted(&data, "made-large").law().unwrap();
    assert!((law.gain - made::GAIN).abs() < 1e-9 && (law.rest.0 - made::REST).abs() < 1e-7, "{law:?}");
}

#[test]
fn children_and_glue_are_the_node_to_the_last_digit() {
    let data = data();
    let predictor = fitted(&data, "made-large");
    for tree in &data.trees {
        for known in [tree.clone(), tree.knowing(|node| node.children.is_empty()), tree.knowing(|_| false)] {
            let nodes = predictor.predict(&known).nodes;
            for (node, predicted) in tree.nodes.iter().zip(&nodes) {
                assert_eq!(predicted.children + predicted.glue, predicted.energy);
                let below: f64 = node.children.iter().map(|&child| nodes[child].energy.0).sum();
                assert!((below - predicted.children.0).abs() <= 1e-12 * below);
            }
        }
    }
}

#[test]
fn the_basis_is_the_best_that_is_known_and_is_said() {
    let data = data();
    let predictor = fitted(&data, "made-large");
    let tree = data.trees.iter().find(|tree| tree.model == "made-large").unwrap();
    let root = |tree: &Tree| predictor.predict(tree).nodes.last().unwrap().clone();
    for (known, basis, within) in [
        (tree.clone(), Basis::OwnMeasured, 1e-6),
        (tree.knowing(|node| node.children.is_empty()), Basis::MeasuredLeaves, 1e-6),
        (tree.knowing(|_| false), Basis::SpecsOnly, 0.05),
    ] {
        let predicted = root(&known);
        assert_eq!(predicted.basis, basis);
        let error = predicted.energy.0 / tree.root().unwrap().measured.0 - 1.0;
        assert!(error.abs() < within, "{basis:?}: {error}");
    }
    // One leaf that was not measured takes the whole path above it down to sizes, and nothing beside it.
    let holed = tree.knowing(|node| node.children.is_empty() && node.kind != "embedding");
    let predicted = predictor.predict(&holed);
    let basis_of = |scope: &str| predicted.nodes.iter().rfind(|node| node.scope == scope).unwrap().basis;
    assert_eq!(basis_of("embeddings"), Basis::SpecsOnly);
    assert_eq!(basis_of("encoder"), Basis::MeasuredLeaves);
    assert_eq!(basis_of(""), Basis::SpecsOnly);
}

#[test]
fn intervals_hold_their_prediction() {
    let data = data();
    let predictor = fitted(&data, "made-large");
    for tree in &data.trees {
        for node in predictor.predict(&tree.knowing(|_| false)).nodes {
            if let Some(interval) = node.interval {
                assert!(interval.low <= node.energy && node.energy <= interval.high && interval.low.0 >= 0.0);
            }
        }
    }
}

#[test]
fn a_kind_never_seen_is_told_and_predicted_by_its_kin() {
    let data = data();
    let predictor = fitted(&data, "made-other");
    let tree = data.trees.iter().find(|tree| tree.model == "made-other").unwrap();
    let predicted = predictor.predict(&tree.knowing(|_| false));
    assert!(
        predicted.warnings.iter().any(|warning| warning.message.contains("`conv1d`")),
        "{:?}",
        predicted.warnings
    );
    let mut odd = tree.knowing(|_| false);
    for node in odd.nodes.iter_mut().filter(|node| node.kind == "softmax") {
        node.kind = "fft".to_owned();
    }
    let predicted = predictor.predict(&odd);
    assert!(
        predicted.warnings.iter().any(|warning| warning.message.contains("`fft`")),
        "{:?}",
        predicted.warnings
    );
    assert!(predicted.nodes.iter().all(|node| node.energy.0.is_finite() && node.energy.0 >= 0.0));
}

#[test]
fn every_protocol_and_method_gives_a_row() {
    let data = data();
    let options = EvaluationOptions {
        protocols: Protocol::ALL.to_vec(),
        features: vec![FeatureSet::Full, FeatureSet::Specs, FeatureSet::Resources],
        seeds: 2,
        ..EvaluationOptions::default()
    };
    let (rows, _) = evaluate(&data, &options).unwrap();
    assert_eq!(rows.len(), 4 * (4 * 3 + 5));
    for row in &rows {
        assert!(row.module.is_finite() && row.model.is_finite() && row.sd >= 0.0, "{row:?}");
        if row.method == Method::OwnMeasured {
            assert!(row.ml < 1e-6 && row.module < 1e-6 && row.model < 1e-6, "{row:?}");
        }
    }
    let written = serde_json::to_value(&rows[0]).unwrap();
    for key in ["method", "protocol", "features", "ml", "module", "model", "sd"] {
        assert!(written.get(key).is_some(), "no {key}");
    }
    assert_eq!(written["method"], "irene-end2end");
    for row in &rows {
        assert_eq!(serde_json::to_value(row.method).unwrap(), row.method.name());
        assert_eq!(row.method.name().parse::<Method>().unwrap(), row.method);
        assert_eq!(row.protocol.name().parse::<Protocol>().unwrap(), row.protocol);
        let models: Vec<&str> = row.by_model.keys().map(String::as_str).collect();
        assert_eq!(models, ["made-large", "made-other", "made-small"]);
    }
    assert_eq!("end2end".parse::<Method>().unwrap(), Method::IreneEndToEnd);
    assert!("deep".parse::<Method>().unwrap_err().to_string().contains("specs-only"));
}

#[test]
fn a_seed_gives_the_same_twice() {
    let data = data();
    let options = EvaluationOptions { seeds: 2, ..EvaluationOptions::default() };
    assert_eq!(evaluate(&data, &options).unwrap().0, evaluate(&data, &options).unwrap().0);
}

#[test]
fn one_family_alone_cannot_be_left_out() {
    let mut data = data();
    data.trees.retain(|tree| tree.model == "made-small");
    let error = evaluate(&data, &EvaluationOptions::default()).unwrap_err().to_string();
    assert!(error.contains("`paper`") && error.contains("train on"), "{error}");
}
