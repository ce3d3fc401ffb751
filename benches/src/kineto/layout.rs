//! The layout of PyTorch 2.15's Kineto JSON, down to key order and white space.

use std::fmt::{self, Display};
use std::io::{self, Write};

/// The process of the host's threads.
const PROCESS: u32 = 16793;
/// The thread that trains.
pub(super) const MAIN_THREAD: u32 = PROCESS;
/// The thread of the autograd engine, where it has one of its own.
pub(super) const ENGINE_THREAD: u32 = 17012;

const BASE_TIME: i64 = 1_790_857_026_000_000_000;

const HEAD: &str = r#" {
  "schemaVersion": 1,
  "deviceProperties": [],
  
    "trace_id": "5F0C2A7719D34E0B8B1A64C3E0D27F15",
    "record_shapes": 1,
    "with_flops": 1,
    "host_name": "trainer",
  "displayTimeUnit": "ms",
"#;

/// A trace being written. What the profiler of the GPU records comes after what the host records, so it is kept
/// until the end.
pub(super) struct Layout<W> {
    out: W,
    host_bytes: u64,
    gpu: Vec<u8>,
}

/// When an event ran, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) start: i64,
    pub(super) end: i64,
}

/// Where an event ran.
#[derive(Clone, Copy)]
pub(super) enum Track {
    /// A thread of the host, recorded by the host.
    Host(u32),
    /// A thread of the host, recorded by the profiler of the GPU.
    Runtime(u32),
    /// A stream of the GPU.
    Stream(u32),
}

/// Which end of a flow.
#[derive(Clone, Copy)]
pub(super) enum FlowEnd {
    From,
    To,
}

impl Track {
    fn process(self) -> u32 {
        match self {
            Track::Host(_) | Track::Runtime(_) => PROCESS,
            Track::Stream(_) => 0,
        }
    }

    fn thread(self) -> u32 {
        let (Track::Host(number) | Track::Runtime(number) | Track::Stream(number)) = self;
        number
    }
}

/// Nanoseconds as decimal microseconds.
struct Micros(i64);

impl Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl<W: Write> Layout<W> {
    /// Writes what comes before the events.
    pub(super) fn begin(mut out: W) -> io::Result<Layout<W>> {
        let head = format!("{HEAD}  \"baseTimeNanoseconds\": {BASE_TIME},\n  \"traceEvents\": [\n  \n");
        out.write_all(head.as_bytes())?;
        Ok(Layout { out, host_bytes: head.len() as u64, gpu: Vec::new() })
    }

    /// How long the text is so far.
    pub(super) fn bytes(&self) -> u64 {
        self.host_bytes + self.gpu.len() as u64
    }

    /// Writes a complete event.
    pub(super) fn complete(
        &mut self,
        category: &str,
        name: impl Display,
        track: Track,
        extent: Extent,
        arguments: impl Display,
    ) -> io::Result<()> {
        let (process, thread) = (track.process(), track.thread());
        let (start, duration) = (Micros(extent.start), Micros(extent.end - extent.start));
        let event = format!(
            "  {{\n    \"ph\": \"X\",\n    \"cat\": \"{category}\",\n    \"name\": \"{name}\",\n    \
             \"pid\": {process},\n    \"tid\": {thread},\n    \"ts\": {start},\n    \"dur\": {duration}\n    ,\n    \
             \"args\": {{\n      {arguments}\n    }}\n  }},\n"
        );
        self.write(track, &event)
    }

    /// Writes one end of a flow.
    pub(super) fn flow(&mut self, category: &str, id: u64, end: FlowEnd, track: Track, at: i64) -> io::Result<()> {
        let (process, thread, at) = (track.process(), track.thread(), Micros(at));
        let (phase, binding) = match end {
            FlowEnd::From => ("s", ""),
            FlowEnd::To => ("f", ", \"bp\": \"e\""),
        };
        let event = format!(
            "  {{\n    \"ph\": \"{phase}\",\n    \"id\": {id},\n    \"pid\": {process},\n    \"tid\": {thread},\n    \
             \"ts\": {at},\n    \"cat\": \"{category}\",\n    \"name\": \"{category}\"\n    {binding}\n  }},\n"
        );
        self.write(track, &event)
    }

    fn write(&mut self, track: Track, event: &str) -> io::Result<()> {
        match track {
            Track::Host(_) => {
                self.host_bytes += event.len() as u64;
                self.out.write_all(event.as_bytes())
            }
            Track::Runtime(_) | Track::Stream(_) => self.gpu.write_all(event.as_bytes()),
        }
    }

    /// Writes what the GPU's profiler recorded and what comes after the events.
    pub(super) fn finish(mut self, at: i64) -> io::Result<()> {
        self.out.write_all(&self.gpu)?;
        let at = Micros(at);
        write!(
            self.out,
            "  {{\n    \"ph\": \"i\",\n    \n    \"s\": \"g\",\n    \"name\": \"Record Window End\",\n    \
             \"pid\": \"\",\n    \"tid\": \"\",\n    \"ts\": {at}\n    \n  }}\n  ],\"traceName\": \"trace.json\" }}"
        )
    }
}
