//! What a Kineto file says, event by event, before anything is concluded from it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use jouletree_model::{Device, DeviceClass, Marker, Nanos, Trace, TraceSource, Warning};

use crate::census::Counter;
use crate::chrome::{ChromeEvent, ChromeVisitor};
use crate::interner::Interner;
use crate::json::{integer, nanos_from_micros};
use crate::options::ReadOptions;
use crate::rejects::Rejects;
use crate::source::Source;
use crate::time_base::{absolute, find_time_base, wall_in_name};

/// Everything of interest in one file.
pub(crate) struct KinetoContents {
    pub(crate) file: String,
    pub(crate) names: Interner,
    /// The host's threads: process and thread as the file writes them.
    pub(crate) threads: Vec<String>,
    pub(crate) host: Vec<HostEvent>,
    pub(crate) gpu: Vec<GpuEvent>,
    /// Where flows from a forward operation to its backward one begin and end.
    pub(crate) flows: Flows,
    pub(crate) events: u64,
    pub(crate) rank: Option<i64>,
    pub(crate) warnings: Vec<Warning>,
    /// Whether a kernel is below the operator that launched it and not in its place.
    pub(crate) kernels_below_operators: bool,
    pub(crate) base: Option<i64>,
    pub(crate) host_name: Option<String>,
    pub(crate) markers: Vec<Marker>,
    /// Events by GPU, `None` being the host, and category.
    pub(crate) counter: Counter<(Option<u32>, u32)>,
    last_category: (Vec<u8>, Option<(Category, u32)>),
    thread_numbers: FxHashMap<Box<[u8]>, u32>,
    /// The last thread looked up: events of one thread come in runs.
    last_thread: (Vec<u8>, u32),
    rejects: Rejects,
    unknown: BTreeMap<u32, u64>,
}

/// An event of a host thread. There are many of them, so it is kept small.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostEvent {
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    pub(crate) name: u32,
    pub(crate) thread: u32,
    /// The profiler's own order, which separates the outer from the inner among events of one extent.
    pub(crate) order: u32,
    pub(crate) sort: HostSort,
    /// In which thread the forward operation ran, by the profiler's own count; 0 for forward operations.
    pub(crate) forward_thread: u16,
    /// What [`HostEvent::sequence`] or [`HostEvent::correlation`] gives, or [`UNLINKED`].
    pub(crate) link: i64,
}

/// No link.
pub(crate) const UNLINKED: i64 = i64::MIN;

impl HostEvent {
    /// The number that a forward operation shares with its backward one.
    pub(crate) fn sequence(&self) -> Option<i64> {
        (self.sort == HostSort::Operator && self.link != UNLINKED).then_some(self.link)
    }

    /// What a launch shares with the kernel it launches.
    pub(crate) fn correlation(&self) -> Option<i64> {
        (self.sort == HostSort::Runtime && self.link != UNLINKED).then_some(self.link)
    }
}

/// What sort of host event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostSort {
    Operator,
    Annotation,
    /// An `nn.Module` call seen by the Python tracer.
    Module,
    /// A call into the GPU's runtime or driver.
    Runtime,
}

/// An event of a GPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GpuEvent {
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    pub(crate) name: u32,
    pub(crate) device: u32,
    /// The stream, as an interned string.
    pub(crate) stream: u32,
    pub(crate) correlation: Option<i64>,
    pub(crate) sort: GpuSort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GpuSort {
    Kernel,
    Memcpy,
    Memset,
}

/// Begins and ends of the flows from forward to backward operations.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// The number of a flow and the thread of the forward operation.
    pub(crate) from: Vec<(i64, u32)>,
    /// Thread and start of the backward operation, and the number of the flow.
    pub(crate) to: Vec<((u32, Nanos), i64)>,
}

#[derive(Debug, Clone, Copy)]
enum Category {
    Host(HostSort),
    PythonFunction,
    Gpu(GpuSort),
    /// Known, and not an operation: it is counted and left out.
    Dropped,
    Unknown,
}

fn category(name: &str) -> Category {
    match name {
        "cpu_op" | "Operator" | "operator" => Category::Host(HostSort::Operator),
        "user_annotation" => Category::Host(HostSort::Annotation),
        "python_function" => Category::PythonFunction,
        "cuda_runtime" | "cuda_driver" | "Runtime" | "runtime" | "driver" => Category::Host(HostSort::Runtime),
        // Other makers' accelerators: Meta's MTIA, Intel's XPU and Gaudi, Glow, and backends outside of PyTorch.
        "mtia_runtime"
        | "xpu_runtime"
        | "xpu_driver"
        | "hpu_op"
        | "glow_runtime"
        | "privateuse1_runtime"
        | "privateuse1_driver" => Category::Host(HostSort::Runtime),
        "kernel" | "Kernel" | "mtia_ccp_events" => Category::Gpu(GpuSort::Kernel),
        "gpu_memcpy" | "Memcpy" | "memcpy" => Category::Gpu(GpuSort::Memcpy),
        "gpu_memset" | "Memset" | "memset" => Category::Gpu(GpuSort::Memset),
        // Ranges over kernels on the device's own track, the profiler's span, its overhead, its waiting, its counters.
        "gpu_user_annotation"
        | "Trace"
        | "overhead"
        | "cuda_sync"
        | "cuda_event"
        | "cuda_profiler_range"
        | "mtia_insight"
        | "mtia_workloadd"
        | "mtia_counters"
        | "xpu_scope_profiler"
        | "collective_comm" => Category::Dropped,
        _ => Category::Unknown,
    }
}

