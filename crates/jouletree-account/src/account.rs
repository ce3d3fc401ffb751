//! Accounting: traces and power in, a conserved footprint out.

use rayon::prelude::*;

use jouletree_model::{
    Device, DeviceEnergy, EnergySeries, Footprint, Joules, Kind, Lane, Nanos, OpEnergy, PowerSpan, StepEnergy,
    TimeRange, Trace, Warning,
};

use crate::paper;
use crate::self_time::{SelfTime, active_time};
use crate::sweep::sweep;
use crate::tally::Tally;

/// The meaning of "active at an instant".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// Half-open intervals of nanoseconds; the innermost event of each lane is active.
    #[default]
    Exact,
    /// Algorithm 2 of the Smaragdine paper as printed: whole microseconds, end included, a set of operations.
    Paper,
}

/// The energy of one device and how it came to be known.
#[derive(Debug, Clone, Copy)]
pub struct Metered<'a> {
    /// The device.
    pub device: &'a Device,
    /// How the energy came to be known.
    pub kind: Kind,
    /// The energy over time.
    pub series: &'a EnergySeries,
}

/// Why there is no footprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// The trace has no operation.
    #[error("there is nothing to account: the trace holds no operation")]
    NoEvents,
    /// No device has both.
    #[error(
        "no device has both operations and power: operations ran on {traced}, power is known for {metered}; \
         name the devices in the power file as in the trace"
    )]
    NoCommonDevice {
        /// The devices of the trace.
        traced: String,
        /// The devices of the power.
        metered: String,
    },
    /// A reading at one instant only, or a counter that stands still.
    #[error(
        "the power covers no time: {0} has but one reading, or a counter that never changes; record for longer, or \
         let a reading hold with --hold MS"
    )]
    NoPowerTime(String),
    /// They do not overlap in time.
    #[error(
        "operations and power do not meet in time: operations run from epoch_ns {} to {}, power is known from {} to {}; {}",
        trace.start.0, trace.end.0, power.start.0, power.end.0, remedy_for(*trace)
    )]
    NoCommonTime {
        /// When operations ran.
        trace: TimeRange,
        /// When power is known.
        power: TimeRange,
    },
}

/// The beginning of 2000: no profiler that knows the wall clock says less.
const YEAR_2000: Nanos = Nanos(946_684_800_000_000_000);

fn remedy_for(trace: TimeRange) -> &'static str {
    if trace.end < YEAR_2000 {
        "the trace counts time from its own start; say when that was with --base-ns, in nanoseconds since the \
         epoch, or in a NAME.meta.json beside the trace as {\"start_ns\": …}"
    } else {
        "check the unit of both time stamps and that both clocks count from the Unix epoch"
    }
}

