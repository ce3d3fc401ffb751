//! The tables of an export, put into a recording.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use jouletree_model::{Marker, Nanos, Warning};

use super::database::{Database, Row};
use super::names::{RangeName, RangeSort};
use crate::kineto::EVALUATE;
use crate::kineto::record::{GpuEvent, GpuSort, HostEvent, HostSort, Recording, UNLINKED};
use crate::time_base::wall_in_name;

/// What identifies a process in the identifier of a thread.
const PROCESS: i64 = !0xFF_FFFF;

/// The types of NVTX events.
const MARK: i64 = 34;
const PUSH_POP_RANGE: i64 = 59;
const START_END_RANGE: i64 = 60;

/// The tables of what GPUs did, the category of each, and what it is.
const GPU_TABLES: [(&str, &str, GpuSort); 4] = [
    ("CUPTI_ACTIVITY_KIND_KERNEL", "kernel", GpuSort::Kernel),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy", GpuSort::Memcpy),
    ("CUPTI_ACTIVITY_KIND_MEMSET", "memset", GpuSort::Memset),
    (GRAPHS, "graph", GpuSort::Kernel),
];

/// One row for a whole CUDA graph, unless its nodes were asked for.
const GRAPHS: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";

/// The tables of calls into CUDA.
const CALL_TABLES: [&str; 2] = ["CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"];

