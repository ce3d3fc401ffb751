//! The comparison of all predictors on trees that they have not learned from.

use std::collections::{BTreeMap, BTreeSet};

use std::str::FromStr;

use jouletree_model::Joules;
use jouletree_model::Warning;
use serde::{Deserialize, Serialize};

use super::error::IreneError;
use super::features::{FeatureSet, RootParameters};
use super::folds::{Fold, Protocol};
use super::leaf_regressor::LeafRegressors;
use super::ours::{Known, TreePredictor};
use super::random::SeededGenerator;
use super::score::{LevelErrors, Score};
use super::tracker::SoftwareTracker;
use super::tree::{Dataset, Level, Tree};
use super::tree_regressor::{Preparation, PreparedTree, Strategy, TreeRegressor};

/// The seed the publication names, and the first of ours.
const FIRST_SEED: u64 = 13370;

/// A predictor under comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// IrEne, trained through the whole tree.
    #[serde(rename = "irene-end2end")]
    IreneEndToEnd,
    /// IrEne, trained one step of the tree at a time.
    IreneStepwise,
    /// IrEne's leaves added up.
    PredictedSum,
    /// IrEne's features without the tree.
    Unstructured,
    /// Measured leaves added up: what no better leaf regressor can improve.
    OracleSum,
    /// The formula of software trackers on logged utilisation; nothing is fitted.
    SoftwareTracker,
    /// Ours, with each node's own latency and device energy.
    OwnMeasured,
    /// Ours, with those of the leaves.
    MeasuredLeaves,
    /// Ours, with sizes only.
    SpecsOnly,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 9] = [
        Method::IreneEndToEnd,
        Method::IreneStepwise,
        Method::PredictedSum,
        Method::Unstructured,
        Method::OracleSum,
        Method::SoftwareTracker,
        Method::OwnMeasured,
        Method::MeasuredLeaves,
        Method::SpecsOnly,
    ];

    /// How it is called in output and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::IreneEndToEnd => "irene-end2end",
            Method::IreneStepwise => "irene-stepwise",
            Method::PredictedSum => "predicted-sum",
            Method::Unstructured => "unstructured",
            Method::OracleSum => "oracle-sum",
            Method::SoftwareTracker => "software-tracker",
            Method::OwnMeasured => "own-measured",
            Method::MeasuredLeaves => "measured-leaves",
            Method::SpecsOnly => "specs-only",
        }
    }

    /// What of the tree that is left out it looks at, in words.
    pub fn knows(self) -> &'static str {
        match self {
            Method::IreneEndToEnd | Method::IreneStepwise | Method::PredictedSum => "features of what is below",
            Method::Unstructured => "features of the node",
            Method::OracleSum => "measured energy of the primitives",
            Method::SoftwareTracker => "logged use and device energy of the node",
            Method::OwnMeasured => "latency and device energy of the node",
            Method::MeasuredLeaves => "latency and device energy of the primitives",
            Method::SpecsOnly => "sizes",
        }
    }

    /// Whether a choice of features changes it.
    pub fn has_features(self) -> bool {
        self.strategy().is_some()
    }

    fn strategy(self) -> Option<Strategy> {
        match self {
            Method::IreneEndToEnd => Some(Strategy::EndToEnd),
            Method::IreneStepwise => Some(Strategy::Stepwise),
            Method::PredictedSum => Some(Strategy::PredictedSum),
            Method::Unstructured => Some(Strategy::Unstructured),
            Method::OracleSum
            | Method::SoftwareTracker
            | Method::OwnMeasured
            | Method::MeasuredLeaves
            | Method::SpecsOnly => None,
        }
    }

    /// What of a tree ours may look at.
    fn known(self) -> Option<Known> {
        match self {
            Method::OwnMeasured => Some(Known::Everything),
            Method::MeasuredLeaves => Some(Known::Leaves),
            Method::SpecsOnly => Some(Known::Sizes),
            _ => None,
        }
    }
}

