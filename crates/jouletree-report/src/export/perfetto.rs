//! Trace events as Chrome defined them and Perfetto reads them: a process for the program with its stages and steps, and one
//! for each device with a counter of watts, the layers that ran, and a thread for each lane with a complete event for each run
//! of an operation and what it was charged.
//!
//! Events are written as they end, and nothing is kept of them.

use std::io::{self, Write};

use jouletree_account::{Charge, ChargeVisitor, Labels, Metered, charge_events};
use jouletree_model::{EnergySeries, Event, Nanos, Op, TimeRange};
use serde::Serialize;

use super::layers::{Edge, layer_edges};
use super::rows::{Note, note_rows};
use super::stacks::frames;
use super::timeline::{Books, Track, tracks, whole};
use super::{Content, ExportError};

pub(super) fn write(content: &Content<'_>, output: &mut dyn Write) -> Result<(), ExportError> {
    let Content { trace, power, .. } = *content;
    let whole = whole(content)?;
    let origin = whole.start;
    let tracks = tracks(trace, power);
    let mut writer = EventWriter {
        output,
        text: Vec::new(),
        separator: b"",
        origin,
        lanes: vec![Vec::new(); trace.lanes.len()],
        ops: Vec::new(),
    };
    writer.header(content)?;
    for (pid, track) in (1..).zip(&tracks) {
        writer.describe(pid, track)?;
    }
    writer.notes(tracks.len() + 1, content, whole)?;
    for (pid, track) in (1..).zip(&tracks) {
        if let Some(metered) = track.power {
            writer.power(pid, &metered.series)?;
        }
        layer_edges(trace, &track.lanes, |edge| writer.layer((pid, layers_of(track)), edge))?;
    }
    let labels = Labels::of(&trace.ops);
    writer.ops = trace.ops.iter().map(|(id, op)| op_text(op, labels.mark(id))).collect::<Result<_, _>>()?;
    let mut events = EventPass { writer, books: Books::new(trace) };
    charge_events(trace, &Metered::devices(power), &mut events)?;
    if content.is_exact {
        events.books.check(content.footprint)?;
    }
    events.writer.end()?;
    Ok(())
}

/// Writes events one after the other.
struct EventWriter<'a> {
    output: &'a mut dyn Write,
    /// What is on its way to the output.
    text: Vec<u8>,
    /// What is written before the next event: nothing before the first.
    separator: &'static [u8],
    origin: Nanos,
    /// How an event of each lane begins.
    lanes: Vec<Vec<u8>>,
    /// What an event of each operation says whenever it ran; its arguments are left open.
    ops: Vec<Vec<u8>>,
}

/// How much text is gathered before it goes to the output.
const PORTION: usize = 1 << 16;

#[derive(Serialize)]
struct Header<'a> {
    run: &'a str,
    writer: String,
    /// What a time of zero is, in nanoseconds since the epoch; text, as a JavaScript number has no room for it.
    origin_epoch_ns: String,
    energy: Vec<String>,
}

#[derive(Serialize)]
struct Naming<'a> {
    ph: &'static str,
    name: &'static str,
    pid: usize,
    tid: usize,
    args: Argument<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Argument<'a> {
    Name(&'a str),
    SortIndex(usize),
}

