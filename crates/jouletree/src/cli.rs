//! The arguments.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, ColorChoice, Parser, Subcommand, ValueEnum};

use jouletree_account::Attribution;
use jouletree_model::Nanos;
use tracing_subscriber::filter::LevelFilter;

use crate::run::RunArgs;
use crate::top::TopArgs;

/// Energy accounting for deep learning: which layer, which operation, on which device, used how many joules.
#[derive(Parser)]
#[command(name = "jouletree", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Whether there are colours; by default on terminals, as NO_COLOR and CLICOLOR_FORCE allow
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: ColorChoice,
    /// Log to standard error what jouletree does; -vv adds details, -vvv everything. JOULETREE_LOG chooses by crate
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Subcommand)]
pub enum Command {
    /// Attribute recorded power to the operations of a recorded trace
    #[command(after_help = crate::account::EXAMPLES)]
    Account(crate::account::AccountArgs),
    /// Measure models node by node, to train predictors for this machine
    #[command(after_help = crate::calibrate::EXAMPLES)]
    Calibrate(crate::calibrate::CalibrateArgs),
    /// Show the net energy of single library calls
    #[command(after_help = crate::calls::EXAMPLES)]
    Calls(crate::calls::CallsArgs),
    /// Show carbon, water and cost of a run, with the source of every figure
    #[command(after_help = crate::carbon::EXAMPLES)]
    Carbon(crate::carbon::CarbonCommand),
    /// Write the report card of a model: time, energy, carbon, machine, layers, spread over runs
    #[command(after_help = crate::card::EXAMPLES)]
    Card(crate::card::CardArgs),
    /// Show every setting, its value and its origin
    Config(crate::config::ConfigArgs),
    /// Serve energy to users who may not read the sensors
    #[command(after_help = crate::daemon::EXAMPLES)]
    Daemon(crate::daemon::DaemonArgs),
    /// Show the hardware, how it is metered, and its location
    #[command(after_help = crate::detect::EXAMPLES)]
    Detect(crate::detect::DetectArgs),
    /// Show what can be measured on this machine, and how to enable the rest
    #[command(after_help = crate::doctor::EXAMPLES)]
    Doctor(crate::doctor::DoctorArgs),
    /// Estimate a model or hardware before it runs: by theory, layers, or hours
    Estimate(crate::estimate::EstimateArgs),
    /// Evaluate predictors on measured data that they were not trained on
    Evaluate(crate::evaluate::EvaluateArgs),
    /// Convert a run: speedscope, pprof, Perfetto, Firefox Profiler, CSV, Parquet, other trackers
    #[command(after_help = crate::export::EXAMPLES)]
    Export(crate::export::ExportArgs),
    /// Describe a trace file, and what is missing for accounting
    #[command(after_help = crate::inspect::EXAMPLES)]
    Inspect(crate::inspect::InspectArgs),
    /// Add a row to emissions.csv for a command or this machine, as CodeCarbon does
    #[command(after_help = crate::monitor::EXAMPLES)]
    Monitor(Box<crate::monitor::MonitorArgs>),
    /// Predict the energy of every node of a model before it runs
    #[command(after_help = crate::predict::EXAMPLES)]
    Predict(crate::predict::PredictArgs),
    #[cfg(feature = "patch")]
    /// Instrument the library calls of a Python program
    #[command(after_help = crate::patch::EXAMPLES)]
    Patch(crate::patch::PatchArgs),
    /// Record the power of a command, of a process or of the machine in a run folder
    #[command(after_help = crate::record::EXAMPLES)]
    Record(crate::record::RecordArgs),
    /// Write a self-contained HTML page, or figures, of runs
    #[command(after_help = crate::report::EXAMPLES)]
    Report(crate::report::ReportArgs),
    /// Run a program unchanged and account its energy by layer and operation
    #[command(after_help = crate::run::EXAMPLES)]
    Run(RunArgs),
    #[cfg(feature = "serve")]
    /// Serve a local page that estimates energy, carbon and cost of hardware
    #[command(after_help = crate::serve::EXAMPLES)]
    Serve(crate::serve::ServeArgs),
    /// Show the energy of a run by layer, operation, pass, step, device
    #[command(after_help = crate::show::EXAMPLES)]
    Show(crate::show::ShowArgs),
    /// Show live power of this machine, a process or a command
    #[command(after_help = crate::top::EXAMPLES)]
    Top(TopArgs),
    /// Compare models by accuracy and energy: Pareto front, best for a budget or a target
    #[command(after_help = crate::tradeoff::EXAMPLES)]
    Tradeoff(crate::tradeoff::TradeoffArgs),
    /// Train a profile of this machine from calibrations and runs
    #[command(after_help = crate::train::EXAMPLES)]
    Train(crate::train::TrainArgs),
    /// Answer a process about windows of its time, on standard input and output; for jouletree's Python package
    #[command(hide = true)]
    Attend(crate::attend::AttendArgs),
    /// Say what windows of a program come to, on standard input and output; for jouletree's Python package
    #[command(hide = true)]
    Emissions(crate::carbon::EmissionsArgs),
    /// Stop, and become a command when asked to go on; for jouletree itself
    #[command(hide = true)]
    Launch(LaunchArgs),
}