impl FromStr for Method {
    type Err = IreneError;

    /// The name as it is printed; `end2end` and `stepwise` may be written without `irene-`.
    fn from_str(text: &str) -> Result<Method, IreneError> {
        let full = format!("irene-{text}");
        Method::ALL.into_iter().find(|method| method.name() == text || method.name() == full).ok_or_else(|| {
            IreneError::UnknownName {
                what: "strategy",
                name: text.to_owned(),
                known: Method::ALL.map(Method::name).join(", "),
            }
        })
    }
}

/// What to compare.
#[derive(Debug, Clone)]
pub struct EvaluationOptions {
    /// The predictors.
    pub methods: Vec<Method>,
    /// The splits.
    pub protocols: Vec<Protocol>,
    /// The features IrEne may use; predictors that have no choice of features ignore it.
    pub features: Vec<FeatureSet>,
    /// How often training with random beginnings is repeated.
    pub seeds: u64,
    /// The constants of the software tracker.
    pub tracker: SoftwareTracker,
}

impl EvaluationOptions {
    /// How many trainings a comparison takes, for those who show how far it is.
    pub fn trainings(&self, data: &Dataset) -> Result<u64, IreneError> {
        let random = self.methods.iter().filter_map(|method| method.strategy());
        let random = random.filter(|strategy| *strategy != Strategy::PredictedSum).count() as u64;
        let each = random * self.features.len() as u64 * self.seeds.max(1);
        let folds = self.protocols.iter().map(|protocol| Ok(protocol.folds(data)?.len() as u64));
        Ok(folds.sum::<Result<u64, IreneError>>()? * each)
    }
}

impl Default for EvaluationOptions {
    fn default() -> EvaluationOptions {
        EvaluationOptions {
            methods: Method::ALL.to_vec(),
            protocols: vec![Protocol::Paper],
            features: vec![FeatureSet::Full],
            seeds: 5,
            tracker: SoftwareTracker::default(),
        }
    }
}

/// One line of the comparison; errors in percent, means over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationRow {
    /// The predictor.
    pub method: Method,
    /// The split.
    pub protocol: Protocol,
    /// What it looks at.
    pub features: FeatureSet,
    /// Primitives.
    pub ml: f64,
    /// Modules.
    pub module: f64,
    /// Whole models.
    pub model: f64,
    /// The standard deviation of `model` over the seeds; 0 where nothing is random.
    pub sd: f64,
    /// The standard deviation of `module` over the seeds.
    pub module_sd: f64,
    /// How many beginnings were tried.
    pub seeds: u64,
    /// The same means for each model that was left out: the paper's tables 5 and 6.
    #[serde(skip)]
    pub by_model: BTreeMap<String, LevelErrors>,
    /// Their standard deviations over the seeds.
    #[serde(skip)]
    pub by_model_sd: BTreeMap<String, LevelErrors>,
    /// The means of each kind of primitive: the paper's table 7.
    #[serde(skip)]
    pub by_kind: BTreeMap<String, f64>,
}

/// Compares predictors; returns the rows and what was done about anything that was never seen in training.
pub fn evaluate(
    data: &Dataset,
    options: &EvaluationOptions,
) -> Result<(Vec<EvaluationRow>, Vec<Warning>), IreneError> {
    evaluate_watched(data, options, &mut |_| {})
}

