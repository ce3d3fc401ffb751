//! Whether runs are of the same program, so that they have a mean: their program, frameworks, machine, meters, batch sizes and
//! models.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::path::Path;

use jouletree_model::{Footprint, Joules, Pass, Program};
use jouletree_run::{Manifest, RunFolder};

/// Operations that another run does not have may use this part of a run.
const OTHER_MODEL: f64 = 0.1;
/// A longer text is cut.
const LONGEST: usize = 60;

/// What differs between runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is.
    pub what: What,
    /// Its value in each run that has one, and the run.
    pub values: Vec<(String, String)>,
}

/// What may differ between runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The script or the command.
    Program,
    /// What computes, with its version.
    Frameworks,
    /// The processor and its size.
    Machine,
    /// The devices with power and how it is known.
    Meters,
    /// How many samples a step works on.
    BatchSize,
    /// The layers.
    Model,
}

impl What {
    /// Whether a study may vary it: its runs are still of one program on one machine.
    pub fn may_vary(self) -> bool {
        matches!(self, What::BatchSize | What::Model)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            What::Program => "program",
            What::Frameworks => "frameworks",
            What::Machine => "machine",
            What::Meters => "meters",
            What::BatchSize => "batch size",
            What::Model => "model",
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values.iter().map(|(run, value)| format!("{value} in {run}")).collect();
        write!(f, "{}: {}", self.what, values.join(", "))
    }
}

/// One run, as far as it is compared.
pub struct Compared<'a> {
    /// Where it is.
    pub folder: &'a RunFolder,
    /// Where its energy went.
    pub footprint: &'a Footprint,
    /// What it noted about itself.
    pub program: Program,
}

/// What differs between runs; what is unknown of a run differs from nothing.
pub fn differences(runs: &[Compared<'_>]) -> Vec<Difference> {
    let compared = |what: What, of: &dyn Fn(&Compared<'_>) -> Option<String>| -> Option<Difference> {
        let known =
            runs.iter().filter_map(|run| Some((name_of(run.folder), of(run).filter(|value| !value.is_empty())?)));
        let mut values: Vec<(String, String)> = Vec::new();
        for (run, value) in known {
            if values.iter().all(|(_, other)| *other != value) {
                values.push((run, value));
            }
        }
        (values.len() > 1).then_some(Difference { what, values })
    };
    let of_manifest =
        |what: What, of: fn(&Manifest) -> Option<String>| compared(what, &|run| of(run.folder.manifest()));
    let found = [
        of_manifest(What::Program, program),
        of_manifest(What::Frameworks, frameworks),
        of_manifest(What::Machine, machine),
        compared(What::Meters, &|run| Some(meters(run.footprint))),
        compared(What::BatchSize, &|run| Some(batch_sizes(&run.program))),
        other_model(runs),
    ];
    found.into_iter().flatten().collect()
}

fn name_of(folder: &RunFolder) -> String {
    let name = folder.path().file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| folder.path().display().to_string())
}

/// The script, the module or the code that Python ran; else the command's name.
fn program(manifest: &Manifest) -> Option<String> {
    let command = &manifest.recording.as_ref()?.command;
    let file =
        |word: &str| Path::new(word).file_name().map_or(word.to_owned(), |name| name.to_string_lossy().into());
    let first = file(command.first()?);
    if !first.starts_with("python") {
        return Some(first);
    }
    let mut words = command.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-c" | "-m" => return Some(shortened(&format!("{word} {}", words.next()?))),
            "-W" | "-X" => drop(words.next()),
            option if option.starts_with('-') => {}
            script => return Some(file(script)),
        }
    }
    Some(first)
}

fn frameworks(manifest: &Manifest) -> Option<String> {
    let named: BTreeMap<&String, &String> =
        manifest.processes.iter().flat_map(|process| &process.frameworks).collect();
    Some(named.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(" and "))
}

fn machine(manifest: &Manifest) -> Option<String> {
    let host = &manifest.recording.as_ref()?.host;
    let cpus = host.cpus.map(|cpus| format!("{cpus} CPUs"));
    Some([host.cpu.clone(), cpus].into_iter().flatten().collect::<Vec<_>>().join(" with "))
}

fn meters(footprint: &Footprint) -> String {
    let known = footprint.devices.iter().filter(|balance| balance.total.is_some());
    let named = known.filter_map(|balance| Some(format!("{} {}", balance.device.class(), balance.kind?)));
    named.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>().join(" and ")
}

/// The usual number of samples of a step, by what steps do.
fn batch_sizes(program: &Program) -> String {
    let mut counts: BTreeMap<&str, BTreeMap<u64, usize>> = BTreeMap::new();
    for step in program.steps() {
        if let Some(samples) = step.samples.filter(|samples| *samples > 0) {
            *counts.entry(&step.name).or_default().entry(samples).or_default() += 1;
        }
    }
    let usual = counts.into_iter().filter_map(|(phase, counts)| {
        let (samples, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        Some(format!("{samples} ({phase})"))
    });
    usual.collect::<Vec<_>>().join(" and ")
}

/// How much of each run is in operations that another does not have.
fn other_model(runs: &[Compared<'_>]) -> Option<Difference> {
    let operations = |run: &Compared<'_>| -> Vec<(Box<str>, Joules)> {
        let charged = run.footprint.energies.iter().filter_map(|charged| {
            let op = run.footprint.ops.get(charged.op).filter(|op| op.pass == Pass::Forward)?;
            Some((op.path.clone(), charged.energy))
        });
        charged.collect()
    };
    let all: Vec<Vec<(Box<str>, Joules)>> = runs.iter().map(operations).collect();
    let paths: Vec<HashSet<&str>> = all.iter().map(|run| run.iter().map(|(path, _)| &**path).collect()).collect();
    let with_operations: Vec<usize> = (0..runs.len()).filter(|run| !paths[*run].is_empty()).collect();
    let foreign = |run: usize| -> f64 {
        let total: f64 = all[run].iter().map(|(_, energy)| energy.0).sum();
        let missing = |other: usize| -> f64 {
            all[run].iter().filter(|(path, _)| !paths[other].contains(&**path)).map(|(_, energy)| energy.0).sum()
        };
        let most = with_operations.iter().map(|other| missing(*other)).fold(0.0, f64::max);
        if total > 0.0 { most / total } else { 0.0 }
    };
    let shares: Vec<(usize, f64)> = with_operations.iter().map(|run| (*run, foreign(*run))).collect();
    if shares.iter().all(|(_, share)| *share <= OTHER_MODEL) {
        return None;
    }
    let value = |(run, share): &(usize, f64)| {
        let text = format!("{:.0} % of forward energy in operations that another run lacks", 100.0 * share);
        (name_of(runs[*run].folder), text)
    };
    Some(Difference { what: What::Model, values: shares.iter().map(value).collect() })
}

fn shortened(text: &str) -> String {
    let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if line.chars().count() <= LONGEST { line } else { line.chars().take(LONGEST).chain(['…']).collect() }
}
