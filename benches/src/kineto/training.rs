//! A training that plays its script step by step: when each call began and ended, and what it launched.

use std::fmt::{self, Display};
use std::io::{self, Write};

use super::kernels::Kernel;
use super::layout::{ENGINE_THREAD, Extent, FlowEnd, Layout, MAIN_THREAD, Track};
use super::script::{Call, Node};
use crate::random::Random;

/// The first instant, in nanoseconds since the trace's base time.
const START: i64 = 3_914_857_310_336_756;

/// A training on its way.
pub(super) struct Training {
    gpu: bool,
    random: Random,
    now: i64,
    step: u64,
    /// How many events, autograd nodes and launches there have been.
    events: u64,
    nodes: u64,
    launches: u64,
    /// When each stream has done its work.
    streams: [i64; 32],
}

/// A call that has been played.
struct Played<'a> {
    call: &'a Call,
    extent: Extent,
}

impl Training {
    /// A training about to begin.
    pub(super) fn new(gpu: bool) -> Training {
        let random = Random::new(2015);
        Training { gpu, random, now: START, step: 0, events: 0, nodes: 0, launches: 0, streams: [START; 32] }
    }

    /// The instant it has reached.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    /// Plays the calls of one step and writes them down.
    pub(super) fn step(&mut self, calls: &[Call], layout: &mut Layout<impl Write>) -> io::Result<()> {
        let begun = self.now;
        self.wait(2_000..9_000);
        let (first_event, first_launch) = (self.events, self.launches);
        let played = self.play(calls);
        self.wait(2_000..9_000);
        let extent = Extent { start: begun, end: self.now };
        self.step += 1;
        let name = format_args!("ProfilerStep#{}", self.step);
        let arguments = Arguments { event: first_event, call: None, first_node: 0 };
        layout.complete("user_annotation", name, Track::Host(MAIN_THREAD), extent, arguments)?;
        self.events = first_event + 1;
        self.launches = first_launch;
        for played in &played {
            self.write(played, layout)?;
        }
        self.nodes += calls.iter().filter(|call| matches!(call.node, Some(Node::Made(_)))).count() as u64;
        self.wait(20_000..200_000);
        Ok(())
    }

    /// When each call began and ended.
    fn play<'a>(&mut self, calls: &'a [Call]) -> Vec<Played<'a>> {
        let mut played: Vec<Played<'a>> = Vec::with_capacity(calls.len());
        let mut open: Vec<usize> = Vec::new();
        for call in calls {
            self.close(&mut open, &mut played, call.depth);
            open.push(played.len());
            played.push(Played { call, extent: Extent { start: self.now, end: self.now } });
            self.wait(300..4_000);
        }
        self.close(&mut open, &mut played, 0);
        played
    }

    /// Ends the calls that are open at `depth` or deeper, the innermost first.
    fn close(&mut self, open: &mut Vec<usize>, played: &mut [Played<'_>], depth: usize) {
        while let Some(last) = open.pop_if(|last| played[*last].call.depth >= depth) {
            self.wait(100..6_000);
            played[last].extent.end = self.now;
        }
    }

    fn wait(&mut self, nanos: std::ops::Range<i64>) {
        self.now += self.random.nanos(nanos);
    }

    fn write(&mut self, played: &Played<'_>, layout: &mut Layout<impl Write>) -> io::Result<()> {
        let Played { call, extent } = *played;
        let track = Track::Host(if self.gpu && call.backward { ENGINE_THREAD } else { MAIN_THREAD });
        let category = if call.annotation { "user_annotation" } else { "cpu_op" };
        let event = self.events;
        let arguments = Arguments { event, call: Some(call), first_node: self.nodes };
        layout.complete(category, &call.name, track, extent, arguments)?;
        self.events += 1;
        match call.node {
            Some(Node::Made(node)) => {
                layout.flow("fwdbwd", self.nodes + node + 1, FlowEnd::From, track, extent.start)?;
            }
            Some(Node::Run(node)) => {
                layout.flow("fwdbwd", self.nodes + node + 1, FlowEnd::To, track, extent.start)?;
            }
            Some(Node::Evaluated(_)) | None => {}
        }
        match call.kernel {
            Some(kernel) => self.launch(kernel, track, extent, event, layout),
            None => Ok(()),
        }
    }

    /// A launch at the end of a call and the kernel that follows from it as soon as its stream is free.
    fn launch(
        &mut self,
        kernel: &Kernel,
        track: Track,
        call: Extent,
        event: u64,
        layout: &mut Layout<impl Write>,
    ) -> io::Result<()> {
        self.launches += 1;
        let correlation = 50_000 + self.launches;
        let Track::Host(thread) = track else { return Ok(()) };
        let host = Track::Runtime(thread);
        let start = call.end - (call.end - call.start) / 4;
        let extent = Extent { start, end: call.end };
        let external = event + 1;
        let arguments = format_args!("\"External id\": {external},\"cbid\": 211, \"correlation\": {correlation}");
        layout.complete("cuda_runtime", "cudaLaunchKernel", host, extent, arguments)?;
        layout.flow("ac2g", correlation, FlowEnd::From, host, start)?;

        let stream = Track::Stream(kernel.stream);
        let free = &mut self.streams[kernel.stream as usize % 32];
        let start = call.end.max(*free) + self.random.nanos(800..2_000);
        let extent = Extent { start, end: start + self.random.nanos(1_500..kernel.longest) };
        *free = extent.end;
        let grid = 1 + self.random.below(4096);
        let arguments = format_args!(
            "\"External id\": {external},\"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": {}, \
             \"correlation\": {correlation}, \"registers per thread\": 40, \"shared memory\": 400, \
             \"blocks per SM\": {:.6}, \"warps per SM\": {:.6}, \"grid\": [{grid}, 1, 1], \
             \"block\": [512, 1, 1], \"est. achieved occupancy %\": 75",
            kernel.stream,
            grid as f64 / 108.0,
            grid as f64 / 27.0,
        );
        layout.complete("kernel", kernel.name, stream, extent, arguments)?;
        layout.flow("ac2g", correlation, FlowEnd::To, stream, start)
    }
}

/// The arguments of a host event, in the order in which the profiler writes them.
struct Arguments<'a> {
    event: u64,
    call: Option<&'a Call>,
    /// How many nodes earlier steps made.
    first_node: u64,
}

impl Display for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (node, forward_thread) = match self.call.and_then(|call| call.node) {
            Some(Node::Made(node)) => (Some(node), 0),
            Some(Node::Run(node) | Node::Evaluated(node)) => (Some(node), 1),
            None => (None, 0),
        };
        let sequence = node.map(|node| self.first_node + node);
        let inputs = self.call.and_then(|call| call.inputs.as_deref());
        write!(f, "\"External id\": {},", self.event + 1)?;
        if let (Some(sequence), Some(_)) = (sequence, inputs) {
            write!(f, "\"Sequence number\": {sequence}, \"Fwd thread id\": {forward_thread}, ")?;
        }
        write!(f, "\"Record function id\": 0, ")?;
        if let (Some(sequence), None) = (sequence, inputs) {
            write!(f, "\"Sequence number\": {sequence}, \"Fwd thread id\": {forward_thread}, ")?;
        }
        write!(f, "{}\"Ev Idx\": {}", inputs.unwrap_or_default(), self.event)
    }
}