/// The same; `trained` is called after each training with the method and its data.
pub fn evaluate_watched(
    data: &Dataset,
    options: &EvaluationOptions,
    trained: &mut dyn FnMut(&str),
) -> Result<(Vec<EvaluationRow>, Vec<Warning>), IreneError> {
    let mut rows = Vec::new();
    let mut warnings = Vec::new();
    for &protocol in &options.protocols {
        let folds = protocol.folds(data)?;
        for &features in &options.features {
            let strategies: Vec<(Method, Strategy)> =
                options.methods.iter().filter_map(|method| Some((*method, method.strategy()?))).collect();
            if !strategies.is_empty() {
                let setting = Setting { protocol, features, seeds: options.seeds };
                let scores = published(data, &folds, setting, &strategies, &mut warnings, trained)?;
                for ((method, _), scores) in strategies.iter().zip(scores) {
                    rows.push(row(*method, protocol, features, &scores));
                }
            }
        }
        if options.methods.contains(&Method::OracleSum) {
            rows.push(row(Method::OracleSum, protocol, FeatureSet::Full, &[oracle(data, &folds)]));
        }
        if options.methods.contains(&Method::SoftwareTracker) {
            match tracked(data, &folds, &options.tracker) {
                Some(score) => {
                    rows.push(row(Method::SoftwareTracker, protocol, FeatureSet::Resources, &[score]));
                }
                None => warnings.push(Warning::new(
                    format!("{}, software-tracker", protocol.name()),
                    "there are nodes without logged utilisation and device energy; the method is left out",
                )),
            }
        }
        let mut ours: Vec<(Method, Known)> =
            options.methods.iter().filter_map(|method| Some((*method, method.known()?))).collect();
        ours.retain(|(method, known)| {
            let is_possible = data.has_what_is(*known);
            if !is_possible {
                let lacking = "there are nodes without a latency and a device energy; the method is left out";
                warnings.push(Warning::new(format!("{}, {}", protocol.name(), method.name()), lacking));
            }
            is_possible
        });
        if !ours.is_empty() {
            let scores = additive(data, &folds, protocol, &ours, &mut warnings)?;
            for ((method, known), score) in ours.iter().zip(scores) {
                let features = match known {
                    Known::Everything => FeatureSet::Resources,
                    Known::Leaves => FeatureSet::Full,
                    Known::Sizes => FeatureSet::Specs,
                };
                rows.push(row(*method, protocol, features, &[score]));
            }
        }
    }
    Ok((rows, warnings))
}

fn row(method: Method, protocol: Protocol, features: FeatureSet, scores: &[Score]) -> EvaluationRow {
    let errors: Vec<LevelErrors> = scores.iter().map(Score::errors).collect();
    let [(ml, _), (module, module_sd), (model, sd)] = each_level(&errors);
    let seeds = scores.len() as u64;
    let by_model =
        over_seeds(scores.iter().map(Score::by_model), |seeds| each_level(seeds).map(|(mean, _)| mean).into());
    let by_model_sd =
        over_seeds(scores.iter().map(Score::by_model), |seeds| each_level(seeds).map(|(_, sd)| sd).into());
    let by_kind = over_seeds(scores.iter().map(Score::by_kind), |seeds| mean_and_spread(seeds.iter().copied()).0);
    EvaluationRow {
        method,
        protocol,
        features,
        ml,
        module,
        model,
        sd,
        module_sd,
        seeds,
        by_model,
        by_model_sd,
        by_kind,
    }
}

/// The mean and the spread of each level over the seeds.
fn each_level(seeds: &[LevelErrors]) -> [(f64, f64); 3] {
    let level = |of: fn(&LevelErrors) -> f64| mean_and_spread(seeds.iter().map(of));
    [level(|errors| errors.ml), level(|errors| errors.module), level(|errors| errors.model)]
}

/// Joins what every seed says of the same name.
fn over_seeds<T>(
    maps: impl Iterator<Item = BTreeMap<String, T>>,
    join: impl Fn(&[T]) -> T,
) -> BTreeMap<String, T> {
    let mut gathered: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for (name, value) in maps.flatten() {
        gathered.entry(name).or_default().push(value);
    }
    gathered.into_iter().map(|(name, values)| (name, join(&values))).collect()
}

/// The mean and the sample standard deviation; one value has no spread.
fn mean_and_spread(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    if count < 2.0 {
        return (mean, 0.0);
    }
    let square: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    (mean, (square / (count - 1.0)).sqrt())
}

