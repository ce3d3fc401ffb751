//! Both kinds of predictors on one folder of tables: on layers held out, on real layers, and on networks never fitted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jouletree_model::{Joules, Warning};
use serde::Serialize;

use super::networks::read_networks;
use super::split::{SplitSide, part_of};
use super::table::{LAYERWISE, read_network_layers, read_real_layers, read_tables};
use super::{
    AdditiveModel, FitError, LayerKind, LayerTable, MeasuredLayer, MeasuredNetwork, PublishedModel, RelativeScore,
    TableError,
};

/// Everything that the tables say about both predictors.
#[derive(Debug, Clone, Serialize)]
pub struct Evaluation {
    /// Layers that were held out, by kind.
    pub layers: BTreeMap<LayerKind, KindEvaluation>,
    /// Layers like those of real networks, measured alone and never fitted, by kind.
    pub real_layers: BTreeMap<LayerKind, BothScores>,
    /// The layers of networks, each measured alone at the network's batch sizes and never fitted, by kind.
    pub network_layers: BTreeMap<LayerKind, BothScores>,
    /// Networks that were never fitted, by name; `all` is all of them.
    pub networks: BTreeMap<String, BothScores>,
    /// What was left out, and what was done instead.
    pub warnings: Vec<Warning>,
}

/// Both predictors on one kind of layer.
#[derive(Debug, Clone, Serialize)]
pub struct KindEvaluation {
    /// The additive model on layers held out.
    pub additive: RelativeScore,
    /// The share of them that its intervals hold, in percent.
    pub coverage_percent: f64,
    /// The published predictor on the rows that its own split holds out.
    #[serde(rename = "getzner")]
    pub published: Option<RelativeScore>,
    /// Its mean squared error there, with energies scaled from 0 to 1.
    #[serde(rename = "getzner_scaled_mse")]
    pub published_scaled_mse: Option<f64>,
    /// Its share of explained variance under cross-validation.
    #[serde(rename = "getzner_cross_validated_r2")]
    pub published_cross_validated_r2: Option<f64>,
    /// What it adds for a layer without any work.
    #[serde(rename = "getzner_intercept_j")]
    pub published_intercept: Option<Joules>,
}

/// Both predictors on what neither was fitted on.
#[derive(Debug, Clone, Serialize)]
pub struct BothScores {
    /// The additive model.
    pub additive: RelativeScore,
    /// The published predictors; of networks on those whose layers were measured, too, as published.
    #[serde(rename = "getzner")]
    pub published: RelativeScore,
    /// The same predictors, fitted with real layers among the others, where there are any, on what is none of these.
    #[serde(rename = "getzner_with_real_layers")]
    pub published_with_real_layers: Option<RelativeScore>,
}

/// The published predictors, without and with real layers.
struct BothPublished {
    plain: PublishedModel,
    with_real: Option<PublishedModel>,
}

impl BothPublished {
    fn fit(tables: &[LayerTable], real: &[LayerTable]) -> BothPublished {
        let with_real = |table: &LayerTable| {
            let more = real.iter().filter(|real| real.kind == table.kind).flat_map(|real| &real.rows);
            LayerTable { kind: table.kind, rows: table.rows.iter().chain(more).cloned().collect() }
        };
        let plain = PublishedModel::fit(tables);
        let has_real = !real.is_empty();
        let with_real = has_real.then(|| PublishedModel::fit(&tables.iter().map(with_real).collect::<Vec<_>>()));
        BothPublished { plain, with_real }
    }

    /// The scores of both on what was measured, given the prediction of either.
    fn scores<T>(
        &self,
        rows: &[T],
        measured: impl Fn(&T) -> Joules,
        predicted: impl Fn(&PublishedModel, &T) -> Option<Joules>,
    ) -> Option<(RelativeScore, Option<RelativeScore>)> {
        let score = |model: &PublishedModel| {
            let pair = |row| Some((measured(row).0, predicted(model, row)?.0));
            RelativeScore::of(&rows.iter().filter_map(pair).collect::<Vec<_>>())
        };
        Some((score(&self.plain)?, self.with_real.as_ref().and_then(score)))
    }
}

/// What keeps an evaluation from being made.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    /// A table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A model cannot be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// Fits on the training part of the layers in a folder, and scores on everything else that is there.
pub fn evaluate(folder: &Path) -> Result<Evaluation, EvaluationError> {
    let mut tables = read_tables(folder)?;
    let networks = read_networks(folder, &mut tables.warnings)?;
    let real_layers = read_real_layers(folder, &mut tables.warnings)?;
    let additive = AdditiveModel::fit(&tables.tables, is_training)?;
    let network_layers = read_network_layers(folder, &mut tables.warnings)?;
    let published = BothPublished::fit(&tables.tables, &real_layers);
    let mut evaluation = Evaluation {
        layers: BTreeMap::new(),
        real_layers: of_layers(&real_layers, &additive, &published),
        network_layers: of_layers(&network_layers, &additive, &published),
        networks: BTreeMap::new(),
        warnings: tables.warnings,
    };
    for scores in evaluation.real_layers.values_mut() {
        // Here they are among what was fitted on.
        scores.published_with_real_layers = None;
    }
    for table in &tables.tables {
        evaluation.warnings.extend(disagreeing_sessions(table, &additive));
        match of_kind(table, &additive, &published.plain) {
            Some(scores) => {
                evaluation.layers.insert(table.kind, scores);
            }
            None => evaluation.warnings.push(Warning::new(
                folder.display().to_string(),
                format!("no {} is in the part that is held out; it has no score", table.kind),
            )),
        }
    }
    let names: BTreeSet<&str> = networks.iter().map(|network| network.name.as_str()).collect();
    for name in names.into_iter().chain(["all"]) {
        let chosen: Vec<&MeasuredNetwork> =
            networks.iter().filter(|network| name == "all" || network.name == name).collect();
        if let Some(score) = of_networks(&chosen, &additive, &published) {
            evaluation.networks.insert(name.to_owned(), score);
        }
    }
    evaluation.warnings.extend(never_measured(&networks, &additive));
    Ok(evaluation)
}

