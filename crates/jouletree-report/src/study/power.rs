//! Power over time: over the whole run, and over a step, with what ran in it.

use std::collections::{BTreeSet, HashMap};

use indexmap::IndexSet;
use jouletree_model::{
    Device, EnergySeries, Event, Kind, Nanos, Program, ProgramSpan, StageTime, Step, TimeRange, Trace, Watts,
};
use jouletree_run::{MeteredSeries, Scope, accounted};

use super::marks::Marks;

/// Into how many pieces of equal length the run is cut, at most,
const RUN_PIECES: usize = 1200;
/// and a step.
const STEP_PIECES: usize = 160;
/// So many steps are averaged; more look the same.
const MOST_STEPS: usize = 400;
/// So many moments of a step are kept, the longest.
const MOST_MOMENTS: usize = 40_000;

/// Power over time.
#[derive(Debug, Clone, Default)]
pub struct PowerView {
    /// Every device over the whole run.
    pub run: Vec<PowerTrack>,
    /// When the parts of the program were.
    pub marks: Marks,
    /// One step; `None` when no operations are known.
    pub step: Option<StepView>,
}

/// The power of one device, in pieces of equal length.
#[derive(Debug, Clone)]
pub struct PowerTrack {
    /// The device.
    pub device: Device,
    /// Whether it is what the program used of the device, and not all of it.
    pub is_ours: bool,
    /// How far from a meter it is.
    pub kind: Kind,
    /// How long a piece is.
    pub piece: Nanos,
    /// The mean power in each piece; `None` where nothing is known.
    pub watts: Vec<Option<Watts>>,
    /// The standard deviation of each piece over the steps behind the mean; empty where there is one step or none.
    pub deviations: Vec<Option<Watts>>,
}

/// A step: its power, averaged over all steps that do the same, and what ran in one of them.
#[derive(Debug, Clone)]
pub struct StepView {
    /// What the step does (`train`), and its stage where the program has several (`train, fine-tuning`); empty when the
    /// trace does not say.
    pub name: String,
    /// How many steps the power is the mean of.
    pub steps: usize,
    /// How long the step took in which the moments were.
    pub duration: Nanos,
    /// When it began, after the beginning of the recorded power.
    pub start: Nanos,
    /// The power of each device.
    pub tracks: Vec<PowerTrack>,
    /// What ran, by start.
    pub moments: Vec<Moment>,
    /// The paths of what ran.
    pub paths: Vec<Box<str>>,
    /// How many short moments are left out.
    pub left_out: usize,
}

/// An operation as it ran in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The operation, by the number of its path.
    pub path: usize,
    /// The lane in which it ran.
    pub lane: usize,
    /// When it began, after the beginning of the step.
    pub start: Nanos,
    /// How long it lasted.
    pub duration: Nanos,
}

impl PowerView {
    pub(super) fn of(power: &[MeteredSeries], trace: &Trace) -> PowerView {
        let ours = accounted(power.to_vec(), Scope::Tree);
        let is_whole = |series: &&MeteredSeries| series.is_whole();
        let whole: Vec<(bool, &MeteredSeries)> = {
            // What the program used, and beside it the whole device where that is more.
            let shared = |series: &MeteredSeries| {
                ours.iter().any(|own| own.device == series.device && own.series != series.series)
            };
            let all = power.iter().filter(is_whole).filter(|series| shared(series)).map(|series| (false, series));
            let ours = ours.iter().filter(is_whole).map(|series| (true, series));
            ours.chain(all).collect()
        };
        let extent = whole.iter().filter_map(|(_, series)| extent(&series.series)).reduce(TimeRange::union);
        let Some(extent) = extent.filter(|extent| !extent.is_empty()) else { return PowerView::default() };
        let points = whole.iter().map(|(_, series)| series.series.points().len()).max().unwrap_or(0);
        let pieces = points.clamp(2, RUN_PIECES);
        let run = whole.iter().map(|(is_ours, series)| track(series, *is_ours, extent, pieces)).collect();
        let marks = Marks::of(&trace.program, extent, trace.extent());
        PowerView { run, marks, step: step_view(&whole, trace, extent.start) }
    }
}

