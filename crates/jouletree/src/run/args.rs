//! The arguments of `jouletree run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jouletree_model::Nanos;

use crate::reader::ReaderArgs;

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
  jouletree run --stage fine-tuning -- torchrun --nproc-per-node 2 train.py
  jouletree show RUN --by op --summarize           look again, in another way

The program is not changed: Python finds jouletree's package at its start (PYTHONPATH) and records what TensorFlow, Keras,
PyTorch, JAX and ONNX Runtime do, in every process that the command starts. What jouletree says goes to standard error; input,
output and exit status are the command's. Ctrl-C ends the command and still accounts what was recorded.";

#[derive(Args)]
pub struct RunArgs {
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// The new folder of the run; by default one named after the program and the time
    #[arg(short, long, value_name = "RUN")]
    pub output: Option<PathBuf>,
    /// What is recorded beside power
    #[arg(long, value_enum, default_value = "op")]
    pub level: Level,
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
    /// Say nothing but errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub reader: ReaderArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Operations, by the framework's own profiler
    Op,
    /// Modules (layers), without a profiler
    Module,
    /// Power and who used it, nothing else
    Process,
}

impl Level {
    /// Its name as the Python package knows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Op => "op",
            Level::Module => "module",
            Level::Process => "process",
        }
    }
}

impl RunArgs {
    /// The steps that are recorded, as the Python package understands them.
    pub fn plan(&self) -> String {
        match self.every {
            Some(every) => format!("{},every:{every}", self.steps),
            None => self.steps.clone(),
        }
    }
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