fn is_training(row: &MeasuredLayer) -> bool {
    part_of(&row.layer.key()) != SplitSide::Test
}

fn of_kind(table: &LayerTable, additive: &AdditiveModel, published: &PublishedModel) -> Option<KindEvaluation> {
    let held = table.rows.iter().filter(|row| !is_training(row));
    let predictions: Vec<_> =
        held.filter_map(|row| Some((row.energy, additive.predict(&row.operator)?))).collect();
    let pairs: Vec<(f64, f64)> = predictions.iter().map(|(truth, guess)| (truth.0, guess.energy.0)).collect();
    let hits = predictions.iter().filter(|(truth, guess)| guess.low <= *truth && *truth <= guess.high).count();
    let predictor = published.kinds.get(&table.kind);
    Some(KindEvaluation {
        additive: RelativeScore::of(&pairs)?,
        coverage_percent: 100.0 * hits as f64 / pairs.len() as f64,
        published: predictor.and_then(|predictor| RelativeScore::of(&predictor.tested)),
        published_scaled_mse: predictor.map(|predictor| predictor.scaled_mse),
        published_cross_validated_r2: predictor.map(|predictor| predictor.cross_validated_r2),
        published_intercept: predictor.map(|predictor| predictor.intercept()),
    })
}

/// Both predictors on layers that neither was fitted on.
fn of_layers(
    tables: &[LayerTable],
    additive: &AdditiveModel,
    published: &BothPublished,
) -> BTreeMap<LayerKind, BothScores> {
    let of_table = |table: &LayerTable| {
        let ours = |row: &MeasuredLayer| Some((row.energy.0, additive.predict(&row.operator)?.energy.0));
        let (theirs, with_real) =
            published.scores(&table.rows, |row| row.energy, |model, row| model.predict(&row.layer))?;
        let scores = BothScores {
            additive: RelativeScore::of(&table.rows.iter().filter_map(ours).collect::<Vec<_>>())?,
            published: theirs,
            published_with_real_layers: with_real,
        };
        Some((table.kind, scores))
    };
    tables.iter().filter_map(of_table).collect()
}

fn of_networks(
    networks: &[&MeasuredNetwork],
    additive: &AdditiveModel,
    published: &BothPublished,
) -> Option<BothScores> {
    let ours = |network: &&MeasuredNetwork| {
        (network.energy.0, additive.predict_network(&network.name, &network.operators).energy.0)
    };
    // The publication has no others.
    let mut meant: Vec<&MeasuredNetwork> =
        networks.iter().filter(|network| network.table == LAYERWISE).copied().collect();
    if meant.is_empty() {
        meant = networks.to_vec();
    }
    let sum = |model: &PublishedModel, network: &&MeasuredNetwork| Some(model.predict_network(&network.operators));
    let (theirs, with_real) = published.scores(&meant, |network| network.energy, sum)?;
    Some(BothScores {
        additive: RelativeScore::of(&networks.iter().map(ours).collect::<Vec<_>>())?,
        published: theirs,
        published_with_real_layers: with_real,
    })
}

/// Operators of networks that no table knows, each named once for each network.
fn never_measured(networks: &[MeasuredNetwork], additive: &AdditiveModel) -> Vec<Warning> {
    let mut named = BTreeSet::new();
    for network in networks {
        for operator in network.operators.iter().filter(|operator| additive.predict(operator).is_none()) {
            named.insert((network.name.as_str(), operator.name()));
        }
    }
    let message = "no such operator was measured; it counts as nothing";
    named.into_iter().map(|(network, operator)| Warning::new(network, message).at(operator)).collect()
}

/// Sessions that a model cannot bring together: the same layer took more in one than in another.
fn disagreeing_sessions(table: &LayerTable, additive: &AdditiveModel) -> Option<Warning> {
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in table.rows.iter().filter(|row| is_training(row)) {
        let prediction = additive.predict(&row.operator)?;
        ratios.entry(&row.session).or_default().push(row.energy.0 / prediction.energy.0);
    }
    let medians: Vec<(&str, f64)> = ratios
        .into_iter()
        .map(|(session, mut ratios)| {
            ratios.sort_by(f64::total_cmp);
            (session, ratios[ratios.len() / 2])
        })
        .collect();
    let by_median = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
    let (least, most) = (medians.iter().min_by(by_median)?, medians.iter().max_by(by_median)?);
    (most.1 > 1.25 * least.1).then(|| {
        let message = format!(
            "layers of session `{}` took {:.2} times as much as the model says, those of `{}` {:.2} times: something \
             else changed between them; fit on one session",
            most.0, most.1, least.0, least.1
        );
        Warning::new(table.kind.as_str(), message)
    })
}
