//! Peers: what other programs reach at the same tasks, measured by `peers.py` where a Python is given.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::figure::Peer;

/// A figure of a peer from an earlier measurement on a comparable machine.
pub type Earlier = (&'static str, &'static str);

/// Reading a Kineto trace, in MB/s of JSON per core. The typed serde_json reader was an experiment without accounting.
pub const READING_EARLIER: [Earlier; 5] = [
    ("Python json", "46"),
    ("orjson", "70"),
    ("msgspec, 7 fields", "420"),
    ("HTA", "17–23"),
    ("serde_json, typed", "470–620"),
];

/// The same from gzip. The experiment inflated and parsed on one core.
pub const UNPACKING_EARLIER: [Earlier; 1] = [("serde_json, typed, streaming", "212")];

/// Aligning events with power where they overlap, in M events/s per core.
pub const ALIGNING_EARLIER: [Earlier; 2] = [("numpy", "6.7"), ("Smaragdine's Python", "0.1")];

/// Reading events from Parquet, in M events/s per core. Pyarrow only read three columns and accounted nothing.
pub const LOADING_EARLIER: [Earlier; 1] = [("pyarrow, reading alone", "14.3")];

/// The Python to measure peers with, if there is one.
#[derive(Debug, Default)]
pub struct Peers {
    /// The interpreter.
    pub python: Option<PathBuf>,
    /// Whether HTA is measured, too, which takes long.
    pub hta: bool,
}

/// Peers as they were measured earlier.
pub fn earlier_figures(earlier: &[Earlier]) -> Vec<Peer> {
    let peer =
        |(name, value): &Earlier| Peer { name: (*name).to_owned(), value: (*value).to_owned(), measured: false };
    earlier.iter().map(peer).collect()
}

/// What `peers.py` prints, one JSON object a line.
#[derive(Deserialize)]
struct Line {
    peer: String,
    value: Option<f64>,
    skipped: Option<String>,
}

impl Peers {
    /// What peers reach at `task`, the names of which `peers.py` knows; those that are not measured now as they were
    /// measured earlier.
    pub fn measure(&self, task: &str, arguments: &[&OsStr], earlier: &[Earlier]) -> Result<Vec<Peer>> {
        let mut peers = match &self.python {
            Some(python) => self.run(python, task, arguments)?,
            None => Vec::new(),
        };
        let missing =
            earlier_figures(earlier).into_iter().filter(|one| !peers.iter().any(|peer| peer.name == one.name));
        let missing: Vec<Peer> = missing.collect();
        peers.extend(missing);
        Ok(peers)
    }

    fn run(&self, python: &Path, task: &str, arguments: &[&OsStr]) -> Result<Vec<Peer>> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers.py");
        let mut command = Command::new(python);
        command.arg(script).arg(task).args(arguments).stderr(Stdio::inherit());
        if self.hta {
            command.arg("--hta");
        }
        let output = command.output().with_context(|| format!("cannot run {}", python.display()))?;
        ensure!(output.status.success(), "the peers at `{task}` failed; their message is above");
        let mut peers = Vec::new();
        for line in String::from_utf8(output.stdout)?.lines() {
            let line: Line = serde_json::from_str(line).with_context(|| format!("peers.py printed `{line}`"))?;
            match line.value {
                Some(value) => {
                    let decimals = if value < 20.0 { 1 } else { 0 };
                    peers.push(Peer { name: line.peer, value: format!("{value:.decimals$}"), measured: true });
                }
                None => eprintln!("  {} skipped: {}", line.peer, line.skipped.unwrap_or_default()),
            }
        }
        Ok(peers)
    }
}
