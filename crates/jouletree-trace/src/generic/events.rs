//! Rows to events, and events to a trace.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use jouletree_model::{
    Device, DeviceClass, Event, Lane, Marker, Nanos, Op, OpId, Pass, Step, Trace, TraceSource, Warning,
};

use super::cell::Cell;
use super::columns::{Column, Header};
use super::time::{Form, Forms, coarseness, time};
use crate::census::Counter;
use crate::error::TraceError;
use crate::interner::Interner;
use crate::options::ReadOptions;
use crate::source::Source;
use crate::time_base::{absolute, find_time_base, wall_in_name};

/// The category under which rows are counted: a table has only one.
const CATEGORY: &str = "event";

/// The events of a table while it is read.
pub(super) struct Events {
    file: String,
    /// What a row is called in messages: a line of a text, a row of a table.
    row_is_called: &'static str,
    header: Header,
    forms: Option<Forms>,
    names: Interner,
    ops: FxHashMap<[u32; 4], OpId>,
    devices: FxHashMap<[u32; 2], Option<u32>>,
    lanes: IndexMap<(u32, u32), Vec<Event>, FxBuildHasher>,
    counter: Counter<u32>,
    markers: Vec<Marker>,
    bad: BTreeMap<&'static str, Bad>,
    coarse: Option<Nanos>,
    first: Option<Nanos>,
    /// How many rows were used.
    pub(super) used: u64,
    trace: Trace,
}

/// Rows that cannot be used.
struct Bad {
    count: u64,
    first: u64,
    example: String,
}

