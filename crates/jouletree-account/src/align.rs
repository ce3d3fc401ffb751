//! Accounting: traces and power in, a conserved footprint out.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use jouletree_model::{
    Device, DeviceEnergy, EnergySeries, Explanation, Footprint, Joules, Kind, Lane, MeteredSeries, Nanos,
    OpEnergy, OpId, PartCharge, PowerSpan, Semantics, StageEnergy, Step, StepEnergy, TimeRange, Timeline, Trace,
    Warning,
};

use crate::Attribution;
use crate::attribution::{Equal, EqualShares, Numbers, Observed, Policy, Shares, with_policy};
use crate::hosting::Hosting;
use crate::own_ops::OwnOps;
use crate::paper;
use crate::parts::{Cut, part_energies};
use crate::self_time::{SelfTime, active_time};
use crate::sweep::{Spans, sweep};
use crate::tally::{Charged, StepTally, Tally};

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

impl<'a> Metered<'a> {
    /// The devices among what meters counted. A domain is a part of its device and adds nothing to it.
    pub fn devices(power: &'a [MeteredSeries]) -> Vec<Metered<'a>> {
        let devices = power.iter().filter(|metered| metered.is_whole());
        let metered = |metered: &'a MeteredSeries| Metered {
            device: &metered.device,
            kind: metered.kind,
            series: &metered.series,
        };
        devices.map(metered).collect()
    }
}

/// Puts the trace on the host of the power, if the power is of one host that has a name and the trace names none.
pub fn on_host_of(trace: Trace, power: &[MeteredSeries]) -> Trace {
    let hosts: BTreeSet<&str> = power.iter().map(|metered| metered.device.host()).collect();
    let is_unnamed = |device: &Device| device.is_on_unnamed_host();
    let one =
        power.first().map(|metered| &metered.device).filter(|device| hosts.len() == 1 && !is_unnamed(device));
    match one {
        Some(device) if trace.devices.iter().all(is_unnamed) => trace.on(device.host()),
        _ => trace,
    }
}

/// Why there is no footprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
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
    /// A reading at one instant only, or a counter that does not change.
    #[error(
        "the power covers no time: {0} has only one reading, or a counter that never changes; record for longer, or \
         let a reading hold with --hold MS"
    )]
    NoPowerTime(String),
    /// They do not overlap in time.
    #[error(
        "trace and power cover different times: operations run from epoch_ns {} to {}, power is known from {} to {}; {}",
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

