//! `jouletree run`: a program is recorded as it is, and its joules are accounted to its layers and operations.
//!
//! Power is recorded as by `jouletree record`. Meanwhile the Python package, which the program's Python finds through its
//! search path, has frameworks record what they do; afterwards both are aligned. Nothing of this harms the program.

mod args;
mod finish;
mod stable;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use jouletree_model::{Kind, Nanos};

use crate::launch::{self, Environment};
use crate::reader::Reader;
use crate::recording::{OngoingRecording, Subject, default_output};
use crate::windows::Resting;
use jouletree_session::finish::TRACES;
use jouletree_session::package::Package;
use jouletree_session::unfollowed::{Needed, Unfollowed};

pub use args::{EXAMPLES, Level, RunArgs};
pub use finish::opened;

/// How often meters are read, and how often a model is asked, by default.
const METERED: Nanos = Nanos(4_000_000);
const ESTIMATED: Nanos = Nanos(20_000_000);
/// The same where operations are not distinguished.
const ESTIMATED_WHOLE: Nanos = Nanos(100_000_000);

/// Runs the command.
pub fn run(arguments: &RunArgs) -> Result<ExitCode> {
    if cfg!(not(feature = "patch")) && arguments.levels.contains(&Level::Call) {
        bail!("this build records no calls; build jouletree with its feature `patch`");
    }
    let limits = arguments.stable.limits();
    if limits.is_some() && arguments.called().is_empty() {
        bail!("--stable holds recorded calls back, and no calls are recorded; add --level call");
    }
    let output = arguments.output.clone().unwrap_or_else(|| named_after(&arguments.command));
    let output = std::path::absolute(output).context("the current folder is not known")?;
    let intensity = arguments.carbon.known_intensity()?;
    let outputs = arguments.live.open(intensity.clone(), arguments.quiet)?;
    let reader = arguments.reader.open()?;
    // Held until the program has ended: it may be in a folder of this run.
    let package = package(arguments);
    let environment = environment(arguments, &output, package.as_ref());
    let mut subject = Subject::command(&arguments.command, &environment)?;
    let roots = arguments.reader.roots();
    if let Some(limits) = limits {
        let most = limits.time_out.seconds();
        say(arguments, || format!("each call waits until the machine is stable, up to {most} s at a time"));
        subject.judge_rest(Resting { limits, sys: roots.sys.clone() });
    }
    let period = match arguments.period {
        Some(period) => period,
        None => usual_period(&reader, arguments.level())?,
    };
    let mut recording =
        OngoingRecording::begin(&reader, &roots, &mut subject, period, &arguments.command, &output, &outputs)?;
    recording.share_if(arguments.share);
    let traces = output.join(TRACES);
    // Also in a run that is shared: process.json there holds commands as they are.
    DirBuilder::new()
        .mode(0o700)
        .create(&traces)
        .with_context(|| format!("cannot create {}", traces.display()))?;
    if let Some(start) = start_folder(&environment).filter(|_| arguments.level() != Level::Process) {
        recording.look_for(Unfollowed::new(&roots.proc, Needed { traces, start }));
    }
    say(arguments, || format!("recording to {}", shown(&output)));
    subject.go()?;
    let status = recording.follow(&mut subject, None)?;
    // From here on Ctrl-C ends this program, too.
    drop(subject);
    let done = launch::attempted(|| {
        let recorded = recording.finish(status)?;
        finish::account(&recorded.run, arguments, intensity.as_ref())?;
        recorded.whole()
    });
    outputs.end();
    drop(package);
    launch::passed_on(status, done, arguments.strict)
}

/// How often meters are read by default. A model learns what processors do from ticks of ten milliseconds: to look
/// more often would cost the program and add nothing.
fn usual_period(reader: &Reader, level: Level) -> Result<Nanos> {
    let is_metered = reader.sensors()?.iter().any(|sensor| sensor.kind != Kind::Estimated);
    Ok(match level {
        _ if is_metered => METERED,
        Level::Process => ESTIMATED_WHOLE,
        Level::Module | Level::Op | Level::Call => ESTIMATED,
    })
}

/// The Python package and the search path on which it is found. A program runs also where there is no place for it.
fn package(arguments: &RunArgs) -> Option<(Package, OsString)> {
    let placed = Package::placed().and_then(|package| {
        let path = package.search_path()?;
        Ok((package, path))
    });
    placed
        .inspect_err(|error| {
            let lost = if arguments.level() == Level::Process { "windows" } else { "operations" };
            writeln_stderr!(
                "warning: there is no place for jouletree's Python package, so that {lost} are not recorded: {error:#}; \
                 set XDG_CACHE_HOME to a folder that only you can write to"
            );
        })
        .ok()
}

/// What the program's Python needs to know.
fn environment(arguments: &RunArgs, output: &Path, package: Option<&(Package, OsString)>) -> Environment {
    let mut environment = Environment::new();
    environment.extend(package.map(|(_, path)| ("PYTHONPATH", path.clone())));
    environment.insert("JOULETREE_TRACES", output.join(TRACES).into());
    environment.insert("JOULETREE_LEVEL", arguments.level().as_str().into());
    environment.insert("JOULETREE_STEPS", arguments.plan().into());
    environment.insert("JOULETREE_MAX_TRACE", arguments.max_trace.to_string().into());
    if arguments.stable.limits().is_some() {
        environment.insert("JOULETREE_STABLE", "1".into());
    }
    let libraries = arguments.called();
    if !libraries.is_empty() {
        environment.insert("JOULETREE_LIBRARIES", libraries.join(",").into());
        environment.extend(env::current_exe().ok().map(|this| ("JOULETREE_COMMAND", this.into())));
    }
    if let Some(stage) = &arguments.stage {
        environment.insert("JOULETREE_STAGE", stage.into());
    }
    environment
}

/// The first folder on the search path, by which Python finds the package.
fn start_folder(environment: &Environment) -> Option<PathBuf> {
    env::split_paths(environment.get("PYTHONPATH")?).next()
}

/// A folder named after the script rather than after Python.
fn named_after(command: &[OsString]) -> PathBuf {
    let is_script = |word: &&OsString| Path::new(word).extension() == Some(OsStr::new("py"));
    match command.iter().find(is_script) {
        Some(script) => default_output(std::slice::from_ref(script), None),
        None => default_output(command, None),
    }
}

/// A path as people write it: without the current folder.
fn shown(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

fn say(arguments: &RunArgs, text: impl FnOnce() -> String) {
    if !arguments.quiet {
        writeln_stderr!("jouletree: {}", text());
    }
}
