//! `jouletree account`: traces and power in, a footprint out.

use anyhow::Result;
use jouletree_account::{Rule, Semantics, Tef, t2e, tensor_edges};
use jouletree_model::Nanos;
use jouletree_report::PowerFloor;
use jouletree_run::Scope;
use jouletree_session::accounting::{Method, account};

use crate::cli::{AccountArgs, By, EnergyArg, Format, RuleArg, SemanticsArg};
use crate::page::Look;
use crate::recording::shared;
use crate::show::Shown;
use crate::{Outcome, inputs, json, print, print_warnings, show};
use jouletree_session::timings::Timings;

/// Runs the command.
pub fn run(arguments: &AccountArgs) -> Result<Outcome> {
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
    Ok(Outcome { warnings: accounted.footprint.warnings, strict: arguments.strict })
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
