//! How the numbers came to be: what was run, where, measured by what, accounted how, and how to do it again.

use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};

use jouletree_model::{Nanos, Origin, Rule, TraceSource};
use jouletree_run::{Recording, RunFolder, SensorRecord};

use crate::disclosure::Disclosure;

/// How the numbers of one run came to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Provenance {
    /// Its folder.
    pub path: PathBuf,
    /// Facts with their names, in an order in which one reads them.
    pub facts: Vec<(&'static str, String)>,
    /// What was metered, and by what.
    pub sensors: Vec<SensorRecord>,
    /// Commands that make the run and this report again.
    pub commands: Vec<String>,
}

impl Provenance {
    pub(super) fn of(folder: &RunFolder) -> Provenance {
        let manifest = folder.manifest();
        let mut facts: Vec<(&'static str, String)> = Vec::new();
        let mut commands = Vec::new();
        if let Some(recording) = &manifest.recording {
            facts.extend(of_recording(recording));
            if !recording.command.is_empty() {
                let verb = if manifest.accounting.is_some() { "run" } else { "record" };
                commands.push(format!("jouletree {verb} -- {}", quoted(&recording.command)));
            }
        }
        let mut frameworks: BTreeMap<&str, &str> = BTreeMap::new();
        for process in &manifest.processes {
            if !process.python.is_empty() {
                frameworks.insert("Python", &process.python);
            }
            frameworks.extend(process.frameworks.iter().map(|(name, version)| (name.as_str(), version.as_str())));
        }
        if !frameworks.is_empty() {
            let named: Vec<String> =
                frameworks.iter().map(|(name, version)| format!("{name} {version}")).collect();
            facts.push(("frameworks", named.join(", ")));
        }
        if let Some(accounting) = &manifest.accounting {
            if accounting.origin == Origin::Accounted {
                let rule = accounting.rule.map_or("by unit", Rule::as_str);
                facts.push(("accounted with", format!("{rule} rule, {} semantics", accounting.semantics)));
            }
            if manifest.recording.is_none() && !accounting.command.is_empty() {
                commands.push(quoted(&accounting.command));
            }
        }
        let traces = traces(&manifest.sources);
        if !traces.is_empty() {
            facts.push((TRACES, traces));
        }
        facts.push(("jouletree", manifest.jouletree.clone()));
        facts.push(("created", manifest.created.clone()));
        facts.push((FOLDER, folder.path().display().to_string()));
        commands.push(format!("jouletree report {}", quoted(&[folder.path().display().to_string()])));
        let sensors = manifest.recording.as_ref().map(|recording| recording.sensors.clone()).unwrap_or_default();
        Provenance { path: folder.path().to_owned(), facts, sensors, commands }
    }

    /// The same as it may be shown.
    pub(super) fn disclosed(mut self, disclosure: &Disclosure) -> Provenance {
        if disclosure.is_anonymous() {
            // Traces are named after hosts and processes.
            self.facts.retain(|(name, _)| *name != HOST && *name != TRACES);
        }
        for (name, text) in &mut self.facts {
            let is_path = [COMMAND, TRACES, FOLDER].contains(name);
            *text = if is_path { disclosure.command(text) } else { disclosure.text(text) };
        }
        for sensor in &mut self.sensors {
            sensor.device = disclosure.device(&sensor.device);
            sensor.source = disclosure.text(&sensor.source);
        }
        self.commands.iter_mut().for_each(|command| *command = disclosure.command(command));
        self
    }
}

/// What facts are called that hold names of folders,
const COMMAND: &str = "command";
const TRACES: &str = "traces";
const FOLDER: &str = "run folder";
/// and the one that names the machine.
const HOST: &str = "host";
/// More traces are counted.
const FEW_TRACES: usize = 3;

/// The traces by their format; of many, how many they are.
fn traces(sources: &[TraceSource]) -> String {
    let mut formats: Vec<(&str, Vec<&str>)> = Vec::new();
    for source in sources {
        match formats.iter_mut().find(|(format, _)| *format == source.format) {
            Some((_, files)) => files.push(&source.file),
            None => formats.push((&source.format, vec![&source.file])),
        }
    }
    let listed = |(format, files): &(&str, Vec<&str>)| match files.as_slice() {
        many if many.len() > FEW_TRACES => format!("{} files ({format})", many.len()),
        few => format!("{} ({format})", few.join(", ")),
    };
    formats.iter().map(listed).collect::<Vec<_>>().join(", ")
}

fn of_recording(recording: &Recording) -> Vec<(&'static str, String)> {
    let host = &recording.host;
    let cpus = host.cpus.map(|cpus| format!("{cpus} CPUs"));
    let machine: Vec<&str> =
        [&host.cpu, &cpus, &host.os, &host.kernel].into_iter().flatten().map(String::as_str).collect();
    let mut facts = vec![
        (COMMAND, quoted(&recording.command)),
        (HOST, host.name.clone().unwrap_or_default()),
        ("machine", machine.join(", ")),
        ("duration", Nanos(recording.duration_ns).to_string()),
        ("meters read every", Nanos(recording.period_ns).to_string()),
        ("samples", format!("{}, {} lost", recording.samples, recording.lost_samples)),
    ];
    if let Some(source) = &recording.share_source {
        facts.push(("processor time from", source.clone()));
    }
    if let Some(time) = recording.own_time_ns {
        facts.push(("the monitor's processor time", Nanos(time).to_string()));
    }
    facts.retain(|(_, text)| !text.is_empty());
    facts
}

/// What was run, in a few words.
pub(super) fn title(folder: &RunFolder) -> String {
    let manifest = folder.manifest();
    let command = manifest.recording.as_ref().and_then(|recording| {
        let (program, arguments) = recording.command.split_first()?;
        // Where Python lies says nothing about what it ran.
        let program = Path::new(program).file_name().map_or(program.into(), |name| name.to_string_lossy());
        Some(iter::once(&*program).chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" "))
    });
    command.unwrap_or_else(|| {
        let name = folder.path().file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| folder.path().display().to_string())
    })
}

/// The name of the program that a command runs: `train.py` of `python -u train.py --fast`; `None` where there is no command.
pub fn program_name(folder: &RunFolder) -> Option<String> {
    let (program, arguments) = folder.manifest().recording.as_ref()?.command.split_first()?;
    let last = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let program = last(program)?;
    if !program.starts_with("python") {
        return Some(program);
    }
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-m" => return arguments.next().cloned().or(Some(program)),
            // Its text is no name.
            "-c" => return Some(program),
            "-W" | "-X" => drop(arguments.next()),
            option if option.starts_with('-') => {}
            script => return last(script).or(Some(program)),
        }
    }
    Some(program)
}

/// A command as one can type it.
fn quoted(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let word = |word: &String| match word.chars().all(is_plain) && !word.is_empty() {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_typed() {
        let words = ["python", "-c", "print('a b')", "", "x=1"].map(str::to_owned);
        assert_eq!(quoted(&words), r"python -c 'print('\''a b'\'')' '' x=1");
    }
}