const MODULE_CALL: &[u8] = b"nn.Module: ";
/// Work of Meta's accelerators, and the name of what only waits there.
const MTIA: &[u8] = b"mtia_ccp_events";
const MTIA_WAIT: &[u8] = b"event_wait";
/// Kernels that CUPTI's range profiler runs one by one, some of them again and again, to count events in them.
const PROFILER_RANGES: &str = "cuda_profiler_range";

impl KinetoContents {
    pub(crate) fn new(file: &str, takes_census: bool) -> KinetoContents {
        KinetoContents {
            file: file.to_owned(),
            names: Interner::default(),
            threads: Vec::new(),
            host: Vec::new(),
            gpu: Vec::new(),
            flows: Flows::default(),
            events: 0,
            rank: None,
            warnings: Vec::new(),
            kernels_below_operators: false,
            base: None,
            host_name: None,
            markers: Vec::new(),
            counter: Counter::new(takes_census),
            last_category: (Vec::new(), None),
            thread_numbers: FxHashMap::default(),
            last_thread: (Vec::new(), u32::MAX),
            rejects: Rejects::default(),
            unknown: BTreeMap::new(),
        }
    }

    fn thread(&mut self, pid: &[u8], tid: &[u8]) -> u32 {
        let (last, number) = &self.last_thread;
        if *number != u32::MAX
            && last.len() == pid.len() + 1 + tid.len()
            && last.starts_with(pid)
            && last[pid.len()] == b' '
            && last.ends_with(tid)
        {
            return *number;
        }
        let key = [pid, b" ", tid].concat();
        let number = match self.thread_numbers.get(key.as_slice()) {
            Some(number) => *number,
            None => {
                let number = self.threads.len() as u32;
                self.threads.push(format!(
                    "process {} thread {}",
                    String::from_utf8_lossy(pid),
                    String::from_utf8_lossy(tid)
                ));
                self.thread_numbers.insert(key.as_slice().into(), number);
                number
            }
        };
        self.last_thread = (key, number);
        number
    }

    /// The category of an event and its name's number. Events of one category come in runs.
    fn category(&mut self, event: &ChromeEvent<'_>) -> (Category, u32) {
        let (last, known) = &self.last_category;
        if last.as_slice() == event.category.bytes
            && let Some(known) = known
        {
            return *known;
        }
        let name = self.names.raw(event.category);
        let category = match self.names.get(name).as_ref() {
            // Written without Kineto: every event is an operator.
            "" => Category::Host(HostSort::Operator),
            name => category(name),
        };
        self.last_category = (event.category.bytes.to_vec(), Some((category, name)));
        (category, name)
    }

    fn complete(&mut self, event: &ChromeEvent<'_>, offset: u64) {
        let (category, category_name) = self.category(event);
        let gpu = match category {
            Category::Gpu(_) => {
                let index = event.args.device.or_else(|| integer(event.pid));
                Some(index.and_then(|index| u32::try_from(index).ok()).unwrap_or(0))
            }
            _ => None,
        };
        let is_used = !matches!(category, Category::Dropped | Category::Unknown);
        if let Category::Unknown = category {
            *self.unknown.entry(category_name).or_default() += 1;
        }
        if !is_used && !self.counter.takes_census() {
            return self.counter.count((gpu, category_name));
        }
        let Some((start, end)) = self.rejects.extent(event, offset) else {
            return self.counter.count((gpu, category_name));
        };
        // A queue that waits for another does no work.
        let is_waiting = gpu.is_some() && event.category.bytes == MTIA && event.name.bytes == MTIA_WAIT;
        let is_operation =
            !is_waiting && matches!(category, Category::Host(HostSort::Operator) | Category::Gpu(_));
        self.counter.note((gpu, category_name), start, end, is_operation);
        match category {
            Category::Host(sort) => self.host_event(event, start, end, sort),
            Category::PythonFunction if event.name.bytes.starts_with(MODULE_CALL) => {
                self.host_event(event, start, end, HostSort::Module);
            }
            Category::Gpu(_) if is_waiting => {}
            Category::Gpu(sort) => {
                let name = self.names.raw(event.name);
                let stream = self.names.bytes(event.tid);
                let correlation = event.args.correlation;
                self.gpu.push(GpuEvent { start, end, name, device: gpu.unwrap_or(0), stream, correlation, sort });
            }
            _ => {}
        }
    }

