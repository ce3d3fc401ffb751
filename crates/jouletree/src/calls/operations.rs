//! One call, opened into the operations that ran meanwhile.

use anyhow::{Result, bail};
use jouletree_account::{Attribution, Spreads};
use jouletree_model::{Lane, TimeRange, Trace};
use jouletree_run::{MeteredSeries, RunFolder, Scope, accounted};
use jouletree_session::accounting::{Method, account};

use super::args::CallsArgs;
use super::measured::{Measured, MeasuredCall};
use crate::cli::{By, Format, ViewArgs};
use crate::show::{self, Shown};

/// The operations of the call that was chosen, with what the process tree used for them.
pub fn written(measured: &Measured, arguments: &CallsArgs) -> Result<String> {
    let [path] = arguments.inputs.as_slice() else {
        bail!("operations are those of one call of one run; name one run")
    };
    if !RunFolder::is_at(path) {
        bail!("{}: operations are recorded by `jouletree run` alone", path.display());
    }
    let run = crate::run::opened(path)?;
    let mut trace = run.read_trace(rayon::current_num_threads())?;
    let range = range_of(measured, &run, &trace, arguments.call)?;
    trace.lanes = trace.lanes.iter().map(|lane| during(lane, range)).collect();
    // Where no energy is known nothing is charged: what of an operation is before and after is out.
    let power: Vec<MeteredSeries> = accounted(run.read_power()?, Scope::Tree)
        .into_iter()
        .map(|metered| MeteredSeries { series: metered.series.within(&[range]), ..metered })
        .collect();
    // Operations that ran at other times only do not meet this power at all.
    let accounted = account(trace, power, Method::recorded(Attribution::Equal)).ok();
    let footprint = accounted
        .map(|accounted| accounted.footprint)
        .filter(|found| found.energies.iter().any(|charged| charged.energy.0 > 0.0));
    let Some(footprint) = footprint else {
        bail!(
            "no operation was recorded during this call; choose another with --call, or run the program with --level op \
             and --libraries"
        )
    };
    let top = matches!(arguments.format, Format::Table | Format::Markdown).then_some(arguments.top);
    let view = ViewArgs { format: arguments.format, top, ..ViewArgs::default() };
    let spreads = Spreads::default();
    show::view(&Shown { trust: None, ..Shown::of(&footprint, &spreads, None) }, By::Op, &view)
}

/// The events of a lane that have a part in a stretch of time.
fn during(lane: &Lane, range: TimeRange) -> Lane {
    let (mut events, inside) = lane.within(range);
    events.extend_from_slice(lane.events().get(inside).unwrap_or_default());
    Lane::new(lane.device(), lane.label(), events)
}

/// When the call was: the one with this number in the table, or of those with operations that with the most net energy.
fn range_of(measured: &Measured, run: &RunFolder, trace: &Trace, chosen: Option<usize>) -> Result<TimeRange> {
    let calls = run.read_calls()?;
    let range = |call: &MeasuredCall| calls.calls().get(call.row.call as usize).map(|call| call.range);
    let has_operations = |call: &MeasuredCall| {
        range(call).is_some_and(|range| trace.lanes.iter().any(|lane| !during(lane, range).events().is_empty()))
    };
    // Where none has any, the largest is as good as another to say so.
    let call = measured.chosen(chosen, has_operations).or_else(|| measured.chosen(chosen, |_| true));
    let Some((call, range)) = call.and_then(|call| Some((call, range(call)?))) else {
        bail!("there is no such call; `jouletree calls RUN` lists them with their numbers")
    };
    let row = &call.row;
    let number = row.number.map(|number| format!(" #{number}")).unwrap_or_default();
    let site = row.site.as_ref().map(|site| format!(" at {site}")).unwrap_or_default();
    writeln_stderr!("{}{number}{site}, {}", row.function, range.duration());
    Ok(range)
}
