//! What the host's threads did: ranges that programs mark (NVTX) and calls into CUDA.

use std::cmp::Reverse;

use jouletree_model::{Marker, Nanos};

use super::names::{RangeName, RangeSort};
use super::tables::{PROCESS, Reader, link};
use crate::kineto::EVALUATE;
use crate::kineto::contents::{HostEvent, HostSort, KinetoContents, UNLINKED};
use crate::time_base::wall_in_name;

/// The types of NVTX events.
const MARK: i64 = 34;
const PUSH_POP_RANGE: i64 = 59;
const START_END_RANGE: i64 = 60;

impl Reader<'_> {
    pub(super) fn read_ranges(&mut self) {
        const COLUMNS: [&str; 6] = ["start", "end", "eventType", "text", "textId", "globalTid"];
        let [ranges, process_ranges, marks] = ["nvtx range", "nvtx process range", "nvtx mark"]
            .map(|name| self.recording.names.bytes(name.as_bytes()));
        let mut bad = 0;
        let database = self.database;
        let damage = database.each("NVTX_EVENTS", &COLUMNS, |row| {
            let text = row.text(3).or_else(|| {
                let string = self.strings.get(&row.integer(4)?)?;
                Some(self.recording.names.get(*string).into_owned())
            });
            let kind = row.integer(2).unwrap_or(PUSH_POP_RANGE);
            if !matches!(kind, MARK | PUSH_POP_RANGE | START_END_RANGE) {
                return;
            }
            self.recording.events += 1;
            let (Some(start), Some(text)) = (row.integer(0).map(Nanos), text) else {
                bad += 1;
                return;
            };
            if let Some(wall) = wall_in_name(&text) {
                self.recording.markers.push(Marker { wall, at: start });
            }
            if kind == MARK {
                return self.recording.counter.note((None, marks), start, start, false);
            }
            // A range that was open when the recording ended has no end.
            let end = row.integer(1).map_or(Nanos::MAX, Nanos);
            if end < start {
                bad += 1;
                return;
            }
            let range = RangeName::of(&text);
            let is_operator = matches!(range.sort, RangeSort::Operator | RangeSort::Backward);
            let category = if kind == START_END_RANGE { process_ranges } else { ranges };
            if end == Nanos::MAX {
                self.open_ranges.push((category, start, is_operator));
            } else {
                self.last = self.last.max(end);
                self.recording.counter.note((None, category), start, end, is_operator);
            }
            // A range over a whole process is in no thread; only as a step does it say something of all.
            if kind == PUSH_POP_RANGE || matches!(range.sort, RangeSort::Step(_)) {
                let thread = row.integer(5).unwrap_or(0);
                self.push_range(range, thread, start, end);
            }
        });
        self.recording.warnings.extend(damage);
        self.warn_of_bad("NVTX_EVENTS", bad);
    }

    fn push_range(&mut self, range: RangeName<'_>, global_thread: i64, start: Nanos, end: Nanos) {
        let process = self.process(global_thread & PROCESS);
        let (sort, name) = match range.sort {
            RangeSort::Step(number) => (HostSort::Annotation, self.named(&format!("ProfilerStep#{number}"))),
            RangeSort::Annotation => (HostSort::Annotation, self.named(range.name)),
            RangeSort::Operator | RangeSort::Backward => (HostSort::Operator, self.named(range.name)),
        };
        let link = range.sequence.and_then(|number| link(process, number)).unwrap_or(UNLINKED);
        let forward_thread = u16::from(range.sort == RangeSort::Backward);
        self.push(global_thread, HostEvent { start, end, name, thread: 0, order: 0, sort, forward_thread, link });
    }

    pub(super) fn read_calls(&mut self, table: &str) {
        let category = self.recording.names.bytes(b"runtime");
        let mut bad = 0;
        let database = self.database;
        let columns = ["start", "end", "globalTid", "correlationId", "nameId"];
        let damage = database.each(table, &columns, |row| {
            self.recording.events += 1;
            let Some((start, end)) = self.extent(&row) else {
                bad += 1;
                return;
            };
            let global_thread = row.integer(2).unwrap_or(0);
            let process = self.process(global_thread & PROCESS);
            let name = row.integer(4).and_then(|id| self.strings.get(&id).copied());
            let name = name.unwrap_or_else(|| self.named("(call without a name)"));
            let link = row.integer(3).and_then(|number| self.correlation(process, number)).unwrap_or(UNLINKED);
            self.recording.counter.note((None, category), start, end, false);
            let sort = HostSort::Runtime;
            let call = HostEvent { start, end, name, thread: 0, order: 0, sort, forward_thread: 0, link };
            self.push(global_thread, call);
        });
        self.recording.warnings.extend(damage);
        self.warn_of_bad(table, bad);
    }

    /// A range without an end lasts to the end of the recording.
    pub(super) fn close_open_ranges(&mut self) {
        let last = self.last;
        for event in self.recording.host.iter_mut().filter(|event| event.end == Nanos::MAX) {
            event.end = last.max(event.start);
        }
        let open = std::mem::take(&mut self.open_ranges);
        if !open.is_empty() {
            let count = open.len();
            self.warn(format!("{count} ranges were open when the recording ended; they are taken to end with it"));
        }
        for (category, start, is_operator) in open {
            self.recording.counter.note((None, category), start, last.max(start), is_operator);
        }
    }

    /// PyTorch numbers the backward node but not its evaluation by autograd, which is around it.
    pub(super) fn number_evaluations(&mut self) {
        let KinetoContents { host, names, .. } = &mut *self.recording;
        let is_evaluation = |event: &HostEvent| {
            event.sort == HostSort::Operator
                && event.link == UNLINKED
                && names.get(event.name).starts_with(EVALUATE)
        };
        let mut order: Vec<usize> =
            (0..host.len()).filter(|index| host[*index].sort == HostSort::Operator).collect();
        order.sort_by_key(|index| {
            let event = &host[*index];
            (event.thread, event.start, Reverse(event.end), event.order)
        });
        let mut open: Vec<usize> = Vec::new();
        for index in order {
            let event = host[index];
            let is_over = |outer: &HostEvent| outer.thread != event.thread || outer.end <= event.start;
            while open.pop_if(|outer| is_over(&host[*outer])).is_some() {}
            if event.forward_thread > 0 && event.link != UNLINKED {
                for outer in open.drain(..) {
                    host[outer].link = event.link;
                }
            } else if is_evaluation(&event) {
                open.push(index);
            }
        }
    }
}
