//! The Firefox Profiler's processed profile: a process for the program with its stages and steps as markers, and one for each
//! device with its power as a track and a thread for each lane with a sample for each stretch of an operation.
//!
//! A sample lasts until the next, so that the stack chart shows what ran when; its weight is the energy of its stretch, so
//! that the call tree and the flame graph show where the joules went. Weights are 32-bit integers: the unit is chosen by
//! the energy of the run, and the profile's name shows it.

use std::io::Write;

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerFieldFlags, MarkerFieldFormat,
    MarkerTiming, Profile, ReferenceTimestamp, SamplingInterval, StackHandle, StaticSchemaMarker,
    StaticSchemaMarkerField, StringHandle, ThreadHandle, Timestamp,
};
use jouletree_account::{Charge, ChargeVisitor, Labels, Metered, charge_events};
use jouletree_model::{EnergySeries, Event, Joules, Nanos, OpId, Pass, TimeRange, Trace};
use rustc_hash::FxHashMap;

use super::rows::note_rows;
use super::stacks::frames;
use super::timeline::{Books, tracks, whole};
use super::{Content, ExportError};

/// The profiler counts energy in picowatt-hours.
const PICOWATT_HOURS_PER_JOULE: f64 = 1e12 / 3600.0;

/// The numbers of main threads begin here; those of lanes are lower.
const NOTES: u32 = 1 << 30;

/// Energies of one sample, smallest first, that a weight can count.
const UNITS: [(f64, &str); 3] = [(1e-6, "1 µJ"), (1e-3, "1 mJ"), (1.0, "1 J")];

pub(super) fn write(content: &Content<'_>, output: &mut dyn Write) -> Result<(), ExportError> {
    let Content { trace, power, footprint, .. } = *content;
    let whole = whole(content)?;
    let origin = whole.start;
    let charged: Joules = footprint.energies.iter().map(|charged| charged.energy).sum();
    let (unit, unit_name) = unit_for(charged);
    let title = if content.program.is_empty() { content.name } else { content.program };
    let name = format!("{title} (1 sample = {unit_name})");
    let reference = ReferenceTimestamp::from_millis_since_unix_epoch(origin.0 as f64 / 1e6);
    // Samples come whenever something begins; a profile must name a rhythm all the same.
    let mut profile = Profile::new(&name, reference, SamplingInterval::from_millis(1));
    // Names are names: there is nothing to look up.
    profile.set_symbolicated(true);
    let categories = Pass::ALL.map(|pass| profile.add_category(pass.as_str(), colour(pass)));
    let beginning = Timestamp::from_nanos_since_reference(0);
    let notes = note_rows(trace, whole);
    if !notes.is_empty() {
        let title = if content.program.is_empty() { "program" } else { content.program };
        let process = profile.add_process(title, 0, beginning);
        // One thread is enough: the marker chart has a row for each name.
        let thread = profile.add_thread(process, NOTES, beginning, true);
        profile.set_thread_show_markers_in_timeline(thread, true);
        for row in &notes {
            for note in &row.notes {
                let name = profile.intern_string(&row.name);
                let text = profile.intern_string(&note.name);
                let (start, end) = (timestamp(note.range.start, origin), timestamp(note.range.end, origin));
                profile.add_marker(thread, MarkerTiming::Interval(start, end), NoteMarker { name, text });
            }
        }
    }
    let mut row_of_lane: Vec<Option<usize>> = vec![None; trace.lanes.len()];
    let mut rows: Vec<RowSamples> = Vec::new();
    for (pid, track) in (1..).zip(tracks(trace, power)) {
        let process = profile.add_process(&track.device.to_string(), pid, beginning);
        // The main thread has the name of its process and shows its power; lanes have names of their own.
        profile.add_thread(process, NOTES + pid, beginning, true);
        for row in &track.rows {
            let thread = profile.add_thread(process, number(rows.len()), beginning, false);
            profile.set_thread_name(thread, &row.name);
            for lane in &row.lanes {
                if let Some(known) = row_of_lane.get_mut(*lane) {
                    *known = Some(rows.len());
                }
            }
            rows.push(RowSamples { thread, until: None, carry: 0.0 });
        }
        if let Some(metered) = track.power {
            let name = format!("Power: {} ({})", track.device, metered.kind);
            let counter = profile.add_counter(process, &name, "power", "energy of the device over time");
            for (time, energy) in deltas(&metered.series) {
                let delta = energy.0 * PICOWATT_HOURS_PER_JOULE;
                profile.add_counter_sample(counter, timestamp(time, origin), delta, 0);
            }
        }
    }
    let stacks = FxHashMap::default();
    let (labels, books) = (Labels::of(&trace.ops), Books::new(trace));
    let mut samples =
        Samples { profile, trace, labels, origin, unit, categories, row_of_lane, rows, stacks, books };
    charge_events(trace, &Metered::devices(power), &mut samples)?;
    if content.is_exact {
        samples.books.check(footprint)?;
    }
    Ok(serde_json::to_writer(output, &samples.finished())?)
}

/// The smallest unit in which the whole run can be counted.
fn unit_for(energy: Joules) -> (f64, &'static str) {
    let fits = |unit: &(f64, &str)| energy.0 / unit.0 < f64::from(i32::MAX);
    let [_, _, largest] = UNITS;
    UNITS.into_iter().find(fits).unwrap_or(largest)
}

