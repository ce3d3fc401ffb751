//! The arguments of `jouletree run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jouletree_model::Nanos;

use crate::carbon::CarbonArgs;
use crate::live_args::LiveArgs;
use crate::reader_args::ReaderArgs;

use super::stable::StableArgs;

/// What `--help` shows.
pub const EXAMPLES: &str = "\
Examples:
  jouletree run -- python train.py                 where the joules of a training went, layer by layer
  jouletree run -o RUN --steps 10..20 -- python train.py
      operations of steps 10 to 20 only; power throughout, and figures scaled to all steps
  jouletree run --steps 1..5,every:500 --max-trace 500MB -- python train.py
      a training of days: the first five steps and then one of every 500
  jouletree run --level module -- python train.py  spans of modules alone: cheap enough to be left on
  jouletree run --level process -- ./infer         power and share of any program
  jouletree run --level call --libraries tensorflow -- python train.py
      the energy of every call of a library, by the line that makes it
  jouletree run --level op,call --libraries torch -- python train.py
      calls beside operations; `jouletree calls RUN --by operation --call 3` opens a call into what ran inside of it
  jouletree run --stage fine-tuning -- torchrun --nproc-per-node 2 train.py
  jouletree run --prometheus :9108 -- python train.py
      joules and watts for a Prometheus server on this machine while the program runs (docs/live.md)
  jouletree run --otlp http://localhost:4318 -- python train.py
      the same for an OpenTelemetry collector
  jouletree show RUN --by op --summarize           look again, in another way

The program is not changed: Python finds jouletree's package at its start (PYTHONPATH) and records what TensorFlow, Keras,
PyTorch, JAX and ONNX Runtime do, in every process that the command starts. What jouletree says goes to standard error; input,
output and exit status are the command's, also where its recording fails. Ctrl-C ends the command and still accounts what was recorded.";

#[derive(Args)]
pub struct RunArgs {
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// The new folder of the run; by default one named after the program and the time
    #[arg(short, long, value_name = "RUN")]
    pub output: Option<PathBuf>,
    /// How energy is shared among operations that run at the same time
    #[arg(long, value_name = "POLICY", default_value = "equal", value_parser = crate::cli::attribution())]
    pub attribution: jouletree_account::Attribution,
    /// What is recorded beside power; several for calls beside operations or modules: op,call
    #[arg(long = "level", value_name = "LEVEL", value_enum, value_delimiter = ',', default_value = "op")]
    pub levels: Vec<Level>,
    /// Packages whose calls are recorded one by one, with everything inside of them, at any level; --level call takes the
    /// usual frameworks when none is named
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = package)]
    pub libraries: Vec<String>,
    #[command(flatten)]
    pub stable: StableArgs,
    /// The steps whose operations are recorded, both ends included: 10..20, 7, 100.., every:500, or several of these
    #[arg(long, value_name = "STEPS", default_value = "1..20,every:500", value_parser = steps)]
    pub steps: String,
    /// Record the operations of every Nth step, beside those of --steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Stop recording operations in a process that has written this much of them
    #[arg(long, value_name = "SIZE", default_value = "2GB", value_parser = size)]
    pub max_trace: u64,
    /// Name the stage of the study that this is (pre-training, fine-tuning, prediction); a program may name its own
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// Keep the frameworks' own traces in the run folder
    #[arg(long)]
    pub keep_traces: bool,
    /// Milliseconds from one reading of the meters to the next, from 1 to 1000; by default 4, or where energy is only
    /// estimated 20, with `--level process` 100
    #[arg(long, value_name = "MS", value_parser = crate::cli::period)]
    pub period: Option<Nanos>,
    /// Let others read what is kept, as far as the umask allows; by default only you can
    #[arg(long)]
    pub share: bool,
    /// Exit with status 1 when the recording is not whole, although the command succeeded
    #[arg(long)]
    pub strict: bool,
    /// Print how long each stage took between the end of the program and the result
    #[arg(long)]
    pub timings: bool,
    /// Only print errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub carbon: CarbonArgs,
    #[command(flatten)]
    pub reader: ReaderArgs,
}

/// From the finest to the coarsest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// Operations, by the framework's own profiler
    Op,
    /// Modules (layers), without a profiler
    Module,
    /// Calls of libraries, without a profiler
    Call,
    /// Power and who used it, nothing else
    Process,
}

impl Level {
    /// Its name as the Python package knows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Op => "op",
            Level::Module => "module",
            Level::Call => "call",
            Level::Process => "process",
        }
    }
}