fn extent(series: &EnergySeries) -> Option<TimeRange> {
    let (mut first, mut last) = (None, None);
    for (time, ..) in series.points() {
        first.get_or_insert(time);
        last = Some(time);
    }
    Some(TimeRange { start: first?, end: last? })
}

fn track(series: &MeteredSeries, is_ours: bool, range: TimeRange, pieces: usize) -> PowerTrack {
    let mut sums = Pieces::new(range.duration(), pieces);
    sums.add(&series.series, range);
    let (device, kind) = (series.device.clone(), series.kind);
    PowerTrack { device, is_ours, kind, piece: sums.piece, watts: sums.watts(), deviations: Vec::new() }
}

/// Energy and time by piece of some stretch.
struct Pieces {
    piece: Nanos,
    joules: Vec<f64>,
    seconds: Vec<f64>,
}

impl Pieces {
    fn new(duration: Nanos, pieces: usize) -> Pieces {
        let piece = Nanos((duration.0 / pieces as i64).max(1));
        Pieces { piece, joules: vec![0.0; pieces], seconds: vec![0.0; pieces] }
    }

    fn add(&mut self, series: &EnergySeries, range: TimeRange) {
        for span in series.spans_within(range) {
            let from = (span.range.start - range.start).0 / self.piece.0;
            let to = (span.range.end - range.start).0.saturating_sub(1) / self.piece.0;
            for piece in from..=to {
                let start = Nanos(range.start.0 + piece * self.piece.0);
                let part = span.range.intersection(TimeRange { start, end: start + self.piece });
                let Ok(piece) = usize::try_from(piece) else { continue };
                if let (Some(joules), Some(seconds)) = (self.joules.get_mut(piece), self.seconds.get_mut(piece)) {
                    *joules += (span.power * part.duration()).0;
                    *seconds += part.duration().seconds();
                }
            }
        }
    }

    fn merge(&mut self, other: &Pieces) {
        let add = |sums: &mut [f64], more: &[f64]| sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        add(&mut self.joules, &other.joules);
        add(&mut self.seconds, &other.seconds);
    }

    fn watts(&self) -> Vec<Option<Watts>> {
        let mean = |(joules, seconds): (&f64, &f64)| (*seconds > 0.0).then(|| Watts(joules / seconds));
        self.joules.iter().zip(&self.seconds).map(mean).collect()
    }
}

/// How far the pieces of several steps are from their mean, by Welford's algorithm.
struct Spread {
    /// How many steps are known, their mean, and the sum of squares around it, by piece.
    pieces: Vec<(f64, f64, f64)>,
}

impl Spread {
    fn new(pieces: usize) -> Spread {
        Spread { pieces: vec![(0.0, 0.0, 0.0); pieces] }
    }

    fn add(&mut self, step: &[Option<Watts>]) {
        for ((count, mean, squares), watts) in self.pieces.iter_mut().zip(step) {
            let Some(Watts(watts)) = *watts else { continue };
            *count += 1.0;
            let off = watts - *mean;
            *mean += off / *count;
            *squares += off * (watts - *mean);
        }
    }

    fn deviations(&self) -> Vec<Option<Watts>> {
        let deviation = |(count, _, squares): &(f64, f64, f64)| {
            (*count > 1.0).then(|| Watts((squares / (count - 1.0)).max(0.0).sqrt()))
        };
        self.pieces.iter().map(deviation).collect()
    }
}

fn step_view(power: &[(bool, &MeteredSeries)], trace: &Trace, began: Nanos) -> Option<StepView> {
    let (name, steps, shown) = steps(trace)?;
    let duration = shown.duration();
    if duration <= Nanos(0) {
        return None;
    }
    let sampled = steps.iter().step_by(steps.len().div_ceil(MOST_STEPS).max(1));
    let ranges: Vec<TimeRange> =
        sampled.map(|step| TimeRange { start: step.start, end: (step.start + duration).min(step.end) }).collect();
    let of_device = |(is_ours, series): &(bool, &MeteredSeries)| {
        let mut sums = Pieces::new(duration, STEP_PIECES);
        let mut spread = Spread::new(STEP_PIECES);
        for range in &ranges {
            let mut own = Pieces::new(duration, STEP_PIECES);
            own.add(&series.series, *range);
            spread.add(&own.watts());
            sums.merge(&own);
        }
        let (device, kind) = (series.device.clone(), series.kind);
        let deviations = if ranges.len() > 1 { spread.deviations() } else { Vec::new() };
        PowerTrack { device, is_ours: *is_ours, kind, piece: sums.piece, watts: sums.watts(), deviations }
    };
    let (moments, paths, left_out) = moments(trace, shown);
    let tracks = power.iter().filter(|(is_ours, _)| *is_ours).map(of_device).collect();
    let start = shown.start - began;
    Some(StepView { name, steps: ranges.len(), duration, start, tracks, moments, paths, left_out })
}