    fn host_event(&mut self, event: &ChromeEvent<'_>, start: Nanos, end: Nanos, sort: HostSort) {
        let order = event.args.event_index.and_then(|index| u32::try_from(index).ok());
        let order = order.unwrap_or(self.host.len() as u32);
        if sort == HostSort::Annotation
            && let Some(wall) = wall_in_name(&event.name.text())
        {
            self.markers.push(Marker { wall, at: start });
        }
        let link = if sort == HostSort::Runtime { event.args.correlation } else { event.args.sequence };
        let host = HostEvent {
            start,
            end,
            name: self.names.raw(event.name),
            thread: self.thread(event.pid, event.tid),
            order,
            sort,
            forward_thread: event
                .args
                .forward_thread
                .map_or(0, |number| u16::try_from(number).unwrap_or(u16::MAX)),
            link: link.unwrap_or(UNLINKED),
        };
        self.host.push(host);
    }

    /// Draws the conclusions and gives the trace.
    pub(crate) fn into_trace(mut self, source: &Source, options: &ReadOptions) -> Trace {
        let first =
            self.host.iter().map(|event| event.start).chain(self.gpu.iter().map(|event| event.start)).min();
        let own = self.base.map(Nanos).or_else(|| first.and_then(absolute));
        let time_base = find_time_base(source, options, own, &mut self.markers, &mut self.warnings);
        self.move_to(time_base.base());
        self.warnings.extend(self.rejects.warnings(&self.file));
        for (category, count) in std::mem::take(&mut self.unknown) {
            let category = self.names.get(category);
            let message = format!("{count} events of the unknown category `{category}` are left out");
            self.warnings.push(Warning::new(&self.file, message));
        }
        let counter = std::mem::replace(&mut self.counter, Counter::new(false));
        let (counts, census) = counter.finish(time_base.base(), |(gpu, category)| {
            let device =
                gpu.map_or(Device::new(DeviceClass::Cpu, 0), |index| Device::new(DeviceClass::Gpu, index));
            Some((device, self.names.get(*category).into_owned()))
        });
        let ranges = counts.iter().filter(|count| count.category == PROFILER_RANGES).map(|count| count.events);
        let ranges: u64 = ranges.sum();
        if ranges > 0 {
            let message = format!(
                "{ranges} kernels of CUPTI's range profiler (`{PROFILER_RANGES}`) are left out: it runs kernels one by one, so \
                 that their times are not those of the program; record without its metrics"
            );
            self.warnings.push(Warning::new(&self.file, message));
        }
        let source = TraceSource {
            file: self.file.clone(),
            host: self.host_name.take(),
            time_base,
            markers: std::mem::take(&mut self.markers),
            counts,
            ..TraceSource::default()
        };
        let mut trace = Trace { sources: vec![source], census, ..Trace::default() };
        super::walk::lanes_of(self, &mut trace);
        trace
    }

    /// Times in the file count from its base, which may follow the events.
    fn move_to(&mut self, base: Nanos) {
        if base == Nanos(0) {
            return;
        }
        for event in &mut self.host {
            (event.start, event.end) = (event.start + base, event.end + base);
        }
        for event in &mut self.gpu {
            (event.start, event.end) = (event.start + base, event.end + base);
        }
        for ((_, start), _) in &mut self.flows.to {
            *start += base;
        }
    }
}

impl ChromeVisitor for KinetoContents {
    fn header(&mut self, key: &str, value: &[u8]) {
        match key {
            "baseTimeNanoseconds" => self.base = integer(value).filter(|base| *base != 0),
            "host_name" => {
                self.host_name = serde_json::from_slice(value).ok().filter(|name: &String| !name.is_empty())
            }
            "distributedInfo" => {
                let info: Option<serde_json::Value> = serde_json::from_slice(value).ok();
                self.rank = info.and_then(|info| info.get("rank")?.as_i64());
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &ChromeEvent<'_>, offset: u64) -> bool {
        self.events += 1;
        match event.phase {
            b'X' => self.complete(event, offset),
            b's' | b'f' if event.category.bytes == b"fwdbwd" => {
                if let (Some(id), Some(start)) = (event.id, nanos_from_micros(event.ts)) {
                    let thread = self.thread(event.pid, event.tid);
                    if event.phase == b's' {
                        self.flows.from.push((id, thread));
                    } else {
                        self.flows.to.push(((thread, Nanos(start)), id));
                    }
                }
            }
            _ => {}
        }
        true
    }
}
