//! The events of the host's threads.

use jouletree_model::{Device, DeviceClass, Event, Marker, Nanos, Step};

use crate::time_base::wall_in_name;
use crate::wire::Fields;

use super::contents::{XPlaneContents, lines, run};
use super::eager::{self, Stretch, Stretched};
use super::kinds::{About, Kind, Sort, kinds};
use super::ops::Slot;
use super::space::{LineHead, Plane};
use super::stats::{RawEvent, next_message};
use super::work::Call;
use super::xla::{XlaStats, tiles};

/// How many bytes an event takes at least, as profilers write them; a guess that only saves moving memory.
const EVENT_BYTES: usize = 32;

/// The tag of the number of an event's name.
const NAME: u8 = 0x08;

/// Goes through all threads of a plane.
pub(super) fn read_plane<'a>(recording: &mut XPlaneContents<'a>, number: usize, plane: &Plane<'a>) {
    if plane.lines.is_empty() {
        return;
    }
    let about = About { layers: &recording.layers, has_programs: !recording.programs.is_empty() };
    let reader = HostPlane {
        number,
        kinds: kinds(plane, &about, &mut recording.ops),
        xla: XlaStats::of(plane),
        step: plane.stat_id("step_num"),
        call: plane.stat_id("tf_function_call"),
        done: plane.stat_id("_c"),
        kernel: plane.stat_id("kernel_type"),
        walls: [plane.stat_id("wall_ns"), plane.stat_id("wall")],
        device: Device::new(DeviceClass::Cpu, 0),
        plane,
    };
    for (head, line) in lines(plane) {
        reader.read_line(recording, &head, line);
    }
}

/// A plane of the host and what is known about its names.
struct HostPlane<'p, 'a> {
    number: usize,
    plane: &'p Plane<'a>,
    kinds: Vec<Kind>,
    /// The statistics of compiled operations, if there are such.
    xla: Option<XlaStats>,
    /// The statistics that identify a step, the call of a function, the time of day.
    step: Option<i64>,
    call: Option<i64>,
    /// The statistic by which the end of an operation's work refers to its call.
    done: Option<i64>,
    /// The statistic with the type of an operation.
    kernel: Option<i64>,
    walls: [Option<i64>; 2],
    device: Device,
}