/// The kinds of copies by their numbers in CUPTI.
const COPIES: [&str; 11] = ["", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"];

/// A stream of a process, in a context of CUDA's.
type Stream = (u32, i64, i64);

pub(super) struct Reader<'a> {
    database: &'a Database,
    recording: &'a mut Recording,
    /// The strings of the export, interned.
    strings: FxHashMap<i64, u32>,
    threads: FxHashMap<i64, u32>,
    processes: IndexSet<i64, FxBuildHasher>,
    streams: IndexSet<Stream, FxBuildHasher>,
    /// The GPU behind a device of CUDA's in a process.
    gpus: FxHashMap<(i64, i64), u32>,
    /// Whether what GPUs did says of which process it is.
    tells_processes: bool,
    /// The last end of anything.
    last: Nanos,
    /// Ranges without an end: category, start and whether it is an operator's.
    open_ranges: Vec<(u32, Nanos, bool)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(database: &'a Database, recording: &'a mut Recording) -> Reader<'a> {
        let tells_processes =
            GPU_TABLES.iter().all(|(table, ..)| !database.has(table) || database.has_column(table, "globalPid"));
        recording.kernels_below_operators = true;
        Reader {
            database,
            recording,
            strings: FxHashMap::default(),
            threads: FxHashMap::default(),
            processes: IndexSet::default(),
            streams: IndexSet::default(),
            gpus: FxHashMap::default(),
            tells_processes,
            last: Nanos::MIN,
            open_ranges: Vec::new(),
        }
    }

    /// Reads everything.
    pub(super) fn read(mut self) {
        self.read_target();
        for (table, category, sort) in GPU_TABLES {
            self.read_gpu(table, category, sort);
        }
        let ranges = self.recording.host.len();
        self.read_ranges();
        if self.recording.host.len() == ranges {
            self.warn(
                "there is no NVTX range: kernels cannot be told from each other by layer. Mark modules with \
                 torch.cuda.nvtx.range_push(\"module::NAME\") in forward hooks, operators with \
                 torch.autograd.profiler.emit_nvtx, and record with --trace=cuda,nvtx",
            );
        }
        for table in CALL_TABLES {
            self.read_calls(table);
        }
        self.close_open_ranges();
        self.number_evaluations();
        self.name_streams();
    }

    fn warn(&mut self, message: impl Into<String>) {
        let warning = Warning::new(&self.recording.file, message);
        self.recording.warnings.push(warning);
    }

    /// Strings, the clock, the machine and its GPUs.
    fn read_target(&mut self) {
        let Reader { recording, strings, gpus, .. } = self;
        let names = &mut recording.names;
        let damage = self.database.each("StringIds", &["id", "value"], |row| {
            if let (Some(id), Some(value)) = (row.integer(0), row.text(1)) {
                strings.insert(id, names.bytes(value.as_bytes()));
            }
        });
        recording.warnings.extend(damage);
        let damage = self.database.each("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs"], |row| {
            recording.base = recording.base.or(row.integer(0)).filter(|base| *base > 0);
        });
        recording.warnings.extend(damage);
        let damage = self.database.each("TARGET_INFO_SYSTEM_ENV", &["name", "value"], |row| {
            if row.text(0).is_some_and(|name| name.eq_ignore_ascii_case("hostname")) {
                recording.host_name = row.text(1).filter(|name| !name.is_empty());
            }
        });
        recording.warnings.extend(damage);
        let damage = self.database.each("TARGET_INFO_CUDA_DEVICE", &["pid", "cudaId", "gpuId"], |row| {
            if let (Some(pid), Some(cuda), Some(gpu)) = (row.integer(0), row.integer(1), index(&row, 2)) {
                gpus.insert((pid, cuda), gpu);
            }
        });
        recording.warnings.extend(damage);
    }

    fn read_gpu(&mut self, table: &str, category: &str, sort: GpuSort) {
        const COLUMNS: [&str; 12] = [
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "globalPid",
            "correlationId",
            "demangledName",
            "shortName",
            "mangledName",
            "copyKind",
            "graphId",
        ];
        let category = self.recording.names.bytes(category.as_bytes());
        let (mut bad, mut count) = (0_u64, 0_u64);
        let mut moved = BTreeSet::new();
        let database = self.database;
        let damage = database.each(table, &COLUMNS, |row| {
            count += 1;
            let Some((start, end)) = self.extent(&row) else {
                bad += 1;
                return;
            };
            let global = row.integer(5).unwrap_or(0) & PROCESS;
            let process = self.process(global);
            let cuda = row.integer(2).unwrap_or(0);
            let device = self.gpus.get(&(pid(global), cuda)).copied().or(index(&row, 2)).unwrap_or(0);
            if i64::from(device) != cuda {
                moved.insert((pid(global), cuda, device));
            }
            let name = match sort {
                GpuSort::Memcpy => self.named(&copy_name(row.integer(10))),
                GpuSort::Memset => self.named("Memset"),
                GpuSort::Kernel if table == GRAPHS => self.named("CUDA graph"),
                GpuSort::Kernel => {
                    let known = (7..10).find_map(|column| self.strings.get(&row.integer(column)?).copied());
                    known.unwrap_or_else(|| self.named("(kernel without a name)"))
                }
            };
            let stream = (process, row.integer(3).unwrap_or(0), row.integer(4).unwrap_or(0));
            let stream = self.streams.insert_full(stream).0 as u32;
            let correlation = row.integer(6).and_then(|number| self.link(process, number));
            self.recording.counter.note((Some(device), category), start, end, true);
            self.recording.gpu.push(GpuEvent { start, end, name, device, stream, correlation, sort });
        });
        self.recording.warnings.extend(damage);
        self.recording.events += count;
        self.warn_of_bad(table, bad);
        for (pid, cuda, gpu) in moved {
            self.warn(format!(
                "CUDA device {cuda} of process {pid} is GPU {gpu} of the machine and is accounted as gpu:{gpu}"
            ));
        }
        if table == GRAPHS && count > 0 {
            self.warn(format!(
                "{count} runs of CUDA graphs are known as a whole only; record with --cuda-graph-trace=node to see \
                 their kernels"
            ));
        }
    }

    fn read_ranges(&mut self) {
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

    fn read_calls(&mut self, table: &str) {
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
            let link = row.integer(3).and_then(|number| self.link(process, number)).unwrap_or(UNLINKED);
            self.recording.counter.note((None, category), start, end, false);
            let sort = HostSort::Runtime;
            let call = HostEvent { start, end, name, thread: 0, order: 0, sort, forward_thread: 0, link };
            self.push(global_thread, call);
        });
        self.recording.warnings.extend(damage);
        self.warn_of_bad(table, bad);
    }

    fn warn_of_bad(&mut self, table: &str, bad: u64) {
        if bad > 0 {
            self.warn(format!("{bad} rows of {table} without a start and an end after it are left out"));
        }
    }

    /// Adds an event of a thread, which gets its number and its place in the order here.
    fn push(&mut self, global_thread: i64, event: HostEvent) {
        let threads = &mut self.recording.threads;
        let thread = *self.threads.entry(global_thread).or_insert_with(|| {
            threads.push(format!("process {} thread {}", pid(global_thread), global_thread & !PROCESS));
            threads.len() as u32 - 1
        });
        let order = self.recording.host.len() as u32;
        self.recording.host.push(HostEvent { thread, order, ..event });
    }

    fn extent(&mut self, row: &Row<'_>) -> Option<(Nanos, Nanos)> {
        let (start, end) = (Nanos(row.integer(0)?), Nanos(row.integer(1)?));
        if end < start {
            return None;
        }
        self.last = self.last.max(end);
        Some((start, end))
    }

    fn named(&mut self, name: &str) -> u32 {
        self.recording.names.bytes(name.as_bytes())
    }

    fn process(&mut self, global: i64) -> u32 {
        self.processes.insert_full(global).0 as u32
    }

    /// A correlation, which is unique in its process only.
    fn link(&self, process: u32, number: i64) -> Option<i64> {
        link(if self.tells_processes { process } else { 0 }, number)
    }

    /// A range without an end lasts to the end of the recording.
    fn close_open_ranges(&mut self) {
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
    fn number_evaluations(&mut self) {
        let Recording { host, names, .. } = &mut *self.recording;
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

    /// Streams are called by their numbers, with context and process where that is not enough.
    fn name_streams(&mut self) {
        let gpu = &self.recording.gpu;
        let mut contexts: FxHashMap<u32, BTreeSet<(u32, i64)>> = FxHashMap::default();
        let streams: BTreeSet<(u32, u32)> = gpu.iter().map(|event| (event.device, event.stream)).collect();
        for (device, stream) in &streams {
            if let Some((process, context, _)) = self.streams.get_index(*stream as usize) {
                contexts.entry(*device).or_default().insert((*process, *context));
            }
        }
        let mut labels: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        for (device, number) in streams {
            let Some((process, context, stream)) = self.streams.get_index(number as usize).copied() else {
                continue;
            };
            let beside = contexts.get(&device);
            let several_contexts = beside.is_some_and(|beside| beside.len() > 1);
            let several_processes = beside.is_some_and(|beside| beside.iter().any(|(other, _)| *other != process));
            let mut label = stream.to_string();
            if several_contexts {
                label.push_str(&format!(" context {context}"));
            }
            if several_processes {
                let global = self.processes.get_index(process as usize).copied().unwrap_or(0);
                label.push_str(&format!(" process {}", pid(global)));
            }
            labels.insert((device, number), self.recording.names.bytes(label.as_bytes()));
        }
        for event in &mut self.recording.gpu {
            event.stream = labels.get(&(event.device, event.stream)).copied().unwrap_or(event.stream);
        }
    }
}

/// The number of a process in what identifies it or one of its threads.
fn pid(global: i64) -> i64 {
    (global >> 24) & 0xFF_FFFF
}

fn index(row: &Row<'_>, column: usize) -> Option<u32> {
    row.integer(column).and_then(|number| u32::try_from(number).ok())
}

/// A number that is unique in a process, made unique among processes.
fn link(process: u32, number: i64) -> Option<i64> {
    let fits = (0..1 << 40).contains(&number) && process < 1 << 22;
    fits.then(|| (i64::from(process) << 40) | number)
}

fn copy_name(kind: Option<i64>) -> String {
    let known = kind.and_then(|kind| COPIES.get(usize::try_from(kind).ok()?).filter(|name| !name.is_empty()));
    match (known, kind) {
        (Some(name), _) => format!("Memcpy {name}"),
        (None, Some(kind)) => format!("Memcpy kind {kind}"),
        (None, None) => "Memcpy".to_owned(),
    }
}
