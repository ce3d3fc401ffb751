//! `jouletree account`: traces and power in, a footprint out.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jouletree_account::Attribution;
use jouletree_account::{Rule, Semantics, Tef, t2e, tensor_edges};
use jouletree_model::Nanos;
use jouletree_report::PowerFloor;
use jouletree_run::Scope;
use jouletree_session::accounting::{Method, account};
use jouletree_session::timings::Timings;

use crate::cli::{By, EnergyArg, Format, InputArgs, RuleArg, SemanticsArg, ViewArgs, attribution, milliseconds};
use crate::page::Look;
use crate::recording::shared;
use crate::show::Shown;
use crate::{WARNED, inputs, json, print, print_warnings, show};

pub const EXAMPLES: &str = "\
Examples:
  jouletree account timeline-5.json.gz --power power.csv
      where the joules of one TensorFlow step went
  jouletree account rank0.json.gz rank1.json.gz --power power.csv -o RUN
      several ranks or steps on many devices; keeps the run for `jouletree show RUN`
  jouletree account timeline-5.json --power power.csv --format json | jq '.devices'
      everything, for programs
  jouletree account RUN
      account a kept run again, from its own events and power

The power file is a CSV with a header: the time as epoch_ns, epoch_us, epoch_ms or time (RFC 3339); device
(cpu:0, gpu:1, node7/gpu:0); and watts (readings) or joules (a cumulative counter).

Exit status: 0 accounted (read the warnings), 1 not accounted, 2 wrong arguments, 3 warnings under --strict.";

#[derive(Args)]
pub struct AccountArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Power: CSV, or power.parquet of a run; run folders bring their own
    #[arg(long, value_name = "POWER")]
    pub power: Vec<PathBuf>,
    /// Keep the run in this new folder
    #[arg(short, long, value_name = "RUN")]
    pub output: Option<PathBuf>,
    /// Let others read the kept run, as far as the umask allows; by default only you can
    #[arg(long, requires = "output")]
    pub share: bool,
    /// How readings become energy; by default counters are linear between changes and readings hold
    #[arg(long, value_enum)]
    pub rule: Option<RuleArg>,
    /// What `active at an instant` means
    #[arg(long, value_enum, default_value = "exact")]
    pub semantics: SemanticsArg,
    /// How energy is shared among operations
    #[arg(long, value_name = "POLICY", default_value = "equal", value_parser = attribution())]
    pub attribution: Attribution,
    /// Print what attribution did on each device and why (with regressed or auto)
    #[arg(long)]
    pub explain: bool,
    /// Extend the last reading of each device by at most this many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = milliseconds)]
    pub hold: f64,
    /// Whose energy is accounted where the power was recorded by jouletree
    #[arg(long, value_enum, default_value = "tree")]
    pub energy: EnergyArg,
    /// Print what reading, aligning and summing took
    #[arg(long)]
    pub timings: bool,
    /// Exit with status 3 when there was any warning
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// Runs the command.
pub fn run(arguments: &AccountArgs) -> Result<ExitCode> {
    let mut timings = Timings::start();
    let mut trace = inputs::traces(&arguments.input, false)?;
    timings.stage("read", Some(format!("{} events", trace.event_count())));

    let hold = Nanos((arguments.hold * 1e6).round() as i64);
    let method = Method {
        rule: arguments.rule.map(Rule::from),
        hold: Some(hold),
        semantics: arguments.semantics.into(),
        energy: arguments.energy.into(),
        attribution: arguments.attribution,
    };
    let (power, warnings) =
        inputs::power(&arguments.power, &arguments.input.traces, method.rule, hold, method.energy)?;
    trace.warnings.extend(warnings);
    timings.stage("power", None);

    let warnings = trace.warnings.clone();
    let accounted = account(trace, power, method)
        // What is wrong with the input may be why.
        .inspect_err(|_| print_warnings(&warnings))?;
    let footprint = &accounted.footprint;
    timings.stage("align", None);

    let tef = Tef::from(footprint);
    let spreads = inputs::spreads(&arguments.power, &arguments.input.traces);
    let tree = t2e(&tef, &tensor_edges(&footprint.model)).bounded(&spreads).predicted(&footprint.intervals);
    timings.stage("sum", Some(format!("{} operations", tef.entries().len())));

    if let Some(path) = &arguments.output {
        accounted.create(path, arguments.power.iter().map(|path| path.display().to_string()).collect())?;
        if arguments.share {
            shared(path);
        }
        timings.stage("write", Some(path.display().to_string()));
    }

    let recording = inputs::recording(&arguments.power, &arguments.input.traces);
    let mut shown = Shown::of(footprint, &spreads, recording.as_ref());
    shown.floor = PowerFloor::of(&accounted.power);
    let explanations = arguments.explain.then_some(accounted.explanations.as_slice());
    print(&match arguments.view.format {
        Format::Table => show::report(&shown, &arguments.view).written(Look::of_stdout()),
        Format::Markdown => show::report(&shown, &arguments.view).written(Look::Markdown),
        Format::Json => json::everything(&shown, (&tef, &tree), explanations)?,
        Format::Csv => show::view(&shown, By::Op, &arguments.view)?,
    })?;
    if let Some(explanations) = explanations
        && matches!(arguments.view.format, Format::Table | Format::Markdown)
    {
        print(&format!("\n{}", show::explained(explanations)))?;
    }
    print_warnings(&footprint.warnings);
    if arguments.timings {
        timings.stage("print", None);
        write_stderr!("{timings}");
    }
    let has_warnings = !accounted.footprint.warnings.is_empty();
    Ok(if arguments.strict && has_warnings { ExitCode::from(WARNED) } else { ExitCode::SUCCESS })
}

impl From<RuleArg> for Rule {
    fn from(rule: RuleArg) -> Rule {
        match rule {
            RuleArg::Recency => Rule::Recency,
            RuleArg::Counter => Rule::Counter,
        }
    }
}

impl From<EnergyArg> for Scope {
    fn from(energy: EnergyArg) -> Scope {
        match energy {
            EnergyArg::Tree => Scope::Tree,
            EnergyArg::Device => Scope::Device,
        }
    }
}

impl From<SemanticsArg> for Semantics {
    fn from(semantics: SemanticsArg) -> Semantics {
        match semantics {
            SemanticsArg::Exact => Semantics::Exact,
            SemanticsArg::Paper => Semantics::Paper,
        }
    }
}