fn colour(pass: Pass) -> CategoryColor {
    match pass {
        Pass::Forward => CategoryColor::Blue,
        Pass::Backward => CategoryColor::Orange,
        Pass::Optimizer => CategoryColor::Green,
    }
}

fn number(lane: usize) -> u32 {
    u32::try_from(lane).unwrap_or(u32::MAX / 2)
}

fn timestamp(time: Nanos, origin: Nanos) -> Timestamp {
    Timestamp::from_nanos_since_reference((time - origin).0.max(0).unsigned_abs())
}

/// The energy since the point before, at every point; none where nothing was known.
fn deltas(series: &EnergySeries) -> impl Iterator<Item = (Nanos, Joules)> {
    let mut before: Option<(Joules, bool)> = None;
    series.points().map(move |(time, energy, gap)| {
        let known = before.filter(|(_, gap)| !gap);
        before = Some((energy, gap));
        (time, known.map_or(Joules::ZERO, |(before, _)| energy - before))
    })
}

/// Something that the program noted.
#[derive(Debug, Clone)]
struct NoteMarker {
    /// The row of the marker chart.
    name: StringHandle,
    text: StringHandle,
}

impl StaticSchemaMarker for NoteMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "jouletree-note";
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.text}");
    const TOOLTIP_LABEL: Option<&'static str> = Some("{marker.data.text}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.text}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "text",
        label: "Name",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.text
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}

/// Turns stretches into samples.
struct Samples<'a> {
    profile: Profile,
    trace: &'a Trace,
    labels: Labels,
    origin: Nanos,
    unit: f64,
    categories: [CategoryHandle; 3],
    row_of_lane: Vec<Option<usize>>,
    rows: Vec<RowSamples>,
    /// The stack of each operation in each row.
    stacks: FxHashMap<(usize, OpId), Option<StackHandle>>,
    books: Books,
}

struct RowSamples {
    thread: ThreadHandle,
    /// Until when the last sample lasts, and from when.
    until: Option<TimeRange>,
    /// Energy that was too little for a whole unit.
    carry: f64,
}

impl Samples<'_> {
    fn stack(&mut self, row: usize, thread: ThreadHandle, op: OpId) -> Option<StackHandle> {
        if let Some(known) = self.stacks.get(&(row, op)) {
            return *known;
        }
        let named = self.trace.ops.get(op);
        let category = named.map_or(CategoryHandle::OTHER, |op| {
            let [forward, backward, optimizer] = self.categories;
            match op.pass {
                Pass::Forward => forward,
                Pass::Backward => backward,
                Pass::Optimizer => optimizer,
            }
        });
        let frames = named.map(|named| frames(named, self.labels.mark(op))).unwrap_or_default();
        let frames: Vec<FrameInfo> = frames
            .iter()
            .map(|frame| FrameInfo {
                frame: Frame::Label(self.profile.intern_string(frame)),
                category_pair: category.into(),
                flags: FrameFlags::empty(),
            })
            .collect();
        let stack = self.profile.intern_stack_frames(thread, frames.into_iter());
        self.stacks.insert((row, op), stack);
        stack
    }

    /// The profile, with the last stretch of every row ended.
    fn finished(mut self) -> Profile {
        for row in &self.rows {
            if let Some(last) = row.until {
                let time = timestamp(last.end, self.origin);
                self.profile.add_sample(row.thread, time, None, cpu(last.duration()), 0);
            }
        }
        self.profile
    }
}

fn cpu(time: Nanos) -> CpuDelta {
    CpuDelta::from_nanos(time.0.max(0).unsigned_abs())
}

impl ChargeVisitor for Samples<'_> {
    type Error = ExportError;

    fn stretch(
        &mut self,
        lane: usize,
        event: &Event,
        stretch: TimeRange,
        charge: Charge,
    ) -> Result<(), ExportError> {
        let Some(row) = self.row_of_lane.get(lane).copied().flatten() else { return Ok(()) };
        let Some(thread) = self.rows.get(row).map(|row| row.thread) else { return Ok(()) };
        let stack = self.stack(row, thread, event.op);
        let Some(state) = self.rows.get_mut(row) else { return Ok(()) };
        // The time that a processor was busy is in the sample behind it.
        let mut busy = state.until.map_or(Nanos(0), TimeRange::duration);
        if let Some(last) = state.until.filter(|last| last.end < stretch.start) {
            self.profile.add_sample(thread, timestamp(last.end, self.origin), None, cpu(busy), 0);
            busy = Nanos(0);
        }
        let units = state.carry + charge.energy.0 / self.unit;
        let weight = units.round().clamp(0.0, f64::from(i32::MAX));
        state.carry = units - weight;
        state.until = Some(stretch);
        let time = timestamp(stretch.start, self.origin);
        self.profile.add_sample(thread, time, stack, cpu(busy), weight as i32);
        Ok(())
    }

    fn event(&mut self, _: usize, event: &Event, charge: Charge) -> Result<(), ExportError> {
        self.books.charge(event.op, charge.energy);
        Ok(())
    }
}