impl EventWriter<'_> {
    fn header(&mut self, content: &Content<'_>) -> Result<(), ExportError> {
        let energy = content.power.iter().filter(|metered| metered.is_whole());
        let header = Header {
            run: content.name,
            writer: format!("jouletree {}", env!("CARGO_PKG_VERSION")),
            origin_epoch_ns: self.origin.0.to_string(),
            energy: energy.map(|metered| format!("{}: {}", metered.device, metered.kind)).collect(),
        };
        self.text.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"otherData\":");
        serde_json::to_writer(&mut self.text, &header)?;
        self.text.extend_from_slice(b",\"traceEvents\":[\n");
        Ok(())
    }

    /// Names a device and its rows.
    fn describe(&mut self, pid: usize, track: &Track<'_>) -> Result<(), ExportError> {
        // The program is shown above its devices.
        self.process(pid, &track.device.to_string(), pid)?;
        if !track.lanes.is_empty() {
            self.thread((pid, layers_of(track)), "layers", 0)?;
        }
        for (tid, row) in (1..).zip(&track.rows) {
            self.thread((pid, tid), &row.name, tid)?;
            for lane in &row.lanes {
                if let Some(beginning) = self.lanes.get_mut(*lane) {
                    *beginning = format!("{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"ts\":").into_bytes();
                }
            }
        }
        Ok(())
    }

    fn process(&mut self, pid: usize, name: &str, order: usize) -> Result<(), ExportError> {
        self.next();
        self.naming("process_name", pid, 0, Argument::Name(name))?;
        self.next();
        self.naming("process_sort_index", pid, 0, Argument::SortIndex(order))
    }

    fn thread(&mut self, (pid, tid): (usize, usize), name: &str, order: usize) -> Result<(), ExportError> {
        self.next();
        self.naming("thread_name", pid, tid, Argument::Name(name))?;
        self.next();
        self.naming("thread_sort_index", pid, tid, Argument::SortIndex(order))
    }

    /// What the program noted: its stages, steps, windows.
    fn notes(&mut self, pid: usize, content: &Content<'_>, whole: TimeRange) -> Result<(), ExportError> {
        let rows = note_rows(content.trace, whole);
        if rows.is_empty() {
            return Ok(());
        }
        let name = if content.program.is_empty() { "program" } else { content.program };
        self.process(pid, name, 0)?;
        for (tid, row) in (1..).zip(&rows) {
            self.thread((pid, tid), &row.name, tid)?;
            for note in &row.notes {
                self.note((pid, tid), note)?;
            }
        }
        Ok(())
    }

    fn note(&mut self, (pid, tid): (usize, usize), note: &Note) -> Result<(), ExportError> {
        #[derive(Serialize)]
        struct Arguments<'a> {
            #[serde(skip_serializing_if = "str::is_empty")]
            function: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            samples: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            recorded: Option<bool>,
        }
        self.next();
        write!(self.text, "{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"ts\":")?;
        self.micros(note.range.start - self.origin)?;
        self.text.extend_from_slice(b",\"dur\":");
        self.micros(note.range.duration())?;
        write!(self.text, ",\"cat\":\"{}\",\"name\":", note.kind)?;
        serde_json::to_writer(&mut self.text, &note.name)?;
        self.text.extend_from_slice(b",\"args\":");
        let arguments = Arguments { function: &note.function, samples: note.samples, recorded: note.is_recorded };
        serde_json::to_writer(&mut self.text, &arguments)?;
        self.text.push(b'}');
        Ok(self.drain()?)
    }

    /// The beginning or the end of a layer.
    fn layer(&mut self, (pid, tid): (usize, usize), edge: Edge<'_>) -> Result<(), ExportError> {
        self.next();
        let (phase, at) = match edge {
            Edge::Begin { at, .. } => ('B', at),
            Edge::End { at } => ('E', at),
        };
        write!(self.text, "{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},\"ts\":")?;
        self.micros(at - self.origin)?;
        if let Edge::Begin { name, pass, .. } = edge {
            write!(self.text, ",\"cat\":\"{pass}\",\"name\":")?;
            serde_json::to_writer(&mut self.text, name)?;
        }
        self.text.push(b'}');
        Ok(self.drain()?)
    }

    fn naming(
        &mut self,
        name: &'static str,
        pid: usize,
        tid: usize,
        args: Argument<'_>,
    ) -> Result<(), ExportError> {
        Ok(serde_json::to_writer(&mut self.text, &Naming { ph: "M", name, pid, tid, args })?)
    }

    /// The power of a device as a counter, which falls to zero where nothing is known: it has no other word for that.
    fn power(&mut self, pid: usize, series: &EnergySeries) -> Result<(), ExportError> {
        let mut known_until = None;
        for span in series.spans() {
            if let Some(end) = known_until.filter(|end| *end != span.range.start) {
                self.counter(pid, end, 0.0)?;
            }
            self.counter(pid, span.range.start, span.power.0)?;
            known_until = Some(span.range.end);
        }
        known_until.map_or(Ok(()), |end| self.counter(pid, end, 0.0))
    }

    fn counter(&mut self, pid: usize, time: Nanos, watts: f64) -> Result<(), ExportError> {
        self.next();
        write!(self.text, "{{\"ph\":\"C\",\"pid\":{pid},\"name\":\"power\",\"ts\":")?;
        self.micros(time - self.origin)?;
        self.text.extend_from_slice(b",\"args\":{\"watts\":");
        serde_json::to_writer(&mut self.text, &watts)?;
        self.text.extend_from_slice(b"}}");
        self.drain()?;
        Ok(())
    }

    #[inline]
    fn event(&mut self, lane: usize, event: &Event, charge: Charge) -> Result<(), ExportError> {
        self.next();
        self.text.extend_from_slice(self.lanes.get(lane).map_or(b"", Vec::as_slice));
        self.micros(event.start - self.origin)?;
        self.text.extend_from_slice(b",\"dur\":");
        self.micros(event.duration())?;
        self.text.extend_from_slice(self.ops.get(event.op.index()).map_or(b"", Vec::as_slice));
        if let Some(step) = event.step.number() {
            self.text.extend_from_slice(b",\"step\":");
            serde_json::to_writer(&mut self.text, &step)?;
        }
        // The power of this event is unknown.
        if charge.is_known {
            self.text.extend_from_slice(b",\"joules\":");
            serde_json::to_writer(&mut self.text, &charge.energy)?;
            if charge.busy > Nanos(0) {
                self.text.extend_from_slice(b",\"watts\":");
                serde_json::to_writer(&mut self.text, &(charge.energy / charge.busy))?;
            }
        }
        self.text.extend_from_slice(b"}}");
        self.drain()?;
        Ok(())
    }

    /// Parts an event from the one before.
    fn next(&mut self) {
        self.text.extend_from_slice(self.separator);
        self.separator = b",\n";
    }

    /// Times are microseconds; three decimals keep the nanoseconds.
    fn micros(&mut self, time: Nanos) -> Result<(), ExportError> {
        let nanos = time.0.max(0);
        serde_json::to_writer(&mut self.text, &(nanos / 1000))?;
        let digit = |value: i64| b'0' + (value % 10) as u8;
        let rest = nanos % 1000;
        self.text.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
        Ok(())
    }

    fn drain(&mut self) -> io::Result<()> {
        if self.text.len() >= PORTION {
            self.output.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.text.extend_from_slice(b"\n]}\n");
        self.output.write_all(&self.text)
    }
}