impl RunArgs {
    /// A run of a program of ours, which says itself what there is to say.
    pub fn quiet(command: Vec<OsString>, output: PathBuf, level: Level, reader: ReaderArgs) -> RunArgs {
        RunArgs {
            attribution: jouletree_account::Attribution::default(),
            command,
            output: Some(output),
            levels: vec![level],
            libraries: Vec::new(),
            stable: StableArgs::default(),
            steps: "1..".to_owned(),
            every: None,
            max_trace: 0,
            stage: None,
            keep_traces: false,
            period: None,
            share: false,
            strict: false,
            timings: false,
            quiet: true,
            live: LiveArgs::default(),
            carbon: CarbonArgs::default(),
            reader,
        }
    }

    /// The finest of the levels, beside which calls may be recorded.
    pub fn level(&self) -> Level {
        self.levels.iter().copied().min().unwrap_or(Level::Op)
    }

    /// The packages whose calls are recorded; none when no calls are.
    pub fn called(&self) -> Vec<&str> {
        if self.libraries.is_empty() && self.levels.contains(&Level::Call) {
            return usual_libraries().to_vec();
        }
        self.libraries.iter().map(String::as_str).collect()
    }

    /// The steps that are recorded, as the Python package understands them.
    pub fn plan(&self) -> String {
        match self.every {
            Some(every) => format!("{},every:{every}", self.steps),
            None => self.steps.clone(),
        }
    }
}

/// The packages whose calls are recorded unless others are named.
#[cfg(feature = "patch")]
fn usual_libraries() -> &'static [&'static str] {
    jouletree_patch::LIBRARIES
}

/// None: this build cannot instrument programs, and says so when calls are asked for.
#[cfg(not(feature = "patch"))]
fn usual_libraries() -> &'static [&'static str] {
    &[]
}

/// The name of a package on the command line.
#[cfg(feature = "patch")]
fn package(text: &str) -> Result<String, String> {
    crate::patch::package(text)
}

#[cfg(not(feature = "patch"))]
fn package(_text: &str) -> Result<String, String> {
    Err("this build records no calls; build jouletree with its feature `patch`".to_owned())
}

/// Checks a choice of steps; the Python package reads it.
fn steps(text: &str) -> Result<String, String> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    let is_part = |part: &str| match part.strip_prefix("every:") {
        Some(every) => number(every).is_some(),
        None => match part.split_once("..") {
            None => number(part).is_some(),
            Some((first, "")) => number(first).is_some(),
            Some((first, last)) => number(first).zip(number(last)).is_some_and(|(first, last)| first <= last),
        },
    };
    match text.split(',').map(str::trim).all(is_part) {
        true => Ok(text.to_owned()),
        false => {
            Err("steps are numbered from 1 and written 10..20, 7, 100.., every:500, or 1..5,every:500".to_owned())
        }
    }
}

/// A number of bytes: `500MB`, `2GB`, `1.5 GiB`, `4096`.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || "a size is expected, such as 500MB or 2GB".to_owned();
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1048576.0,
        "gib" => 1073741824.0,
        _ => return Err(wrong()),
    };
    let bytes = number.parse::<f64>().map_err(|_| wrong())? * factor;
    if (0.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArgs,
    }

    #[test]
    fn calls_are_recorded_alone_or_beside_something_finer() {
        let run = |words: &[&str]| {
            let words = ["run"].iter().chain(words).chain(&["--", "python"]);
            <Line as clap::Parser>::try_parse_from(words).unwrap().run
        };
        let usual = usual_libraries();
        for (words, level, called) in [
            (&[][..], "op", &[][..]),
            (&["--level", "call"], "call", usual),
            (&["--level", "call", "--libraries", "torch"], "call", &["torch"]),
            (&["--level", "op,call"], "op", usual),
            (
                &["--level", "call", "--level", "op", "--libraries", "tensorflow,keras"],
                "op",
                &["tensorflow", "keras"],
            ),
            (&["--level", "call,module"], "module", usual),
            (&["--libraries", "torch"], "op", &["torch"]),
        ] {
            let run = run(words);
            assert_eq!((run.level().as_str(), &*run.called()), (level, called), "{words:?}");
        }
    }

    #[test]
    fn steps_and_sizes_are_checked() {
        for good in ["7", "10..20", "100..", "every:500", "1..5, every:500,9"] {
            assert_eq!(steps(good).as_deref(), Ok(good));
        }
        for bad in ["", "0", "20..10", "..5", "every:0", "every:", "1..5;7", "-3", "all"] {
            assert!(steps(bad).is_err(), "{bad}");
        }
        assert_eq!(size("500MB"), Ok(500_000_000));
        assert_eq!(size("1.5 GiB"), Ok(1_610_612_736));
        assert_eq!(size("4096"), Ok(4096));
        assert!(size("much").is_err() && size("5XB").is_err() && size("").is_err() && size("1e99").is_err());
    }
}