impl<'a> HostPlane<'_, 'a> {
    fn read_line(&self, recording: &mut XPlaneContents<'a>, head: &LineHead, line: &'a [u8]) {
        let category = recording.category(&self.device, head.kind());
        let listener = recording.category(&self.device, "ThreadpoolListener");
        let takes_census = recording.takes_census();
        let line_start = recording.line_start(head);
        let is_data = head.kind().starts_with("tf_data");
        let runs_operations = head.kind().starts_with("tf_Compute");
        let mut events: Vec<Event> = Vec::with_capacity(line.len() / EVENT_BYTES);
        let mut calls: Vec<Call> = Vec::new();
        let mut stretches: Vec<Stretch> = Vec::new();
        let (mut counted, mut listened) = (0, 0);
        let mut before = Slot::NONE;
        let mut fields = Fields::new(line);
        while let Some(message) = next_message(&mut fields) {
            // Half of the events of some files only need to be counted, and their name comes first.
            if !takes_census {
                match self.kind(Fields::new(message).integer(NAME)).map(|kind| kind.sort) {
                    Some(Sort::Listener) => {
                        listened += 1;
                        continue;
                    }
                    Some(Sort::Other) => {
                        counted += 1;
                        continue;
                    }
                    _ => {}
                }
            }
            let raw = RawEvent::read(message);
            let Some((start, end)) = extent(&raw, line_start) else {
                recording.reject(&raw, message);
                continue;
            };
            let Some(kind) = self.kind(Some(raw.name)) else {
                recording.nameless(message);
                counted += 1;
                continue;
            };
            let runs = events.len();
            match kind.sort {
                Sort::Op => events.push(run(start, end, if is_data { kind.data_op } else { kind.op }, Step::NONE)),
                Sort::Listener => {
                    listened += 1;
                    if takes_census {
                        recording.note(listener, start, end, false);
                    }
                    continue;
                }
                Sort::Other => {}
                Sort::End => self.end(recording, &raw, end, &events, &mut calls),
                Sort::PerhapsOp if is_data => events.push(run(start, end, kind.data_op, Step::NONE)),
                Sort::PerhapsOp if runs_operations => events.push(run(start, end, kind.op, Step::NONE)),
                Sort::PerhapsOp => {}
                Sort::Sum => {
                    recording.ops.note_before(kind.op, before);
                    events.push(run(start, end, kind.op, Step::NONE));
                }
                Sort::Unknown => calls.extend(self.look(recording, &raw, start, end, &mut events)),
                rare => self.read_rare(recording, &raw, (start, end), rare, &mut events, &mut stretches),
            }
            counted += 1;
            let is_operation = events.len() > runs;
            if is_operation {
                before = kind.op;
            }
            if takes_census {
                recording.note(category, start, end, is_operation);
            }
        }
        recording.note_damage(line, fields.damage());
        let text = |name| std::str::from_utf8(self.plane.events.get(name)?.name).ok();
        events.extend(eager::runs(stretches, &mut recording.ops, text));
        if events.capacity() / 2 > events.len() {
            events.shrink_to_fit();
        }
        recording.events += counted + listened;
        if !takes_census {
            recording.count(category, counted);
            recording.count(listener, listened);
        }
        if let Some((lane, offset)) =
            recording.add_lane(self.number, head, &self.device, head.name.clone(), events)
        {
            recording.work.called(lane, offset, calls);
        }
    }

    /// Reads an event that few files have many of. The loop over all events is smaller and faster without it.
    #[inline(never)]
    fn read_rare(
        &self,
        recording: &mut XPlaneContents<'a>,
        raw: &RawEvent<'a>,
        (start, end): (Nanos, Nanos),
        sort: Sort,
        events: &mut Vec<Event>,
        stretches: &mut Vec<Stretch>,
    ) {
        let kind = match sort {
            Sort::Scope => Stretched::Scope,
            Sort::Eager => Stretched::Operation,
            Sort::Function => Stretched::Function,
            Sort::Asynchronous => return self.whole(recording, raw, (start, end), events),
            Sort::Marker => return self.mark(recording, raw, start),
            _ => return,
        };
        stretches.push(Stretch { start, end, name: raw.name, kind });
    }

    /// What is known about the name with this number.
    #[inline]
    fn kind(&self, name: Option<i64>) -> Option<&Kind> {
        self.kinds.get(self.plane.events.index(name?)?)
    }

    /// Notes that the work of an operation is done. Nearly always that is recorded right after its call and before the call returns:
    /// then the call is all there is to know.
    fn end(
        &self,
        recording: &mut XPlaneContents<'a>,
        raw: &RawEvent<'a>,
        at: Nanos,
        events: &[Event],
        calls: &mut Vec<Call>,
    ) {
        let id = raw.stats().find(|stat| Some(stat.id) == self.done).and_then(|stat| stat.value.integer());
        let (Some(id), Some(_)) = (id, self.xla) else { return };
        let returned = |call: &Call| events.get(call.range())?.last().map(|last| last.end);
        match calls.last() {
            Some(call) if call.id == id && returned(call).is_some_and(|returned| at <= returned) => {
                calls.pop();
            }
            _ => recording.work.ended(id, at),
        }
    }

    /// Looks at the statistics of an event whose name does not identify it.
    fn look(
        &self,
        recording: &mut XPlaneContents<'a>,
        raw: &RawEvent<'a>,
        start: Nanos,
        end: Nanos,
        events: &mut Vec<Event>,
    ) -> Option<Call> {
        if self.xla.is_none() && self.step.is_none() && self.call.is_none() {
            return None;
        }
        if let Some(xla) = &self.xla
            && let Some(found) = xla.of_event(raw)
        {
            let first = events.len();
            xla.add_runs(recording, self.plane, self.number, &found, (start, end), events);
            return found.call().map(|id| Call { id, first, count: events.len() - first });
        }
        for stat in raw.stats() {
            match stat.value.integer() {
                Some(number) if Some(stat.id) == self.step => recording.steps.mark(start, end, number),
                _ if Some(stat.id) == self.call => recording.steps.call((self.number, raw.name), start, end),
                _ => {}
            }
        }
        None
    }

    /// Adds the run of a compiled function whose instructions are not in the profile.
    fn whole(
        &self,
        recording: &mut XPlaneContents<'a>,
        raw: &RawEvent<'a>,
        (start, end): (Nanos, Nanos),
        events: &mut Vec<Event>,
    ) {
        const CALLS: [&[u8]; 5] =
            [b"StatefulPartitionedCall", b"PartitionedCall", b"XlaLaunch", b"XlaRun", b"_XlaRun"];
        let kernel =
            raw.stats().find(|stat| Some(stat.id) == self.kernel).and_then(|stat| self.plane.text(stat.value));
        if kernel.is_some_and(|kernel| CALLS.contains(&kernel)) {
            let parts = recording.whole();
            events.extend(tiles(start, end, &parts).map(|(from, to, slot)| run(from, to, slot, Step::NONE)));
        }
    }

    /// Takes the time of day from an event that carries it, in a statistic or in its name.
    fn mark(&self, recording: &mut XPlaneContents<'a>, raw: &RawEvent<'a>, start: Nanos) {
        let stats = raw.stats().filter(|stat| self.walls.contains(&Some(stat.id)));
        let in_stats = stats.filter_map(|stat| match stat.value.integer() {
            Some(wall) => Some(Nanos(wall)),
            None => std::str::from_utf8(self.plane.text(stat.value)?).ok()?.trim().parse().ok().map(Nanos),
        });
        let in_name = || wall_in_name(&String::from_utf8_lossy(self.plane.events.get(raw.name)?.name));
        if let Some(wall) = in_stats.last().or_else(in_name) {
            recording.markers.push(Marker { wall, at: start });
        }
    }
}

/// When an event ran, in whole nanoseconds; `None` when it has no time.
#[inline]
pub(super) fn extent(event: &RawEvent<'_>, line_start: Nanos) -> Option<(Nanos, Nanos)> {
    if event.damaged || event.is_sum || event.duration < 0 {
        return None;
    }
    let at = |picoseconds: i64| match u64::try_from(picoseconds) {
        Ok(picoseconds) => line_start + Nanos((picoseconds / 1000) as i64),
        Err(_) => line_start + Nanos(picoseconds.div_euclid(1000)),
    };
    Some((at(event.offset), at(event.offset.saturating_add(event.duration))))
}
