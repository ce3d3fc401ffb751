//! Calls of a run of ours: its recorded calls on its recorded power.

use std::collections::HashMap;
use std::rc::Rc;

use anyhow::{Result, bail};
use jouletree_account::calls::compare::CallEnergy;
use jouletree_account::calls::fecom::{FecomRule, Stamps, net};
use jouletree_account::calls::{Meter, NetRule, nested, occupied, quiet, resampled};
use jouletree_model::{Call, CallStability, Calls, Joules, Nanos, TimeRange, united};
use jouletree_run::fecom::FecomKind;
use jouletree_run::{MeteredSeries, RunFolder};

use super::measured::{Both, Measured, MeasuredCall, RunWhole};
use super::rows::CallRow;

/// How far apart FECoM's samplers print.
const FECOM_INTERVAL: Nanos = Nanos(500_000_000);

/// Adds the calls of a run, the `number`th of those that were named.
pub fn add(measured: &mut Measured, run: &RunFolder, number: usize) -> Result<()> {
    let calls = run.read_calls()?;
    if calls.is_empty() {
        bail!("{}: no calls were recorded; run the program with --level call", run.path().display());
    }
    measured.sources.extend(crate::run::sources(run.path()));
    let project = project_of(run);
    let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
    // Net energy is over idling, so that it is the device's own energy that counts, whoever else used it.
    let devices = run.read_power()?.into_iter().filter(|metered| metered.domain.is_none());
    for metered in devices {
        add_device(measured, &project, number, &calls, metered);
    }
    Ok(())
}

fn add_device(measured: &mut Measured, project: &str, run: u32, calls: &Calls, metered: MeteredSeries) {
    let MeteredSeries { device, kind, series, .. } = metered;
    let series = Rc::new(series);
    let rule = NetRule::for_class(device.class());
    let meter = Meter::new(&series, rule);
    let sampled = resampled(&device, &series, FECOM_INTERVAL);
    let busy = united(calls.calls().iter().map(|call| call.range));
    let since = series.extent().map_or(Nanos(0), |extent| extent.start);
    let occupied = occupied(&meter, &busy, since);
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
            exact: meter.net(call.range, &quiet, Some(tail_limit(&busy, call))),
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
            duration_s: call.range.duration().seconds(),
            inclusive_j: nested.inclusive.get(place).map(|energy| energy.0),
            exclusive_j: nested.exclusive.get(place).map(|energy| energy.0),
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
            net: row.net_j.map(Joules),
            tail: row.tail_j.map(Joules),
        };
        let drawn = both.drawn(measured.window, kind, series.clone(), rule.baseline);
        measured.calls.push(MeasuredCall { kind: FecomKind::Method, row, energy, drawn: Some(drawn) });
    }
    let last_of_name = last.values().filter_map(|place| nested.exclusive.get(*place)).copied().sum();
    measured.wholes.push(RunWhole { project: project.into(), device, nested, last_of_name, tails });
}

/// Until when the tail of a call can be told: the next call; no time at all while another still runs.
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
