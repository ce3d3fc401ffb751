//! Calls of a run of ours: its recorded calls on its recorded power.

use std::collections::HashMap;
use std::rc::Rc;

use anyhow::{Result, bail};
use jouletree_account::calls::compare::CallEnergy;
use jouletree_account::calls::fecom::{FecomRule, Stamps, net};
use jouletree_account::calls::{CallMeter, NetRule, nested, occupied, quiet, resampled};
use jouletree_model::{Call, CallStability, Calls, Device, EnergySeries, Joules, Nanos, TimeRange, united};
use jouletree_run::fecom::FecomKind;
use jouletree_run::{MeteredSeries, Resources, RunFolder, Scope, accounted};

use super::measured::{Both, Measured, MeasuredCall, RunWhole};
use super::rows::CallRow;

/// How far apart FECoM's samplers print.
const FECOM_INTERVAL: Nanos = Nanos(500_000_000);

/// A tree that keeps fewer CPUs busy than this is idle.
const AT_REST: f64 = 0.05;
/// What is not known of the tree before its first and after its last look lasts no longer than this.
const UNSEEN: Nanos = Nanos(86_400_000_000_000);

/// Adds the calls of a run, the `number`th of those that were named.
pub fn add(measured: &mut Measured, run: &RunFolder, number: usize, of: Scope) -> Result<()> {
    let calls = run.read_calls()?;
    if calls.is_empty() {
        bail!("{}: no calls were recorded; run the program with --level call", run.path().display());
    }
    measured.sources.extend(crate::called::sources(run.path()));
    let project = project_of(run);
    let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
    let power = run.read_power()?;
    let is_tree = |series: &MeteredSeries| series.scope == Scope::Tree;
    let is_cut = |device: &Device| power.iter().any(|series| is_tree(series) && series.device == *device);
    let active = active(&run.read_resources()?);
    for metered in accounted(power.clone(), of).into_iter().filter(MeteredSeries::is_whole) {
        let is_tree = of == Scope::Tree && is_cut(&metered.device);
        let whole = power.iter().find(|whole| whole.is_whole() && whole.device == metered.device);
        let whole = whole.map_or_else(|| metered.series.clone(), |whole| whole.series.clone());
        add_device(measured, &project, number, &calls, Metered { metered, whole, is_tree }, &active);
    }
    Ok(())
}

/// The energy of a device that counts for calls.
struct Metered {
    metered: MeteredSeries,
    /// That of the whole device: FECoM's rule is about the machine.
    whole: EnergySeries,
    /// Whether it is what the process tree used.
    is_tree: bool,
}

/// When the process tree kept processors busy: what it did outside of calls is no idling. Empty where nothing is known of
/// the tree.
fn active(resources: &[Resources]) -> Vec<TimeRange> {
    let (Some(first), Some(last)) = (resources.first(), resources.last()) else { return Vec::new() };
    let before = TimeRange { start: first.at - UNSEEN, end: first.at };
    let after = TimeRange { start: last.at, end: last.at + UNSEEN };
    let pairs = resources.iter().zip(resources.iter().skip(1));
    let busy = pairs
        .filter(|(_, now)| now.cpus > AT_REST)
        .map(|(before, now)| TimeRange { start: before.at, end: now.at });
    united([before].into_iter().chain(busy).chain([after]))
}

