//! Calls of the FECoM study: from samples by either rule, from tables as they are.

use std::rc::Rc;

use anyhow::{Context, Result};
use jouletree_account::calls::compare::CallEnergy;
use jouletree_account::calls::fecom::{FecomRule, Stamps, net};
use jouletree_account::calls::{CallMeter, NetRule, quiet, series_of};
use jouletree_model::{DeviceClass, Kind, SampledPower, TimeRange, Warning};
use jouletree_run::fecom::{FecomData, FecomRecord, FecomRow};

use super::measured::{Both, Measured, MeasuredCall, WindowRule};
use super::rows::CallRow;

/// Adds what was read.
pub fn add(measured: &mut Measured, data: FecomData) -> Result<()> {
    for record in &data.records {
        for sampled in &record.sampled {
            let call = of_samples(record, sampled, measured.window).with_context(|| {
                format!("{}, experiment {}: {}", record.project, record.experiment, record.function)
            })?;
            measured.calls.push(call);
        }
    }
    if measured.window == WindowRule::Exact && !data.rows.is_empty() {
        let message = "tables keep no samples, so that no exact energy can be computed from them: shown is FECoM's sum \
                       over the samples of the call itself, which it takes one sample too early";
        measured.warnings.push(Warning::new("--window exact", message));
    }
    let corrupt = data.rows.iter().filter(|row| row.is_corrupt && row.net.is_some()).count();
    if corrupt > 0 {
        let message =
            format!("{corrupt} energies are of calls during which samplers were restarted; they mean nothing");
        measured.warnings.push(Warning::new("nested calls", message));
    }
    measured.calls.extend(data.rows.into_iter().map(|row| of_row(row, measured.window)));
    Ok(())
}

fn of_samples(record: &FecomRecord, sampled: &SampledPower, window: WindowRule) -> Result<MeasuredCall> {
    let times = &record.times;
    let series = Rc::new(series_of(sampled)?);
    let range = TimeRange { start: times.start, end: times.end };
    let since = series.extent().map_or(range.start, |extent| extent.start);
    let rule = NetRule { baseline: record.settings.baseline, ..NetRule::for_class(sampled.device.class()) };
    let quiet = quiet(&[], since, range.start, rule.baseline);
    let stamps = match sampled.device.class() {
        DeviceClass::Gpu => {
            Stamps { start: times.start_nvidia, end: times.end_nvidia, baseline_before: times.start_perf }
        }
        _ => Stamps { start: times.start_perf, end: times.end_perf, baseline_before: times.start_perf },
    };
    let fecom_rule = FecomRule { baseline: record.settings.baseline, ..FecomRule::default() };
    let both = Both {
        exact: CallMeter::new(&series, rule).net(range, &quiet, None),
        fecom: net(sampled, stamps, &fecom_rule),
        stamped: TimeRange { start: sampled.began + stamps.start, end: sampled.began + stamps.end },
    };
    let input = record.sizes.input();
    let mut row = CallRow {
        project: record.project.clone(),
        run: record.experiment,
        call: record.call,
        function: record.function.clone(),
        device: sampled.device.to_string(),
        energy: "device",
        duration_s: range.duration().seconds(),
        input_bytes: input,
        ..CallRow::default()
    };
    both.fill(&mut row, window);
    let drawn = both.drawn(window, Kind::Measured, series.clone(), record.settings.baseline);
    let energy = CallEnergy {
        project: record.project.as_str().into(),
        run: record.experiment,
        call: record.call,
        function: record.function.as_str().into(),
        device: sampled.device.clone(),
        duration: range.duration(),
        input_bytes: input,
        net: row.net,
        tail: row.tail,
    };
    Ok(MeasuredCall { kind: record.kind, row, energy, drawn: Some(drawn) })
}

fn of_row(row: FecomRow, window: WindowRule) -> MeasuredCall {
    let (net, other) = match window {
        WindowRule::Exact => (row.net_shifted, row.net),
        WindowRule::Fecom => (row.net, row.net_shifted),
    };
    let input_bytes = row.sizes.input();
    let shown = CallRow {
        project: row.project.clone(),
        run: row.experiment,
        call: row.call,
        function: row.function.clone(),
        device: row.device.to_string(),
        energy: "device",
        duration_s: row.duration.seconds(),
        samples: row.samples,
        gross: row.gross,
        baseline: row.baseline,
        baseline_sd: row.baseline_deviation,
        net,
        other_net: other,
        tail_s: row.tail_duration.map(|duration| duration.seconds()),
        tail: row.tail_net,
        input_bytes,
        ..CallRow::default()
    };
    let energy = CallEnergy {
        project: row.project.into(),
        run: row.experiment,
        call: row.call,
        function: row.function.into(),
        device: row.device,
        duration: row.duration,
        input_bytes,
        net,
        tail: row.tail_net,
    };
    MeasuredCall { kind: row.kind, row: shown, energy, drawn: None }
}