/// Charges every operation of `trace` with its share of the energy in `power`, device by device and stage by stage. Of a
/// program with steps, the operations within recorded steps are the footprint; others are in [`Footprint::charges`] alone.
/// Shares are equal.
///
/// Of several series for one device the first counts; the caller leaves out breakdowns of a device into domains.
pub fn account(trace: &Trace, power: &[Metered<'_>], semantics: Semantics) -> Result<Footprint, AccountError> {
    account_with(trace, power, semantics, &Equal)
}

/// The same with shares by the policy a user chose.
pub fn account_by(
    trace: &Trace,
    power: &[Metered<'_>],
    semantics: Semantics,
    attribution: Attribution,
) -> Result<Footprint, AccountError> {
    Ok(account_explained(trace, power, semantics, attribution)?.footprint)
}

/// A footprint, and how energy was attributed on each device where the policy had a choice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explained {
    /// The footprint.
    pub footprint: Footprint,
    /// What was done on each device and why, by device.
    pub explanations: Vec<Explanation>,
}

/// The same with what the policy did on each device and why.
pub fn account_explained(
    trace: &Trace,
    power: &[Metered<'_>],
    semantics: Semantics,
    attribution: Attribution,
) -> Result<Explained, AccountError> {
    let mut explained =
        with_policy!(attribution, policy => account_explained_with(trace, power, semantics, policy))?;
    if attribution == Attribution::Regressed {
        // It was asked for by name.
        let equal = explained.explanations.iter().filter(|explanation| !explanation.is_regressed());
        explained.footprint.warnings.extend(equal.map(|explanation| {
            let reason = explanation.reason.as_deref().unwrap_or_default();
            Warning::new(explanation.device.to_string(), format!("shares are equal: {reason}"))
        }));
    }
    Ok(explained)
}

/// The same with shares by any policy.
pub fn account_with<P: Policy>(
    trace: &Trace,
    power: &[Metered<'_>],
    semantics: Semantics,
    policy: &P,
) -> Result<Footprint, AccountError> {
    Ok(account_explained_with(trace, power, semantics, policy)?.footprint)
}

fn account_explained_with<P: Policy>(
    trace: &Trace,
    power: &[Metered<'_>],
    semantics: Semantics,
    policy: &P,
) -> Result<Explained, AccountError> {
    let mut devices: Vec<&Device> =
        trace.devices.iter().chain(power.iter().map(|metered| metered.device)).collect();
    devices.sort();
    devices.dedup();
    // Of a program without recorded operations everything is unattributed.
    let extent = trace.extent();
    if let Some(extent) = extent {
        check_overlap(trace, power, extent)?;
    }
    let stages = trace.program.stages();
    let timeline = match semantics {
        Semantics::Exact => Timeline::of(&trace.program, extent),
        Semantics::Paper => None,
    };
    let cut = timeline.as_ref().map(|timeline| Cut::of(trace, timeline, &stages));
    let recorded = match (&timeline, semantics) {
        (Some(timeline), _) => timeline.recorded(),
        (None, Semantics::Exact) => extent.into_iter().collect(),
        (None, Semantics::Paper) => extent.map(paper::on_grid).into_iter().collect(),
    };
    let mut by_device: FxHashMap<&Device, &Metered<'_>> = FxHashMap::default();
    for metered in power {
        by_device.entry(metered.device).or_insert(metered);
    }
    let work = Work::new(trace, cut.as_ref(), semantics, recorded, policy);
    let fits: FxHashMap<&Device, P::Fit> =
        by_device.par_iter().map(|(device, metered)| (*device, work.fit(metered))).collect();
    // Where the policy knows better when energy was used, that is what is accounted.
    let moved: Vec<Metered<'_>> = power
        .iter()
        .filter(|metered| semantics == Semantics::Exact && by_device.contains_key(metered.device))
        .filter_map(|metered| {
            let series = policy.series(fits.get(metered.device)?)?;
            Some(Metered { series, ..*metered })
        })
        .collect();
    by_device.extend(moved.iter().map(|metered| (metered.device, metered)));
    let mut footprint = Footprint {
        sources: trace.sources.clone(),
        ops: trace.ops.clone(),
        model: trace.model.clone(),
        warnings: trace.warnings.clone(),
        ..Footprint::default()
    };
    if stages.is_empty() {
        let account = |device: &&Device| {
            let metered = by_device.get(*device);
            let use_of = metered.zip(fits.get(*device)).map(|(metered, fit)| (metered.kind, metered.series, fit));
            work.account(device, use_of, (0, &[TimeRange::ALL]))
        };
        let accounts: Vec<DeviceAccount> = devices.par_iter().map(account).collect();
        // The caller warns about an empty trace.
        if extent.is_some() {
            footprint.warnings.extend(accounts.iter().filter_map(DeviceAccount::warning));
        }
        footprint.devices = accounts.iter().map(|account| account.balance.clone()).collect();
        book(&mut footprint, 0, &accounts);
    }
    for (number, stage) in stages.iter().enumerate() {
        let account = |device: &&Device| {
            let metered = by_device.get(*device);
            let part = metered.map(|metered| (metered.kind, metered.series.within(&stage.ranges)));
            let use_of = part.as_ref().zip(fits.get(*device)).map(|((kind, series), fit)| (*kind, series, fit));
            work.account(device, use_of, (number, &stage.ranges))
        };
        let accounts: Vec<DeviceAccount> = devices.par_iter().map(account).collect();
        book(&mut footprint, number, &accounts);
        let devices = accounts.into_iter().map(|account| account.balance).collect();
        footprint.stages.push(StageEnergy { name: stage.name.clone(), devices });
    }
    if !stages.is_empty() {
        footprint.devices = sum_of_stages(&footprint.stages);
        add_steps(&mut footprint);
    }
    if let Some(timeline) = &timeline {
        footprint.parts = part_energies(timeline, &footprint.devices, &by_device, &footprint.charges);
    }
    let fit = |device: &&Device| fits.get(*device).filter(|_| semantics == Semantics::Exact);
    let errors =
        devices.iter().enumerate().filter_map(|(number, device)| Some((number, policy.errors(fit(device)?)?)));
    footprint.errors = errors.map(|(number, errors)| errors.on(number)).collect();
    let explanations = devices.iter().filter_map(|device| policy.explanation(fit(device)?)).collect();
    Ok(Explained { footprint, explanations })
}

/// What accounting needs to know of the trace.
struct Work<'a, P> {
    trace: &'a Trace,
    /// The lanes that are swept, by device, and how many operations and events they have: those of the trace, or of the cut.
    lanes: Vec<Vec<&'a Lane>>,
    ops: usize,
    total: usize,
    /// The lanes of the trace, by device.
    whole_lanes: Vec<Vec<&'a Lane>>,
    cut: Option<&'a Cut<'a>>,
    semantics: Semantics,
    recorded: Vec<TimeRange>,
    hosting: Hosting<'a>,
    policy: &'a P,
}

fn lanes_by_device(lanes: &[Lane], devices: usize) -> Vec<Vec<&Lane>> {
    let mut by_device = vec![Vec::new(); devices];
    for lane in lanes {
        if let Some(of_device) = by_device.get_mut(lane.device()) {
            of_device.push(lane);
        }
    }
    by_device
}

/// The lanes of the device of this number.
fn served_lanes<'a, 'b>(lanes: &'b [Vec<&'a Lane>], served: Option<usize>) -> &'b [&'a Lane] {
    served.and_then(|served| lanes.get(served)).map(Vec::as_slice).unwrap_or_default()
}

/// What one device used.
struct DeviceAccount {
    balance: DeviceEnergy,
    /// The operations that ran on it or were charged, by their number: a trace may name many devices and operations, and
    /// most of them have nothing to do with each other.
    ops: Vec<(usize, Charged)>,
    steps: FxHashMap<Step, StepTally>,
    /// What each operation used in each part of the program's time.
    charges: Vec<(usize, OpId, Charged)>,
    /// How many events ran on it; none where the energy of another device's operations is its own, too.
    events: usize,
    /// Whether operations of another device are charged with its energy.
    is_shared: bool,
}

impl<'a, P: Policy> Work<'a, P> {
    fn new(
        trace: &'a Trace,
        cut: Option<&'a Cut<'a>>,
        semantics: Semantics,
        recorded: Vec<TimeRange>,
        policy: &'a P,
    ) -> Work<'a, P> {
        let (swept, ops) = match cut {
            Some(cut) => (cut.lanes.as_slice(), cut.ops()),
            None => (trace.lanes.as_slice(), trace.ops.len()),
        };
        let lanes = lanes_by_device(swept, trace.devices.len());
        let whole_lanes = lanes_by_device(&trace.lanes, trace.devices.len());
        let total = swept.iter().map(|lane| lane.events().len()).sum();
        let hosting = Hosting::of(&trace.devices);
        Work { trace, lanes, ops, total, whole_lanes, cut, semantics, recorded, hosting, policy }
    }

    /// What the policy learns from all that a device used.
    fn fit(&self, Metered { device, kind, series }: &Metered<'_>) -> P::Fit {
        let spans: Vec<PowerSpan> = series.spans().collect();
        let lanes = served_lanes(&self.whole_lanes, self.hosting.served_by(device));
        let whole = Observed::new(device, lanes, &spans, &self.trace.ops);
        self.policy.fit(&Observed { kind: *kind, recorded: &self.recorded, ..whole })
    }

    /// What one device used during a stage, its energy being known from a series.
    fn account(
        &self,
        device: &Device,
        metered: Option<(Kind, &EnergySeries, &P::Fit)>,
        (number, stage): (usize, &[TimeRange]),
    ) -> DeviceAccount {
        let traced = self.trace.devices.number_of(device);
        let is_shared = traced.is_none();
        let served = self.hosting.served_by(device);
        let own = OwnOps::of(served_lanes(&self.lanes, served), self.ops);
        let (mut balance, mut tally, errors) = self.tally(device, &own, metered, stage);
        // Count and busy time only on the device that the operation ran on.
        if is_shared {
            tally.forget_times();
        }
        let error = |op: usize| errors.get(op).copied().flatten();
        let swept = tally.ops.iter().enumerate();
        let charged = swept.map(|(op, tally)| Charged { tally: *tally, standard_error: error(op) });
        let mut charges = Vec::new();
        let ran: Vec<(usize, Charged)> = match self.cut {
            Some(cut) => {
                charges = cut.charges(own.numbered(charged), number, traced);
                let mut ops: BTreeMap<usize, Charged> = BTreeMap::new();
                for (_, op, charged) in charges.iter().filter(|(part, ..)| cut.is_recorded(*part)) {
                    ops.entry(op.index()).or_default().add(charged);
                }
                // What runs outside of recorded steps is charged to none of their operations.
                let all = balance.attributed;
                balance.attributed = ops.values().map(|op| op.tally.energy).sum();
                balance.unattributed += Joules((all - balance.attributed).0.max(0.0));
                ops.into_iter().collect()
            }
            None => own.numbered(charged).collect(),
        };
        let ops = ran.into_iter().filter(|(_, op)| op.has_run()).collect();
        let events = served_lanes(&self.whole_lanes, served).iter().map(|lane| lane.events().len()).sum();
        DeviceAccount { balance, ops, steps: tally.steps, charges, events, is_shared }
    }

    fn tally(
        &self,
        device: &Device,
        own: &OwnOps<'_>,
        metered: Option<(Kind, &EnergySeries, &P::Fit)>,
        stage: &[TimeRange],
    ) -> (DeviceEnergy, Tally, Vec<Option<Joules>>) {
        let Work { semantics, recorded, .. } = self;
        let (lanes, ops) = (own.lanes().collect::<Vec<_>>(), own.ops());
        let lanes = lanes.as_slice();
        let parts = parts_of(lanes, self.total);
        let mut errors = Vec::new();
        let on_grid;
        let (series, tally) = match (metered, semantics) {
            (None, _) => (None, unmetered_tally(lanes, stage, ops)),
            (Some((kind, series, fit)), Semantics::Exact) => {
                let spans: Vec<PowerSpan> = series.spans().collect();
                let numbers = Numbers { own: own.numbers(), keys: self.cut.map(Cut::keys) };
                let whole = Observed::new(device, lanes, &spans, &self.trace.ops);
                let part = Observed { numbers, kind, recorded: &self.recorded, ..whole };
                let shares = self.policy.shares(fit, &part);
                let tally = tally_spans(lanes, &spans, &shares, stage, ops, parts);
                let charged = (0..).map(OpId).zip(&tally.ops);
                errors = charged.map(|(op, charged)| shares.standard_error(op, charged)).collect();
                (Some(series), tally)
            }
            // As it is printed: shares are equal.
            (Some((_, series, _)), Semantics::Paper) => {
                on_grid = paper::on_micros(series);
                let by_operation = paper::lanes_by_operation(lanes.iter().copied());
                let mut tally =
                    tally_device(&by_operation.iter().collect::<Vec<_>>(), &on_grid, stage, ops, parts);
                for (op, count) in tally.ops.iter_mut().zip(paper::counts(lanes.iter().copied(), ops)) {
                    op.count = count;
                }
                (Some(&on_grid), tally)
            }
        };
        let (total, kind) = (series.map(EnergySeries::total), metered.map(|(kind, ..)| kind));
        let spans: Vec<PowerSpan> = series.into_iter().flat_map(EnergySeries::spans).collect();
        let unknown = unknown_ranges(&spans, stage);
        let uncovered = unknown.iter().flat_map(|range| lanes.iter().map(|lane| active_time(lane, *range)));
        let inside = series.map_or(Joules::ZERO, |series| series.within(recorded).total());
        let balance = DeviceEnergy {
            device: device.clone(),
            total,
            attributed: tally.attributed(),
            unattributed: tally.unattributed,
            outside_trace: Joules((total.unwrap_or(Joules::ZERO) - inside).0.max(0.0)),
            kind,
            busy: tally.busy,
            metered: spans.iter().map(|span| span.range.duration()).fold(Nanos(0), |a, b| a + b),
            uncovered: uncovered.fold(Nanos(0), |a, b| a + b),
        };
        (balance, tally, errors)
    }
}