fn add_device(
    measured: &mut Measured,
    project: &str,
    run: u32,
    calls: &Calls,
    Metered { metered, whole, is_tree }: Metered,
    active: &[TimeRange],
) {
    let MeteredSeries { device, kind, series, .. } = metered;
    let series = Rc::new(series);
    let rule = NetRule::for_class(device.class());
    let meter = CallMeter::new(&series, rule);
    let sampled = resampled(&device, &whole, FECOM_INTERVAL);
    let busy = united(calls.calls().iter().map(|call| call.range));
    let since = series.extent().map_or(Nanos(0), |extent| extent.start);
    let occupied = occupied(&meter, &busy, active, since);
    let places: Vec<(TimeRange, Option<usize>)> =
        calls.calls().iter().map(|call| (call.range, call.parent)).collect();
    let nested = nested(&series, &places);
    let mut last: HashMap<&str, usize> = HashMap::new();
    let mut tails = Joules::ZERO;
    for (place, call) in calls.calls().iter().enumerate() {
        let site = calls.site_of(call);
        let function = site.map_or("", |site| &site.name);
        last.insert(function, place);
        let quiet = quiet(&occupied, since, call.range.start, rule.baseline);
        let stamps = Stamps::of_newest(&sampled, call.range.start, call.range.end);
        let both = Both {
            exact: meter.net(
                call.range,
                &quiet,
                Some(if is_tree { call.range.end } else { tail_limit(&busy, call) }),
            ),
            fecom: net(&sampled, stamps, &FecomRule::default()),
            stamped: TimeRange { start: sampled.began + stamps.start, end: sampled.began + stamps.end },
        };
        tails += both.exact.tail.map_or(Joules::ZERO, |tail| tail.net);
        let mut row = CallRow {
            project: project.to_owned(),
            run,
            call: u32::try_from(place).unwrap_or(u32::MAX),
            function: function.to_owned(),
            site: site.map(|site| format!("{}:{}:{}", site.file, site.line, site.column)),
            number: Some(call.number),
            thread: Some(call.thread),
            parent: call.parent.map(|parent| parent as u64),
            device: device.to_string(),
            energy: if is_tree { "tree" } else { "device" },
            duration_s: call.range.duration().seconds(),
            inclusive: nested.inclusive.get(place).copied(),
            exclusive: nested.exclusive.get(place).copied(),
            input_bytes: call.argument_bytes,
            result_bytes: call.result_bytes,
            shapes: Some(call.shapes.to_string()).filter(|shapes| !shapes.is_empty()),
            waited_s: Some(call.waited.seconds()),
            stability: stability(call),
            ..CallRow::default()
        };
        both.fill(&mut row, measured.window);
        let energy = CallEnergy {
            project: project.into(),
            run,
            call: row.call,
            function: function.into(),
            device: device.clone(),
            duration: call.range.duration(),
            input_bytes: call.argument_bytes,
            // Idling is in no energy of a tree.
            net: if is_tree { row.gross } else { row.net },
            tail: row.tail,
        };
        let drawn = both.drawn(measured.window, kind, series.clone(), rule.baseline);
        measured.calls.push(MeasuredCall { kind: FecomKind::Method, row, energy, drawn: Some(drawn) });
    }
    let last_of_name = last.values().filter_map(|place| nested.exclusive.get(*place)).copied().sum();
    measured.wholes.push(RunWhole { project: project.into(), device, nested, last_of_name, tails });
}

/// Until when the tail of a call can be measured: the next call; no time at all while another still runs.
fn tail_limit(busy: &[TimeRange], call: &Call) -> Nanos {
    let after = busy.partition_point(|range| range.start <= call.range.end);
    let around = after.checked_sub(1).and_then(|last| busy.get(last));
    match around {
        Some(around) if call.range.end < around.end => call.range.end,
        _ => busy.get(after).map_or(Nanos::MAX, |next| next.start),
    }
}

fn stability(call: &Call) -> Option<String> {
    match &call.stability {
        CallStability::NotAsked => None,
        CallStability::Stable => Some("stable".to_owned()),
        CallStability::Unstable(why) => Some(why.to_string()),
    }
}

/// What ran, so that runs of the same program go together.
fn project_of(run: &RunFolder) -> String {
    let recorded = run.manifest().recording.as_ref().map(|recording| recording.command.join(" "));
    recorded.filter(|command| !command.is_empty()).unwrap_or_else(|| {
        let whole = run.path().canonicalize().unwrap_or_else(|_| run.path().to_owned());
        whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(second: i64, cpus: f64) -> Resources {
        let at = Nanos(1_772_442_000_000_000_000 + second * 1_000_000_000);
        Resources { at, cpus, machine_busy: None, memory: 0, memory_total: None, memory_available: None }
    }

    #[test]
    fn a_tree_is_at_rest_only_where_it_was_seen_so() {
        assert_eq!(active(&[]), []);
        let looks = [look(1, 0.9), look(2, 1.0), look(3, 0.001), look(4, 0.0), look(5, 0.2), look(6, 0.0)];
        let busy = active(&looks);
        let at = |second| look(second, 0.0).at;
        // Imports before the first call are work, and nothing is known after the last look.
        assert_eq!(busy.len(), 3);
        assert!(busy[0].start < at(-1000) && busy[2].end > at(1000));
        assert_eq!((busy[0].end, busy[1]), (at(2), TimeRange { start: at(4), end: at(5) }));
        assert_eq!(busy[2].start, at(6));
    }
}