/// The thread of a device that shows its layers.
fn layers_of(track: &Track<'_>) -> usize {
    track.rows.len() + 1
}

/// What every event of an operation says: `,"name":…,"cat":…,"args":{"path":…` and so on.
fn op_text(op: &Op, mark: Option<&str>) -> Result<Vec<u8>, ExportError> {
    let mut text = Vec::new();
    let frames = frames(op, mark);
    let name = frames.last().map_or("", String::as_str);
    let fields = [
        (",\"name\":", name),
        (",\"cat\":", op.pass.as_str()),
        (",\"args\":{\"path\":", &*op.path),
        (",\"type\":", &*op.op_type),
        (",\"op\":", &*op.name),
        (",\"pass\":", op.pass.as_str()),
    ];
    for (key, value) in fields {
        text.extend_from_slice(key.as_bytes());
        serde_json::to_writer(&mut text, value)?;
    }
    Ok(text)
}

/// Writes every event with its charge and sums charges up.
struct EventPass<'a> {
    writer: EventWriter<'a>,
    books: Books,
}

impl ChargeVisitor for EventPass<'_> {
    type Error = ExportError;

    fn stretch(&mut self, _: usize, _: &Event, _: TimeRange, _: Charge) -> Result<(), ExportError> {
        Ok(())
    }

    #[inline]
    fn event(&mut self, lane: usize, event: &Event, charge: Charge) -> Result<(), ExportError> {
        self.books.charge(event.op, charge.energy);
        self.writer.event(lane, event, charge)
    }
}
