//! A profile: everything that is needed to predict models on one machine, in one file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jouletree_model::{Joules, Kind, Pass, Warning, Watts};
use serde::{Deserialize, Serialize};

use super::predicted::Predicted;
use super::sketch::{AttentionForm, Sketch};
use crate::irene::{IreneError, Level, Tree, TreePredictor};

/// What the file says it is.
const FORMAT: &str = "jouletree-profile";
/// The version of the file.
const VERSION: u32 = 1;

/// What one machine taught.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    format: String,
    version: u32,
    /// The version of the jouletree that wrote it.
    pub jouletree: String,
    /// The kind of the energies that it was trained on.
    pub trained_on_kind: Kind,
    /// The devices.
    pub devices: Vec<DeviceConstants>,
    /// What it was trained on.
    pub trained_on: Vec<TrainedOn>,
    /// The predictor of each pass.
    pub passes: BTreeMap<Pass, TreePredictor>,
    /// What the optimiser takes for each parameter in a step; `None` when no training was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer_j_per_parameter: Option<f64>,
}

/// What is known of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceConstants {
    /// The device.
    pub device: String,
    /// Its power while nothing runs, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "standby_w")]
    pub standby: Option<Watts>,
}

/// One tree behind a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainedOn {
    /// The run it comes from.
    pub run: String,
    /// `calibration` or `footprint`.
    pub source: String,
    /// The model.
    pub model: String,
    /// Samples of a call.
    pub batch: u64,
    /// Tokens of a sample.
    pub sequence: u64,
    /// The pass.
    pub pass: Pass,
    /// Primitives with an energy.
    pub primitives: usize,
    /// Modules with an energy, the model included.
    pub modules: usize,
}

/// A tree to train on.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingTree {
    /// Where it comes from: the run, and `calibration` or `footprint`.
    pub run: String,
    /// `calibration` or `footprint`.
    pub source: &'static str,
    /// Its pass.
    pub pass: Pass,
    /// Sizes and energies.
    pub tree: Tree,
}

/// A profile that cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// No training was among what it learned from.
    #[error(
        "the profile has seen no optimizer; train it on a run of a training, too: jouletree train CALIBRATION RUN"
    )]
    NoOptimizer,
    /// The file cannot be read.
    #[error("{}: {error}; make a profile with `jouletree train RUN… -o profile.json`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is not what it should be.
    #[error("{}: {error}; make a profile with `jouletree train RUN… -o profile.json`", path.display())]
    NotAProfile {
        /// The file.
        path: PathBuf,
        /// Where and why.
        error: serde_json::Error,
    },
    /// Another program or version wrote it.
    #[error("{}: it is {found}, and this jouletree reads {FORMAT} {VERSION}; train it again", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// Training failed.
    #[error("the {pass} pass: {error}")]
    Training {
        /// The pass.
        pass: Pass,
        /// Why.
        error: IreneError,
    },
    /// There is nothing to train on.
    #[error("there is nothing to train on; give folders of `jouletree calibrate` or of `jouletree run`")]
    Nothing,
    /// A pass that the profile does not know.
    #[error("the profile was not trained on the {0} pass; train it on runs of a training, too")]
    UnknownPass(Pass),
}

impl Profile {
    /// What the optimiser takes in a step of a model whose passes these are.
    pub fn optimizer(&self, passes: &[Predicted]) -> Result<Option<Joules>, ProfileError> {
        let each = self.optimizer_j_per_parameter.ok_or(ProfileError::NoOptimizer)?;
        let root = passes.first().and_then(|predicted| predicted.nodes.first());
        Ok(root.map(|root| Joules(each * root.parameters)))
    }

    /// Trains a profile on trees.
    pub fn train(
        trees: &[TrainingTree],
        devices: Vec<DeviceConstants>,
        kind: Kind,
    ) -> Result<(Profile, Vec<Warning>), ProfileError> {
        let mut passes = BTreeMap::new();
        let mut warnings = Vec::new();
        for pass in Pass::ALL {
            let of_pass: Vec<&Tree> =
                trees.iter().filter(|tree| tree.pass == pass).map(|tree| &tree.tree).collect();
            if of_pass.is_empty() {
                continue;
            }
            let predictor =
                TreePredictor::fit(&of_pass).map_err(|error| ProfileError::Training { pass, error })?;
            if !predictor.has_intervals() {
                let message = "there are too few models and sizes to estimate the error of predictions of whole models: \
                               they have no intervals; calibrate more models or sizes";
                warnings.push(Warning::new(format!("{pass} pass"), message));
            }
            if of_pass.iter().all(|tree| tree.root().is_none_or(|root| root.measured.0 <= 0.0)) {
                let message = "no whole model was measured: what lies between modules is not known";
                warnings.push(Warning::new(format!("{pass} pass"), message));
            }
            passes.insert(pass, predictor);
        }
        if passes.is_empty() {
            return Err(ProfileError::Nothing);
        }
        let profile = Profile {
            format: FORMAT.to_owned(),
            version: VERSION,
            jouletree: env!("CARGO_PKG_VERSION").to_owned(),
            trained_on_kind: kind,
            devices,
            trained_on: trees.iter().map(TrainedOn::of).collect(),
            passes,
            optimizer_j_per_parameter: None,
        };
        Ok((profile, warnings))
    }

    /// Reads a profile.
    pub fn read(path: &Path) -> Result<Profile, ProfileError> {
        let text =
            fs::read_to_string(path).map_err(|error| ProfileError::Unreadable { path: path.to_owned(), error })?;
        Profile::parse(&text, path)
    }

    /// Reads the text of a profile; `path` names it in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Profile, ProfileError> {
        let profile: Profile = serde_json::from_str(text)
            .map_err(|error| ProfileError::NotAProfile { path: path.to_owned(), error })?;
        if profile.format != FORMAT || profile.version != VERSION {
            let found = format!("{} {}", profile.format, profile.version);
            return Err(ProfileError::Version { path: path.to_owned(), found });
        }
        Ok(profile)
    }

    /// Predicts one pass of a model.
    pub fn predict(&self, sketch: &Sketch, pass: Pass) -> Result<Predicted, ProfileError> {
        let predictor = self.passes.get(&pass).ok_or(ProfileError::UnknownPass(pass))?;
        // Attention is predicted as it was measured.
        let knows = |kind| predictor.leaves().knows(kind);
        let form =
            if knows("attention") && !knows("matmul") { AttentionForm::Fused } else { AttentionForm::Apart };
        let tree = sketch.tree(form, |_| None);
        let prediction = predictor.predict(&tree);
        Ok(Predicted::new(sketch, tree, pass, prediction))
    }
}

impl TrainedOn {
    fn of(training: &TrainingTree) -> TrainedOn {
        let tree = &training.tree;
        let seen = |is_leaf: bool| {
            let nodes = tree.nodes.iter().filter(|node| node.measured.0 > 0.0);
            nodes.filter(|node| (node.level == Level::Leaf) == is_leaf).count()
        };
        TrainedOn {
            run: training.run.clone(),
            source: training.source.to_owned(),
            model: tree.model.clone(),
            batch: tree.batch_size as u64,
            sequence: tree.seq_len as u64,
            pass: training.pass,
            primitives: seen(true),
            modules: seen(false),
        }
    }
}