fn check_overlap(trace: &Trace, power: &[Metered<'_>], extent: TimeRange) -> Result<(), AccountError> {
    let names = |devices: &mut dyn Iterator<Item = &Device>| {
        let names: Vec<String> = devices.map(Device::to_string).collect();
        if names.is_empty() { "no device".to_owned() } else { names.join(", ") }
    };
    let common: Vec<&Metered<'_>> =
        power.iter().filter(|metered| trace.devices.number_of(metered.device).is_some()).collect();
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
fn unmetered_tally(lanes: &[&Lane], stage: &[TimeRange], ops: usize) -> Tally {
    let mut tally = Tally::new(ops);
    count_uncovered(lanes, &[], stage, &mut tally);
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

/// What a device used during a stage, `series` being its energy meanwhile, by equal shares. Stretches of known power are
/// independent of each other, and so are parts of them: about `parts` of them are worked on side by side.
pub fn tally_device(
    lanes: &[&Lane],
    series: &EnergySeries,
    stage: &[TimeRange],
    ops: usize,
    parts: usize,
) -> Tally {
    let spans: Vec<PowerSpan> = series.spans().collect();
    tally_spans(lanes, &spans, &EqualShares::of(lanes.len()), stage, ops, parts)
}

fn tally_spans<S: Shares>(
    lanes: &[&Lane],
    spans: &[PowerSpan],
    shares: &S,
    stage: &[TimeRange],
    ops: usize,
    parts: usize,
) -> Tally {
    let mut first = 0;
    let numbered = |spans| {
        let part = Spans { first, spans };
        first += part.spans.len();
        part
    };
    let parts = stretches(spans).flat_map(|stretch| split_by_work(stretch, lanes, parts));
    let parts: Vec<Spans<'_>> = parts.map(numbered).collect();
    let tallies: Vec<Tally> = parts
        .into_par_iter()
        .map(|part| {
            let mut tally = Tally::new(ops);
            tally_part(lanes, part, shares, &mut tally);
            tally
        })
        .collect();
    let mut total = Tally::new(ops);
    tallies.iter().for_each(|tally| total.add(tally));
    // Events that begin while no power is known are charged with nothing, but they did run.
    count_uncovered(lanes, spans, stage, &mut total);
    total
}

/// Charges `lanes` with the energy of spans that follow each other without a gap.
fn tally_part<S: Shares>(lanes: &[&Lane], part: Spans<'_>, shares: &S, tally: &mut Tally) {
    let Some(range) = extent_of(part.spans) else { return };
    let segments = lanes.iter().map(|lane| SelfTime::new(lane, range)).collect();
    sweep(segments, part, shares, tally);
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

/// The parts of a stage about which nothing is known, `spans` being what is known.
fn unknown_ranges(spans: &[PowerSpan], stage: &[TimeRange]) -> Vec<TimeRange> {
    let mut ranges = Vec::new();
    let mut at = Nanos::MIN;
    for range in stretches(spans).filter_map(extent_of) {
        ranges.push(TimeRange { start: at, end: range.start });
        at = range.end;
    }
    ranges.push(TimeRange { start: at, end: Nanos::MAX });
    let inside = |range: &TimeRange| stage.iter().map(|part| part.intersection(*range)).collect::<Vec<_>>();
    ranges.iter().flat_map(inside).filter(|range| !range.is_empty()).collect()
}

fn count_uncovered(lanes: &[&Lane], spans: &[PowerSpan], stage: &[TimeRange], tally: &mut Tally) {
    for range in unknown_ranges(spans, stage) {
        for lane in lanes {
            tally.count(&lane.events()[lane.within(range).1]);
        }
    }
}

impl DeviceAccount {
    /// What the user should know about it.
    fn warning(&self) -> Option<Warning> {
        let DeviceAccount { balance, events, is_shared, .. } = self;
        let message = if balance.total.is_none() {
            format!("{events} events and no power: their energy is not known")
        } else if *events == 0 {
            format!("power and no events: all of its {} is unattributed", balance.unattributed)
        } else if balance.uncovered > Nanos(0) && !is_shared {
            format!(
                "operations ran for {} (summed over lanes) while no power is known; that part is not accounted",
                balance.uncovered
            )
        } else {
            return None;
        };
        Some(Warning::new(balance.device.to_string(), message))
    }
}

/// Adds what the operations and steps of all devices used in a stage.
fn book(footprint: &mut Footprint, stage: usize, accounts: &[DeviceAccount]) {
    let ids: Vec<OpId> = footprint.ops.iter().map(|(id, _)| id).collect();
    for (device, DeviceAccount { ops, steps, charges, .. }) in accounts.iter().enumerate() {
        footprint.charges.extend(charges.iter().map(|(part, op, charged)| PartCharge {
            part: *part,
            charged: OpEnergy {
                device,
                op: *op,
                stage,
                energy: charged.tally.energy,
                busy: charged.tally.busy,
                count: charged.tally.count,
                standard_error: charged.standard_error,
            },
        }));
        let known = ops.iter().filter_map(|(number, op)| Some((*ids.get(*number)?, op)));
        footprint.energies.extend(known.map(|(id, op)| OpEnergy {
            device,
            op: id,
            stage,
            energy: op.tally.energy,
            busy: op.tally.busy,
            count: op.tally.count,
            standard_error: op.standard_error,
        }));
        let mut steps: Vec<StepEnergy> = steps
            .iter()
            .map(|(step, tally)| StepEnergy { device, step: *step, energy: tally.energy, busy: tally.busy })
            .collect();
        steps.sort_by_key(|entry| entry.step);
        footprint.steps.extend(steps);
    }
}

/// The balances of stages make those of the whole.
fn sum_of_stages(stages: &[StageEnergy]) -> Vec<DeviceEnergy> {
    let mut stages = stages.iter();
    let mut sum = stages.next().map(|stage| stage.devices.clone()).unwrap_or_default();
    for stage in stages {
        for (whole, part) in sum.iter_mut().zip(&stage.devices) {
            whole.total = whole.total.zip(part.total).map(|(whole, part)| whole + part);
            whole.attributed += part.attributed;
            whole.unattributed += part.unattributed;
            whole.outside_trace += part.outside_trace;
            whole.busy += part.busy;
            whole.metered += part.metered;
            whole.uncovered += part.uncovered;
        }
    }
    sum
}

/// Makes one entry of the parts that a step has in several stages.
fn add_steps(footprint: &mut Footprint) {
    footprint.steps.sort_by_key(|entry| (entry.device, entry.step));
    footprint.steps.dedup_by(|more, entry| {
        let is_same = (more.device, more.step) == (entry.device, entry.step);
        if is_same {
            entry.energy += more.energy;
            entry.busy += more.busy;
        }
        is_same
    });
}
