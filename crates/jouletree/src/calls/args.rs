//! The arguments of `jouletree calls`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jouletree_run::Scope;
use jouletree_session::calls::WindowRule;

use crate::cli::{EnergyArg, Format};

pub const EXAMPLES: &str = "\
Examples:
  jouletree calls RUN                              what every recorded call used beyond idling, and its tail
  jouletree calls RUN --by site                    which lines of the program used how much
  jouletree calls RUN1 RUN2 RUN3 --by function     mean, median and spread over runs of the same program
  jouletree calls RUN --by project                 calls against the whole run, and where the rest went
  jouletree calls RUN --by size                    energy against the size of the input: J/MiB, its interval and r
  jouletree calls RUN --by trend                   whether energy goes with time and with size, over all functions
  jouletree calls RUN --by operation --call 3      what ran inside of one call, where operations were recorded
  jouletree calls RUN --call 3 --figure call.pdf   power over one call, with its baseline and its tail
  jouletree calls raw_trace_example.csv --window fecom
      published data of FECoM, by FECoM's own rule; experiment-N.json, folders of them and tables are read, too
  jouletree calls method_level.csv.gz project_level.csv.gz --by project --window fecom

docs/calls.md says how net energy, its error and its tail are computed, and how FECoM's rule differs.";

#[derive(Args)]
pub struct CallsArgs {
    /// Run folders with recorded calls; or data of FECoM: experiment files, tables, raw samples, folders of them
    #[arg(value_name = "RUN|FECOM-DATA", required = true)]
    pub inputs: Vec<PathBuf>,
    /// What to sum by
    #[arg(long, value_enum, default_value = "call")]
    pub by: CallsBy,
    /// Which time and which baseline a call has
    #[arg(long, value_enum, default_value = "exact")]
    pub window: WindowArg,
    /// Whose energy counts: by default the process tree's, and the machine's with `--window fecom`
    #[arg(long, value_enum)]
    pub energy: Option<EnergyArg>,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// List at most this many calls or functions in a table, the largest first
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub top: usize,
    /// Draw the power over one call in this new file: .svg, .pdf or .png
    #[arg(long, value_name = "FILE")]
    pub figure: Option<PathBuf>,
    /// Which call is drawn or opened, by its number in the table; by default that with the most net energy
    #[arg(long, value_name = "N")]
    pub call: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CallsBy {
    /// Every call on every device
    Call,
    /// All calls of a line of the program, with its source
    Site,
    /// The operations that ran during one call (--call), where they were recorded
    Operation,
    /// The calls of a function in all runs
    Function,
    /// All calls of a program against the whole program
    Project,
    /// Energy against the size of the input
    Size,
    /// Energies of all functions against the time they take and the size of their input
    Trend,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WindowArg {
    /// Cumulative energy at the call's own times; all calls count
    Exact,
    /// FECoM's: the samples nearest its stamps, the last of them left out; the last call of a name counts
    Fecom,
}

impl From<WindowArg> for WindowRule {
    fn from(window: WindowArg) -> WindowRule {
        match window {
            WindowArg::Exact => WindowRule::Exact,
            WindowArg::Fecom => WindowRule::Fecom,
        }
    }
}

impl CallsArgs {
    /// Whose energy counts. FECoM's rule is about the machine.
    pub fn energy_of(&self) -> Scope {
        match (self.energy, self.window) {
            (Some(energy), _) => energy.into(),
            (None, WindowArg::Exact) => Scope::Tree,
            (None, WindowArg::Fecom) => Scope::Device,
        }
    }
}
