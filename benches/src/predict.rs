//! How long the predictors of trees take: the published one to train, ours to fit and to predict.

use anyhow::Result;
use jouletree_predict::irene::{EvaluationOptions, Method, Tree, TreePredictor, evaluate, read};

use crate::clock::best_of;
use crate::figure::{Figure, Peer, Target};
use crate::{Setup, development_data};

/// So short that one alone could not be timed.
const PREDICTIONS: usize = 200;

/// Measures on a device's published trees; nothing where these are not at hand, since they may not be copied.
pub fn figures(setup: &Setup) -> Result<Vec<Figure>> {
    let path = development_data().join("irene/device_1");
    if !path.exists() {
        eprintln!("predict: no published trees at {}; set JOULETREE_DATA to the development data", path.display());
        return Ok(Vec::new());
    }
    let runs = if setup.quick { 1 } else { 3 };
    let data = read(&path)?;
    let trees: Vec<&Tree> = data.trees.iter().collect();
    let nodes: usize = trees.iter().map(|tree| tree.nodes.len()).sum();
    let options =
        EvaluationOptions { methods: vec![Method::IreneEndToEnd], seeds: 1, ..EvaluationOptions::default() };
    let (_, training) = best_of(runs, || Ok(evaluate(&data, &options)?))?;
    let (predictor, fitting) = best_of(runs, || Ok(TreePredictor::fit(&trees)?))?;
    let mut figures = vec![
        Figure {
            what: "IrEne, six folds trained and tried".to_owned(),
            value: training.cpu,
            decimals: 2,
            unit: "s on one core",
            target: Some(Target::AtMost(20.0)),
            detail: format!("{} trees, {nodes} nodes, 680 terms, 8 epochs", trees.len()),
            peers: vec![Peer { name: "numpy".to_owned(), value: "7".to_owned(), measured: false }],
        },
        Figure {
            what: "ours fitted, with intervals".to_owned(),
            value: fitting.cpu,
            decimals: 3,
            unit: "s on one core",
            target: Some(Target::AtMost(1.0)),
            detail: "the same trees; intervals from fits that leave out each model".to_owned(),
            peers: Vec::new(),
        },
    ];
    if let Some(bert) = trees.iter().find(|tree| tree.model == "bert-base-uncased") {
        let unmeasured = bert.knowing(|_| false);
        let (_, predicting) = best_of(runs, || {
            (0..PREDICTIONS).for_each(|_| drop(std::hint::black_box(predictor.predict(&unmeasured))));
            Ok(())
        })?;
        figures.push(Figure {
            what: "BERT-base predicted from sizes".to_owned(),
            value: predicting.cpu / PREDICTIONS as f64 * 1e3,
            decimals: 3,
            unit: "ms",
            target: Some(Target::AtMost(1.0)),
            detail: format!("{} nodes", unmeasured.nodes.len()),
            peers: Vec::new(),
        });
    }
    Ok(figures)
}