fn oracle(data: &Dataset, folds: &[Fold]) -> Score {
    let mut score = Score::default();
    for tree in folds.iter().flat_map(|fold| &fold.test).map(|&place| &data.trees[place]) {
        let mut energies = vec![Joules::ZERO; tree.nodes.len()];
        for (place, node) in tree.nodes.iter().enumerate() {
            if node.level == Level::Leaf {
                energies[place] = node.measured;
            }
            if let Some(parent) = node.parent {
                let own = energies[place];
                energies[parent] += own;
            }
        }
        score.add_tree(tree, energies);
    }
    score
}

fn tracked(data: &Dataset, folds: &[Fold], tracker: &SoftwareTracker) -> Option<Score> {
    let mut score = Score::default();
    for fold in folds {
        for tree in fold.test.iter().map(|&place| &data.trees[place]).chain(fold.loose_tried(data)) {
            score.add_tree(tree, tracker.tree(tree)?);
        }
    }
    Some(score)
}

fn additive(
    data: &Dataset,
    folds: &[Fold],
    protocol: Protocol,
    methods: &[(Method, Known)],
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Score>, IreneError> {
    let mut scores = vec![Score::default(); methods.len()];
    for fold in folds {
        let train: Vec<&Tree> = fold.learned(data).collect();
        let predictor = TreePredictor::fit(&train)?;
        let mut notes = BTreeSet::new();
        for tree in fold.test.iter().map(|&place| &data.trees[place]).chain(fold.loose_tried(data)) {
            for ((_, known), score) in methods.iter().zip(&mut scores) {
                let prediction = predictor.predict_knowing(tree, *known);
                score.add_tree(tree, prediction.nodes.iter().map(|node| node.energy));
                notes.extend(prediction.warnings.into_iter().map(|warning| warning.message));
            }
        }
        let source = format!("{}, without {}", protocol.name(), fold.name);
        warnings.extend(notes.into_iter().map(|note| Warning::new(source.clone(), note)));
    }
    Ok(scores)
}

/// How IrEne is trained.
#[derive(Clone, Copy)]
struct Setting {
    protocol: Protocol,
    features: FeatureSet,
    seeds: u64,
}

/// IrEne on every fold: for each strategy the scores of every seed.
fn published(
    data: &Dataset,
    folds: &[Fold],
    Setting { protocol, features, seeds }: Setting,
    strategies: &[(Method, Strategy)],
    warnings: &mut Vec<Warning>,
    trained: &mut dyn FnMut(&str),
) -> Result<Vec<Vec<Score>>, IreneError> {
    let mut scores: Vec<Vec<Score>> = strategies
        .iter()
        .map(|(_, strategy)| {
            let random = *strategy != Strategy::PredictedSum;
            vec![Score::default(); if random { seeds.max(1) as usize } else { 1 }]
        })
        .collect();
    let leaky = match protocol {
        Protocol::Paper => Some(leaky_preparation(data, folds, features, warnings)?),
        Protocol::LeakFree | Protocol::Family | Protocol::Shape => None,
    };
    for (number, fold) in folds.iter().enumerate() {
        let source = format!("{}, without {}", protocol.name(), fold.name);
        let clean;
        let (train, test): (Vec<&PreparedTree>, Vec<&PreparedTree>) = match &leaky {
            Some(all) => {
                (fold.train.iter().map(|&i| &all[i]).collect(), fold.test.iter().map(|&i| &all[i]).collect())
            }
            None => {
                clean = clean_preparation(data, fold, features, &source, warnings)?;
                (clean.0.iter().collect(), clean.1.iter().collect())
            }
        };
        if !fold.loose_test.is_empty() {
            let regressors = LeafRegressors::fit(fold.learned(data), features)?;
            tell_stand_ins(&regressors, fold.loose_tried(data), &source, warnings);
            for tree in fold.loose_tried(data) {
                let energies = leaf_energies(&regressors, tree)?;
                scores.iter_mut().flatten().for_each(|score| score.add_tree(tree, energies.iter().copied()));
            }
        }
        for ((method, strategy), scores) in strategies.iter().zip(&mut scores) {
            for (seed, score) in (FIRST_SEED..).zip(scores) {
                let random = SeededGenerator::new(seed, number as u64);
                let regressor = TreeRegressor::train(&train, *strategy, random)?;
                for (prepared, &place) in test.iter().zip(&fold.test) {
                    score.add_tree(&data.trees[place], regressor.predict(prepared));
                }
                if *strategy != Strategy::PredictedSum {
                    trained(&format!("{}, {}, without {}", method.name(), protocol.name(), fold.name));
                }
            }
        }
    }
    Ok(scores)
}

fn leaf_energies(regressors: &LeafRegressors, tree: &Tree) -> Result<Vec<Joules>, IreneError> {
    let energy = |node: &super::tree::Node| match node.level {
        Level::Leaf => regressors.predict(tree, node),
        Level::Module | Level::Model => Ok(Joules::ZERO),
    };
    tree.nodes.iter().map(energy).collect()
}

/// As published: one standardisation over everything, and each model's leaves from the fit without that model, whichever
/// model is being tried.
fn leaky_preparation(
    data: &Dataset,
    folds: &[Fold],
    features: FeatureSet,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<PreparedTree>, IreneError> {
    let preparation = Preparation::fit(&data.trees, features, RootParameters::Zero)?;
    let mut prepared: Vec<Option<PreparedTree>> = vec![None; data.trees.len()];
    for fold in folds {
        let regressors = LeafRegressors::fit(fold.learned(data), features)?;
        let source = format!("{}, without {}", Protocol::Paper.name(), fold.name);
        tell_stand_ins(&regressors, fold.test.iter().map(|&place| &data.trees[place]), &source, warnings);
        for &place in &fold.test {
            let tree = &data.trees[place];
            prepared[place] = Some(preparation.apply(tree, &leaf_energies(&regressors, tree)?)?);
        }
    }
    Ok(prepared.into_iter().flatten().collect())
}

/// Without leaks: everything is fitted on the training trees of the fold.
fn clean_preparation(
    data: &Dataset,
    fold: &Fold,
    features: FeatureSet,
    source: &str,
    warnings: &mut Vec<Warning>,
) -> Result<(Vec<PreparedTree>, Vec<PreparedTree>), IreneError> {
    let train = || fold.train.iter().map(|&place| &data.trees[place]);
    let regressors = LeafRegressors::fit(fold.learned(data), features)?;
    let preparation = Preparation::fit(train(), features, RootParameters::Counted)?;
    tell_stand_ins(&regressors, fold.test.iter().map(|&place| &data.trees[place]), source, warnings);
    let prepare = |places: &[usize]| -> Result<Vec<PreparedTree>, IreneError> {
        let trees = places.iter().map(|&place| &data.trees[place]);
        trees.map(|tree| preparation.apply(tree, &leaf_energies(&regressors, tree)?)).collect()
    };
    Ok((prepare(&fold.train)?, prepare(&fold.test)?))
}

/// Says which kinds of primitives were never seen in training, and what is done about them.
fn tell_stand_ins<'a>(
    regressors: &LeafRegressors,
    tried: impl Iterator<Item = &'a Tree>,
    source: &str,
    warnings: &mut Vec<Warning>,
) {
    let leaves = tried.flat_map(|tree| &tree.nodes).filter(|node| node.level == Level::Leaf);
    let kinds: BTreeSet<&str> = leaves.map(|node| node.kind.as_str()).collect();
    for note in kinds.into_iter().filter_map(|kind| regressors.note(kind)) {
        let warning = Warning::new(source, note);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}