/// What is wrong with a row, and the field that shows it.
type Wrong = (&'static str, String);

impl Events {
    pub(super) fn new(source: &Source, header: Header, row_is_called: &'static str, takes_census: bool) -> Events {
        Events {
            file: source.name().to_owned(),
            row_is_called,
            header,
            forms: None,
            names: Interner::default(),
            ops: FxHashMap::default(),
            devices: FxHashMap::default(),
            lanes: IndexMap::default(),
            counter: Counter::new(takes_census),
            markers: Vec::new(),
            bad: BTreeMap::new(),
            coarse: None,
            first: None,
            used: 0,
            trace: Trace::default(),
        }
    }

    /// Goes on with another header: a file may name its columns anew in every row.
    pub(super) fn set_header(&mut self, header: Header) {
        self.header = header;
        self.forms = None;
    }

    /// Takes a row whose number is `number`. What is wrong with the table as a whole is an error.
    pub(super) fn row<'a>(&mut self, number: u64, cell: impl Fn(Column) -> Cell<'a>) -> Result<(), TraceError> {
        if self.forms.is_none() {
            let found = Forms::of(&self.header, &cell);
            self.forms = found.map_err(|what| TraceError::Columns { file: self.file.clone(), what })?;
        }
        match self.forms {
            None => self.reject(number, ("without a readable start", cell(Column::Start).text().into_owned())),
            Some(forms) => {
                if let Err(wrong) = self.event(forms, cell) {
                    self.reject(number, wrong);
                }
            }
        }
        Ok(())
    }

    /// Leaves a row out.
    pub(super) fn reject(&mut self, number: u64, (what, example): Wrong) {
        let example = example.chars().take(60).collect();
        self.bad.entry(what).or_insert(Bad { count: 0, first: number, example }).count += 1;
    }

    fn event<'a>(&mut self, forms: Forms, cell: impl Fn(Column) -> Cell<'a>) -> Result<(), Wrong> {
        let (start, end) = self.extent(forms, &cell)?;
        let device = self.device(&cell)?;
        let op = self.op(&cell, start)?;
        let step = match cell(Column::Step) {
            Cell::Empty => Step::NONE,
            step => {
                let text = step.text();
                let number = text.parse().map_err(|_| ("whose step is not a whole number", text.into_owned()))?;
                Step(number)
            }
        };
        let lane = match cell(Column::Lane) {
            Cell::Empty => self.names.bytes(b"0"),
            lane => self.names.bytes(lane.text().as_bytes()),
        };
        self.counter.note(device, start, end, true);
        self.lanes.entry((device, lane)).or_default().push(Event { start, end, op, step });
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        self.used += 1;
        Ok(())
    }

    fn extent<'a>(&mut self, forms: Forms, cell: &impl Fn(Column) -> Cell<'a>) -> Result<(Nanos, Nanos), Wrong> {
        let mut read = |column, form, what| {
            let cell = cell(column);
            self.coarse = self.coarse.max(coarseness(&cell, form));
            time(&cell, form).ok_or_else(|| (what, cell.text().into_owned()))
        };
        let start = read(Column::Start, forms.start, "without a readable start")?;
        let end = match (forms.end, forms.duration) {
            (Some(form), _) => read(Column::End, form, "without a readable end")?,
            (None, Some(form)) => start + read(Column::Duration, form, "without a readable duration")?,
            (None, None) => start,
        };
        if end < start {
            return Err(("that end before they start", format!("{} to {} ns", start.0, end.0)));
        }
        Ok((start, end))
    }

    /// The index of the row's device in the trace.
    fn device<'a>(&mut self, cell: &impl Fn(Column) -> Cell<'a>) -> Result<u32, Wrong> {
        let (device, host) = (cell(Column::Device), cell(Column::Host));
        let key = [&device, &host].map(|cell| self.names.bytes(cell.text().as_bytes()));
        let known = self.devices.get(&key).copied().unwrap_or_else(|| {
            let parsed = match &device {
                Cell::Empty => Some(Device::new(DeviceClass::Cpu, 0)),
                device => device.text().parse().ok(),
            };
            let named = parsed.map(|device: Device| match host {
                Cell::Empty => device,
                _ if !device.is_on_unnamed_host() => device,
                host => device.on(&host.text()),
            });
            let index = named.map(|device| self.trace.device_index(&device) as u32);
            self.devices.insert(key, index);
            index
        });
        known.ok_or_else(|| ("whose device is not like cpu:0, gpu:1 or node7/gpu:0", device.text().into_owned()))
    }

    fn op<'a>(&mut self, cell: &impl Fn(Column) -> Cell<'a>, start: Nanos) -> Result<OpId, Wrong> {
        let op = cell(Column::Op);
        let path = op.text();
        let path = path.trim_matches('/');
        if path.is_empty() {
            return Err(("without an operation", op.text().into_owned()));
        }
        let pass_text = cell(Column::Pass);
        let pass: Pass = match &pass_text {
            Cell::Empty => Pass::Forward,
            pass => pass
                .text()
                .to_ascii_lowercase()
                .parse()
                .map_err(|_| ("whose pass is not forward, backward or optimizer", pass.text().into_owned()))?,
        };
        let (op_type, name) = (cell(Column::Type), cell(Column::Name));
        let [op_type, name] = [op_type.text(), name.text()];
        let key = [
            self.names.bytes(path.as_bytes()),
            self.names.bytes(op_type.as_bytes()),
            self.names.bytes(name.as_bytes()),
            pass as u32,
        ];
        let name = if name.is_empty() { path } else { &name };
        if let Some(wall) = wall_in_name(name) {
            self.markers.push(Marker { wall, at: start });
        }
        let ops = &mut self.trace.ops;
        Ok(*self.ops.entry(key).or_insert_with(|| {
            let last = path.rsplit('/').next().unwrap_or(path);
            ops.intern(Op::new(path, if op_type.is_empty() { last } else { &op_type }, name, pass))
        }))
    }

    /// The trace; an error when no row could be used.
    pub(super) fn finish(
        mut self,
        source: &Source,
        options: &ReadOptions,
        ending: Option<Warning>,
    ) -> Result<Trace, TraceError> {
        let mut warnings: Vec<Warning> = ending.into_iter().collect();
        let is_day = self.forms.is_some_and(|forms| forms.start == Form::Instant);
        let own = if is_day { Some(Nanos(0)) } else { self.first.and_then(absolute) };
        let time_base = find_time_base(source, options, own, &mut self.markers, &mut warnings);
        let base = time_base.base();
        for (what, bad) in &self.bad {
            let message = format!("{} rows {what} are left out; the first is here: `{}`", bad.count, bad.example);
            warnings.push(Warning::new(&self.file, message).at(format!("{} {}", self.row_is_called, bad.first)));
        }
        if self.used == 0 {
            return Err(TraceError::empty(&self.file, "the table holds no event that can be used", &warnings));
        }
        let mut warn = |message: String| warnings.push(Warning::new(&self.file, message));
        if self.header.get(Column::Device).is_none() {
            warn(
                "no column says on which device events ran: all are taken to be of cpu:0; add a column `device`"
                    .into(),
            );
        }
        if let Some(coarse) = self.coarse {
            let name = self.header.get(Column::Start).map_or("start", |place| &place.written);
            warn(format!(
                "times are floating-point numbers, which are known to {coarse} only; write whole nanoseconds, \
                 start_ns, instead of {name}"
            ));
        }
        let mut overlaps = 0;
        for ((device, lane), mut events) in self.lanes {
            for event in &mut events {
                (event.start, event.end) = (event.start + base, event.end + base);
            }
            let lane = Lane::new(device as usize, self.names.get(lane), events);
            overlaps += partial_overlaps(lane.events());
            self.trace.lanes.push(lane);
        }
        if overlaps > 0 {
            warn(format!(
                "{overlaps} events begin while another of their device and lane runs and end after it; while both run \
                 only the later counts. A lane does one thing at a time: say the thread or the stream in a column `lane`"
            ));
        }
        let devices = &self.trace.devices;
        let (counts, census) = self
            .counter
            .finish(base, |device| Some((devices.get(*device as usize)?.clone(), CATEGORY.to_owned())));
        let source =
            TraceSource { file: self.file, time_base, markers: self.markers, counts, ..TraceSource::default() };
        Ok(Trace { sources: vec![source], census, warnings, ..self.trace })
    }
}

/// How many events begin inside another and end after it.
fn partial_overlaps(events: &[Event]) -> usize {
    let mut open: Vec<Nanos> = Vec::new();
    let mut overlaps = 0;
    for event in events {
        while open.pop_if(|end| *end <= event.start).is_some() {}
        overlaps += usize::from(open.last().is_some_and(|end| *end < event.end));
        open.push(event.end);
    }
    overlaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_and_separate_events_do_not_overlap() {
        let event = |(start, end)| Event { start: Nanos(start), end: Nanos(end), op: OpId(0), step: Step::NONE };
        let overlaps =
            |extents: &[(i64, i64)]| partial_overlaps(&extents.iter().copied().map(event).collect::<Vec<_>>());
        assert_eq!(overlaps(&[(0, 10), (1, 4), (4, 10), (10, 12)]), 0);
        assert_eq!(overlaps(&[(0, 10), (5, 11), (20, 30), (25, 31), (26, 27)]), 2);
    }
}