impl Command {
    /// What is logged where the user does not choose: a daemon keeps a log for its operator, everything else is silent.
    pub fn default_log_level(&self) -> LevelFilter {
        match self {
            Command::Daemon(arguments) if arguments.serves() => LevelFilter::INFO,
            _ => LevelFilter::OFF,
        }
    }
}

#[derive(Args)]
pub struct LaunchArgs {
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// Traces and what they do not say themselves.
#[derive(Args)]
pub struct InputArgs {
    /// Trace files of any framework, plain or gzip; folders of them; or run folders
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    /// When the clock of a trace began that does not say, in nanoseconds since the epoch
    #[arg(long, value_name = "NS", allow_negative_numbers = true)]
    pub base_ns: Option<i64>,
    /// The model that ran (ONNX, TensorFlow GraphDef, or a tree.json): places operations whose names lost their layer
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InspectFormat {
    /// For people
    Table,
    /// For programs; documented in docs/json.md
    Json,
}

/// The names of attribution policies as values of an option.
pub fn attribution() -> impl TypedValueParser<Value = Attribution> {
    let names = Attribution::ALL.iter().map(|policy| policy.as_str());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Attribution>())
}

/// What of a result is shown, and how.
#[derive(Args, Clone, PartialEq)]
pub struct ViewArgs {
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// How many levels of layers a tree shows
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub depth: u16,
    /// Sum up layers with a smaller share of the whole, in percent; 0 shows all
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5)]
    pub min_share: f64,
    /// List at most this many operations; by default 10 in tables, all in CSV and JSON
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Sum equal blocks (layer_0 … layer_11) into one
    #[arg(long)]
    pub summarize: bool,
    /// Order operations by power, of those long and large enough for a power of their own
    #[arg(long)]
    pub by_power: bool,
    /// Only operations of this pass
    #[arg(long, value_enum)]
    pub pass: Option<PassArg>,
    /// Only what was used during this stage of the program
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// Scale operations from recorded steps to all steps, each phase and function by its own energy
    #[arg(long)]
    pub all_steps: bool,
}

impl ViewArgs {
    /// Whether nothing was said about what is shown; how is another matter.
    pub fn is_default(&self) -> bool {
        ViewArgs { format: Format::Table, ..self.clone() } == ViewArgs::default()
    }
}

impl Default for ViewArgs {
    /// What is shown when nothing is said.
    fn default() -> ViewArgs {
        ViewArgs {
            format: Format::Table,
            depth: 3,
            min_share: 0.5,
            top: None,
            summarize: false,
            by_power: false,
            pass: None,
            stage: None,
            all_steps: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// For programs; documented in docs/json.md
    Json,
    /// For spreadsheets
    Csv,
    /// For issues, pull requests and notebooks: tables as GitHub reads them
    Markdown,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The tree of layers
    #[value(alias = "module")]
    Layer,
    /// Operations
    Op,
    /// Kinds of operations: MatMul, Mul, …
    Type,
    /// Forward, backward, optimizer
    Pass,
    /// Devices
    Device,
    /// Training steps
    Step,
    /// What steps do: train, evaluate, predict; by function where there are several
    Phase,
    /// Stages of the program: pre-training, fine-tuning, prediction
    Stage,
    /// Windows that the program wanted measured, and what was compiled
    Window,
    /// The parts that make the whole run: operations, steps that were not recorded, compilation, start-up
    Part,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuleArg {
    /// A reading holds until the next
    Recency,
    /// Energy is linear between changes of a cumulative counter
    Counter,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EnergyArg {
    /// What the recorded process tree used of each device
    Tree,
    /// All that each device used, other programs included
    Device,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SemanticsArg {
    /// Half-open nanoseconds; the innermost event of each lane is active
    Exact,
    /// Algorithm 2 of the Smaragdine paper as printed: whole microseconds, end included, a set of names
    Paper,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PassArg {
    Forward,
    Backward,
    Optimizer,
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.001..=1e9).contains(&value) => Ok(Duration::from_secs_f64(value)),
        _ => Err("a number of seconds from 0.001 to 1e9 is expected".to_owned()),
    }
}

pub fn period(text: &str) -> Result<Nanos, String> {
    match text.parse::<f64>() {
        Ok(value) if (1.0..=1000.0).contains(&value) => Ok(Nanos((value * 1e6).round() as i64)),
        _ => Err("a number of milliseconds from 1 to 1000 is expected".to_owned()),
    }
}

pub fn units(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("a number above 0 is expected".to_owned()),
    }
}

pub fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(value),
        _ => Err("a number of milliseconds from 0 to 1e9 is expected".to_owned()),
    }
}