/// Charges every operation of `trace` with its share of the energy in `power`, device by device.
///
/// Of several series for one device the first counts; the caller leaves out breakdowns of a device into domains.
pub fn account(trace: &Trace, power: &[Metered<'_>], semantics: Semantics) -> Result<Footprint, AccountError> {
    let extent = trace.extent().ok_or(AccountError::NoEvents)?;
    let mut warnings = trace.warnings.clone();
    let mut devices: Vec<&Device> =
        trace.devices.iter().chain(power.iter().map(|metered| metered.device)).collect();
    devices.sort();
    devices.dedup();
    check_overlap(trace, power, extent)?;
    let extent = match semantics {
        Semantics::Exact => extent,
        Semantics::Paper => paper::on_grid(extent),
    };

    let account = |device: &&Device| account_device(device, trace, power, semantics, extent);
    let results: Vec<(DeviceEnergy, Tally, Vec<Warning>)> = devices.par_iter().map(account).collect();
    let mut footprint = Footprint {
        sources: trace.sources.clone(),
        ops: trace.ops.clone(),
        model: trace.model.clone(),
        ..Footprint::default()
    };
    for (balance, tally, more) in results {
        warnings.extend(more);
        book(&mut footprint, balance, &tally);
    }
    footprint.warnings = warnings;
    Ok(footprint)
}

/// What one device used, and what the user should know about it.
fn account_device(
    device: &Device,
    trace: &Trace,
    power: &[Metered<'_>],
    semantics: Semantics,
    extent: TimeRange,
) -> (DeviceEnergy, Tally, Vec<Warning>) {
    let ops = trace.ops.len();
    let lanes: Vec<&Lane> = trace.lanes.iter().filter(|lane| &trace.devices[lane.device()] == device).collect();
    let metered = power.iter().find(|metered| metered.device == device);
    let parts = parts_of(&lanes, trace.event_count());
    let on_grid;
    let (series, tally) = match (metered, semantics) {
        (None, _) => (None, unmetered_tally(&lanes, ops)),
        (Some(metered), Semantics::Exact) => {
            (Some(metered.series), tally_device(&lanes, metered.series, ops, parts))
        }
        (Some(metered), Semantics::Paper) => {
            on_grid = paper::on_micros(metered.series);
            let by_operation = paper::lanes_by_operation(lanes.iter().copied());
            let mut tally = tally_device(&by_operation.iter().collect::<Vec<_>>(), &on_grid, ops, parts);
            for (op, count) in tally.ops.iter_mut().zip(paper::counts(lanes.iter().copied(), ops)) {
                op.count = count;
            }
            (Some(&on_grid), tally)
        }
    };
    let balance = balance(device, metered.map(|metered| metered.kind), series, &lanes, &tally, extent);
    let warnings = gaps_in(&balance, &lanes);
    (balance, tally, warnings)
}

fn check_overlap(trace: &Trace, power: &[Metered<'_>], extent: TimeRange) -> Result<(), AccountError> {
    let names = |devices: &mut dyn Iterator<Item = &Device>| {
        let names: Vec<String> = devices.map(Device::to_string).collect();
        if names.is_empty() { "no device".to_owned() } else { names.join(", ") }
    };
    let common: Vec<&Metered<'_>> =
        power.iter().filter(|metered| trace.devices.contains(metered.device)).collect();
    if common.is_empty() {
        return Err(AccountError::NoCommonDevice {
            traced: names(&mut trace.devices.iter()),
            metered: names(&mut power.iter().map(|metered| metered.device)),
        });
    }
    let known = common.iter().filter_map(|metered| metered.series.extent()).reduce(TimeRange::union);
    let Some(known) = known else {
        return Err(AccountError::NoPowerTime(names(&mut common.iter().map(|metered| metered.device))));
    };
    if extent.intersection(known).is_empty() {
        return Err(AccountError::NoCommonTime { trace: extent, power: known });
    }
    Ok(())
}

/// What ran on a device that nothing metered: counts only.
fn unmetered_tally(lanes: &[&Lane], ops: usize) -> Tally {
    let mut tally = Tally::new(ops);
    for lane in lanes {
        tally.count(lane.events());
    }
    tally
}

/// A part of less work than this is not worth a task of its own.
const EVENTS_PER_PART: usize = 1 << 16;

/// Into how many parts the work of a device is best cut when `total` events are accounted on all devices together:
/// a few parts for each core over all, so that cores finish together.
fn parts_of(lanes: &[&Lane], total: usize) -> usize {
    let events: usize = lanes.iter().map(|lane| lane.events().len()).sum();
    let wanted = match rayon::current_num_threads() {
        1 => 1,
        threads => (4 * threads * events).div_ceil(total.max(1)),
    };
    wanted.min(events / EVENTS_PER_PART).max(1)
}

/// What a device used. Stretches of known power are independent of each other, and so are parts of them: about
/// `parts` of them are worked on side by side.
pub fn tally_device(lanes: &[&Lane], series: &EnergySeries, ops: usize, parts: usize) -> Tally {
    let spans: Vec<PowerSpan> = series.spans().collect();
    let parts: Vec<&[PowerSpan]> =
        stretches(&spans).flat_map(|stretch| split_by_work(stretch, lanes, parts)).collect();
    let tallies: Vec<Tally> = parts
        .into_par_iter()
        .map(|part| {
            let mut tally = Tally::new(ops);
            tally_spans(lanes, part, &mut tally);
            tally
        })
        .collect();
    let mut total = Tally::new(ops);
    tallies.iter().for_each(|tally| total.add(tally));
    // Events that begin while no power is known are nobody's to charge, but they did run.
    count_uncovered(lanes, &spans, &mut total);
    total
}

/// Charges `lanes` with the energy of `spans`, which follow each other without a gap.
fn tally_spans(lanes: &[&Lane], spans: &[PowerSpan], tally: &mut Tally) {
    let Some(range) = extent_of(spans) else { return };
    let segments = lanes.iter().map(|lane| SelfTime::new(lane, range)).collect();
    sweep(segments, spans, tally);
}

/// Runs of spans without a gap between them.
fn stretches(spans: &[PowerSpan]) -> impl Iterator<Item = &[PowerSpan]> {
    spans.chunk_by(|a, b| a.range.end == b.range.start)
}

fn extent_of(spans: &[PowerSpan]) -> Option<TimeRange> {
    Some(TimeRange { start: spans.first()?.range.start, end: spans.last()?.range.end })
}

/// Cuts a stretch at borders of spans into at most `wanted` parts with about the same number of events.
fn split_by_work<'a>(stretch: &'a [PowerSpan], lanes: &[&Lane], wanted: usize) -> Vec<&'a [PowerSpan]> {
    let begun = |instant: Nanos| -> usize {
        lanes.iter().map(|lane| lane.events().partition_point(|event| event.start < instant)).sum()
    };
    let Some(range) = extent_of(stretch) else { return Vec::new() };
    let first = begun(range.start);
    let events = begun(range.end) - first;
    let mut parts = Vec::with_capacity(wanted);
    let mut rest = stretch;
    for part in 1..wanted {
        let goal = first + events * part / wanted;
        let cut = rest.partition_point(|span| begun(span.range.end) <= goal);
        let (now, later) = rest.split_at(cut);
        if !now.is_empty() {
            parts.push(now);
        }
        rest = later;
    }
    parts.push(rest);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The parts of time about which nothing is known, `spans` being what is known.
fn unknown_ranges(spans: &[PowerSpan]) -> Vec<TimeRange> {
    let mut ranges = Vec::new();
    let mut at = Nanos::MIN;
    for range in stretches(spans).filter_map(extent_of) {
        ranges.push(TimeRange { start: at, end: range.start });
        at = range.end;
    }
    ranges.push(TimeRange { start: at, end: Nanos::MAX });
    ranges
}

fn count_uncovered(lanes: &[&Lane], spans: &[PowerSpan], tally: &mut Tally) {
    for range in unknown_ranges(spans) {
        for lane in lanes {
            tally.count(&lane.events()[lane.within(range).1]);
        }
    }
}

fn balance(
    device: &Device,
    kind: Option<Kind>,
    series: Option<&EnergySeries>,
    lanes: &[&Lane],
    tally: &Tally,
    extent: TimeRange,
) -> DeviceEnergy {
    let spans: Vec<PowerSpan> = series.into_iter().flat_map(EnergySeries::spans).collect();
    let metered = spans.iter().map(|span| span.range.duration()).fold(Nanos(0), |a, b| a + b);
    let inside = |span: &PowerSpan| span.power * span.range.intersection(extent).duration();
    let outside_trace = spans.iter().map(|span| span.power * span.range.duration() - inside(span)).sum();
    let uncovered = unknown_ranges(&spans)
        .into_iter()
        .flat_map(|range| lanes.iter().map(move |lane| active_time(lane, range)))
        .fold(Nanos(0), |a, b| a + b);
    DeviceEnergy {
        device: device.clone(),
        measured: series.map(EnergySeries::total),
        attributed: tally.attributed(),
        unattributed: tally.unattributed,
        outside_trace,
        kind,
        busy: tally.busy,
        metered,
        uncovered,
    }
}

fn gaps_in(balance: &DeviceEnergy, lanes: &[&Lane]) -> Vec<Warning> {
    let device = balance.device.to_string();
    let events: usize = lanes.iter().map(|lane| lane.events().len()).sum();
    let mut warnings = Vec::new();
    if balance.measured.is_none() {
        warnings.push(Warning::new(device, format!("{events} events and no power: their energy is not known")));
    } else if events == 0 {
        let energy = balance.unattributed;
        warnings.push(Warning::new(device, format!("power and no events: all of its {energy} is unattributed")));
    } else if balance.uncovered > Nanos(0) {
        let message = format!(
            "operations ran for {} (summed over lanes) while no power is known; that part is not accounted",
            balance.uncovered
        );
        warnings.push(Warning::new(device, message));
    }
    warnings
}

/// Adds a device with what its operations and steps used.
fn book(footprint: &mut Footprint, balance: DeviceEnergy, tally: &Tally) {
    let device = footprint.devices.len();
    footprint.devices.push(balance);
    let ran = footprint.ops.iter().zip(&tally.ops).filter(|(_, op)| op.count > 0 || op.energy > Joules::ZERO);
    footprint.energies.extend(ran.map(|((id, _), op)| OpEnergy {
        device,
        op: id,
        energy: op.energy,
        busy: op.busy,
        count: op.count,
    }));
    let mut steps: Vec<StepEnergy> = tally
        .steps
        .iter()
        .map(|(step, tally)| StepEnergy { device, step: *step, energy: tally.energy, busy: tally.busy })
        .collect();
    steps.sort_by_key(|entry| entry.step);
    footprint.steps.extend(steps);
}