/// The steps that take most of the time, and that one of them whose operations are shown: one of usual length.
fn steps(trace: &Trace) -> Option<(String, Vec<TimeRange>, TimeRange)> {
    let program: &Program = &trace.program;
    let recorded: Vec<&ProgramSpan> = program.steps().filter(|step| step.is_recorded).collect();
    if !recorded.is_empty() {
        let stages = program.stages();
        // Steps of two stages do different work, even if both train.
        let key = |step: &ProgramSpan| {
            let is_in = |stage: &&StageTime| {
                stage.ranges.iter().any(|range| range.start <= step.range.start && step.range.start < range.end)
            };
            (step.name.to_string(), stages.iter().find(is_in).map_or("", |stage| &*stage.name))
        };
        let mut times: HashMap<(String, &str), Nanos> = HashMap::new();
        for step in &recorded {
            *times.entry(key(step)).or_default() += step.range.duration();
        }
        let stages_of_steps: BTreeSet<&str> = times.keys().map(|(_, stage)| *stage).collect();
        let (most, _) = times.iter().max_by_key(|(key, time)| (**time, *key))?;
        let same = |step: &&ProgramSpan| key(step) == *most;
        let shown = usual(recorded.into_iter().filter(same).map(|step| step.range).collect())?;
        let all = program.steps().filter(same).map(|step| step.range).collect();
        let (name, stage) = most;
        let name =
            if stages_of_steps.len() > 1 && !stage.is_empty() { format!("{name}, {stage}") } else { name.clone() };
        return Some((name, all, shown));
    }
    // Without a program, the trace may have steps.
    let mut extents: HashMap<Step, TimeRange> = HashMap::new();
    for event in trace.lanes.iter().flat_map(|lane| lane.events()) {
        let range = TimeRange { start: event.start, end: event.end };
        extents.entry(event.step).and_modify(|extent| *extent = extent.union(range)).or_insert(range);
    }
    if extents.len() > 1 {
        extents.remove(&Step::NONE);
    }
    let all: Vec<TimeRange> = extents.into_values().collect();
    let shown = usual(all.clone())?;
    Some((String::new(), all, shown))
}

/// The one of middle length.
fn usual(mut ranges: Vec<TimeRange>) -> Option<TimeRange> {
    ranges.sort_unstable_by_key(|range| (range.duration(), range.start));
    ranges.get(ranges.len() / 2).copied()
}

fn moments(trace: &Trace, shown: TimeRange) -> (Vec<Moment>, Vec<Box<str>>, usize) {
    let mut events: Vec<(usize, Event)> = Vec::new();
    for (lane, all) in trace.lanes.iter().enumerate() {
        let (_, inside) = all.within(shown);
        events.extend(all.events()[inside].iter().map(|event| (lane, *event)));
    }
    let all = events.len();
    if all > MOST_MOMENTS {
        events.sort_unstable_by_key(|(_, event)| std::cmp::Reverse(event.duration()));
        events.truncate(MOST_MOMENTS);
    }
    events.sort_unstable_by_key(|(lane, event)| (event.start, *lane, event.op));
    let mut paths: IndexSet<&str> = IndexSet::new();
    let moment = |(lane, event): &(usize, Event)| {
        let op = trace.ops.get(event.op)?;
        let (path, _) = paths.insert_full(&*op.path);
        let (start, duration) = (event.start - shown.start, event.end.min(shown.end) - event.start);
        Some(Moment { path, lane: *lane, start, duration })
    };
    let moments: Vec<Moment> = events.iter().filter_map(moment).collect();
    let left_out = all - moments.len();
    (moments, paths.into_iter().map(Box::from).collect(), left_out)
}
