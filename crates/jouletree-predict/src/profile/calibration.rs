//! `calibration.json`: what `jouletree calibrate` measured, node by node.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jouletree_model::{Joules, Kind, ModelTree, Warning, Watts};
use serde::{Deserialize, Serialize};

use super::sketch::{AttentionForm, NodeEnergy, Sketch};
use crate::irene::{Seconds, Tree};

/// The version of the file that this program reads.
const VERSION: u32 = 1;

/// Models whose nodes were measured one by one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The version of the file.
    pub version: u32,
    /// What ran the models, with its version.
    pub framework: String,
    /// How nodes were measured.
    pub protocol: CalibrationProtocol,
    /// The power of each device while nothing ran.
    pub standby: Vec<Standby>,
    /// The kind of the energies.
    pub kind: Kind,
    /// The models.
    pub trees: Vec<MeasuredTree>,
    /// What was odd and what was done about it.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// How nodes were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationProtocol {
    /// How long a node was repeated in a round.
    pub seconds: f64,
    /// How many rounds there were.
    pub rounds: u32,
    /// The rest after each repetition.
    pub cool_down_s: f64,
    /// By what share the power before a repetition may exceed that of standby.
    pub standby_tolerance: f64,
}

/// The power of a device while nothing ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standby {
    /// The device.
    pub device: String,
    /// Its mean power.
    pub watts: Watts,
    /// The standard deviation over stretches of a second.
    #[serde(rename = "sd_watts")]
    pub deviation: Watts,
    /// How many stretches.
    pub stretches: u32,
}

/// A model at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredTree {
    /// Its name.
    pub model: String,
    /// Samples of a call.
    pub batch: u64,
    /// Tokens of a sample.
    pub sequence: u64,
    /// Its modules and operations.
    pub tree: ModelTree,
    /// What was measured.
    pub nodes: Vec<MeasuredNode>,
}

/// What was measured of one node, for one call of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredNode {
    /// Its path; empty for the model.
    pub path: String,
    /// The node of the same class and shapes that was measured in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// What the program used on all devices.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// The standard deviation over rounds.
    #[serde(rename = "sd_j")]
    pub deviation: Joules,
    /// What the machine used, where it has a meter of its own.
    #[serde(rename = "machine_j", default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Joules>,
    /// How long a call took.
    pub seconds: f64,
    /// Calls over all rounds.
    pub calls: u64,
    /// Rounds that began at standby.
    pub stable_rounds: u32,
}

/// A calibration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is not what it should be.
    #[error("{}: {error}; calibrate again, or take the whole folder that `jouletree calibrate` wrote", path.display())]
    NotACalibration {
        /// The file.
        path: PathBuf,
        /// Where and why.
        error: serde_json::Error,
    },
    /// Another version wrote it.
    #[error("{}: it has version {found}, and this jouletree reads version {VERSION}; calibrate again", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A number that no meter gives.
    #[error("{}: {model}: `{node}` has an energy of {energy} J in {seconds} s; remove this node or calibrate again", path.display())]
    Impossible {
        /// The file.
        path: PathBuf,
        /// The model.
        model: String,
        /// The node.
        node: String,
        /// Its energy.
        energy: f64,
        /// Its time.
        seconds: f64,
    },
}

impl Calibration {
    /// The name of the file in a run's folder.
    pub const FILE: &'static str = "calibration.json";

    /// Reads and checks a calibration.
    pub fn read(path: &Path) -> Result<Calibration, CalibrationError> {
        let text = fs::read_to_string(path)
            .map_err(|error| CalibrationError::Unreadable { path: path.to_owned(), error })?;
        Calibration::parse(&text, path)
    }

    /// Reads and checks the text of a calibration; `path` names it in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Calibration, CalibrationError> {
        let calibration: Calibration = serde_json::from_str(text)
            .map_err(|error| CalibrationError::NotACalibration { path: path.to_owned(), error })?;
        if calibration.version != VERSION {
            return Err(CalibrationError::Version { path: path.to_owned(), found: calibration.version });
        }
        for tree in &calibration.trees {
            for node in &tree.nodes {
                let numbers = [Some(node.energy.0), node.machine.map(|energy| energy.0), Some(node.seconds)];
                let is_possible = |number: f64| number.is_finite() && number >= 0.0;
                if !numbers.into_iter().flatten().all(is_possible) {
                    return Err(CalibrationError::Impossible {
                        path: path.to_owned(),
                        model: tree.model.clone(),
                        node: node.path.clone(),
                        energy: node.energy.0,
                        seconds: node.seconds,
                    });
                }
            }
        }
        Ok(calibration)
    }

    /// What the user should know about it.
    pub fn warnings(&self, source: &str) -> Vec<Warning> {
        self.warnings.iter().map(|message| Warning::new(source, message.as_str())).collect()
    }
}

impl MeasuredTree {
    /// The tree with the sizes and energies of its nodes.
    pub fn tree(&self) -> (Tree, Sketch) {
        let sketch = Sketch::of_tree(&self.tree, &self.model, self.batch, self.sequence);
        let nodes: BTreeMap<&str, &MeasuredNode> =
            self.nodes.iter().map(|node| (node.path.as_str(), node)).collect();
        let measured = |path: &str| {
            let node = nodes.get(path)?;
            Some(match node.machine {
                Some(machine) => {
                    NodeEnergy { energy: machine, device: Some((Seconds(node.seconds), node.energy)) }
                }
                None => NodeEnergy { energy: node.energy, device: None },
            })
        };
        (sketch.tree(AttentionForm::Apart, measured), sketch)
    }
}
