//! The arguments of `jouletree top`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use jouletree_model::Nanos;

use crate::reader_args::ReaderArgs;

/// The text below the options in the help.
pub const EXAMPLES: &str = "\
Examples:
  jouletree top                          this machine: devices, and processes by CPU time
  jouletree top 4242                     a process with all its descendants
  jouletree top -- python train.py       a command; its output goes to a file that is named at the end
  jouletree top --format json --count 10 | jq .power_w
      ten lines of JSON, one a second (docs/json.md); --format text for people

Keys: q quit, s sort, p pause, arrows scroll, ? help. Where standard output is no terminal, lines of text are written.
Power of processes is a rule and no measurement: the energy of a socket, cut by CPU time.";

#[derive(Args)]
pub struct TopArgs {
    /// A process to watch, with all its descendants; without one the whole machine is watched
    #[arg(value_name = "PID")]
    pub pid: Option<u32>,
    /// A command to run and watch
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "pid")]
    pub command: Vec<OsString>,
    /// What is written; by default a screen on a terminal and text elsewhere
    #[arg(long, value_enum)]
    pub format: Option<TopFormat>,
    /// End after so many lines, or so many updates of the screen
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// The time from one line or update to the next
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub interval: Nanos,
    #[command(flatten)]
    pub reader: ReaderArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TopFormat {
    /// A screen that is kept up to date
    Screen,
    /// A line for people
    Text,
    /// A line for programs; documented in docs/json.md
    Json,
}

fn seconds(text: &str) -> Result<Nanos, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.2..=3600.0).contains(&value) => Ok(Nanos((value * 1e9) as i64)),
        _ => Err("a number of seconds from 0.2 to 3600 is expected".to_owned()),
    }
}
