//! The tables of an export, put into a recording.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use jouletree_model::{Nanos, Warning};

use super::database::{Database, Row};
use crate::kineto::contents::{GpuSort, HostEvent, KinetoContents};

/// What identifies a process in the identifier of a thread.
pub(super) const PROCESS: i64 = !0xFF_FFFF;

/// The tables of what GPUs did, the category of each, and what it is.
const GPU_TABLES: [(&str, &str, GpuSort); 4] = [
    ("CUPTI_ACTIVITY_KIND_KERNEL", "kernel", GpuSort::Kernel),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy", GpuSort::Memcpy),
    ("CUPTI_ACTIVITY_KIND_MEMSET", "memset", GpuSort::Memset),
    (GRAPHS, "graph", GpuSort::Kernel),
];

/// One row for a whole CUDA graph, unless its nodes were asked for.
pub(super) const GRAPHS: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";

/// The tables of calls into CUDA.
const CALL_TABLES: [&str; 2] = ["CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"];

/// A stream of a process, in a context of CUDA's.
pub(super) type Stream = (u32, i64, i64);

pub(super) struct Reader<'a> {
    pub(super) database: &'a Database,
    pub(super) recording: &'a mut KinetoContents,
    /// The strings of the export, interned.
    pub(super) strings: FxHashMap<i64, u32>,
    pub(super) threads: FxHashMap<i64, u32>,
    pub(super) processes: IndexSet<i64, FxBuildHasher>,
    pub(super) streams: IndexSet<Stream, FxBuildHasher>,
    /// The GPU behind a device of CUDA's in a process.
    pub(super) gpus: FxHashMap<(i64, i64), u32>,
    /// Whether what GPUs did says of which process it is.
    pub(super) tells_processes: bool,
    /// The last end of anything.
    pub(super) last: Nanos,
    /// Ranges without an end: category, start and whether it is an operator's.
    pub(super) open_ranges: Vec<(u32, Nanos, bool)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(database: &'a Database, recording: &'a mut KinetoContents) -> Reader<'a> {
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
                "there is no NVTX range: kernels cannot be assigned to layers. Mark modules with \
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

    pub(super) fn warn(&mut self, message: impl Into<String>) {
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

    pub(super) fn warn_of_bad(&mut self, table: &str, bad: u64) {
        if bad > 0 {
            self.warn(format!("{bad} rows of {table} without a start and an end after it are left out"));
        }
    }

    /// Adds an event of a thread, which gets its number and its place in the order here.
    pub(super) fn push(&mut self, global_thread: i64, event: HostEvent) {
        let threads = &mut self.recording.threads;
        let thread = *self.threads.entry(global_thread).or_insert_with(|| {
            threads.push(format!("process {} thread {}", pid(global_thread), global_thread & !PROCESS));
            threads.len() as u32 - 1
        });
        let order = self.recording.host.len() as u32;
        self.recording.host.push(HostEvent { thread, order, ..event });
    }

    pub(super) fn extent(&mut self, row: &Row<'_>) -> Option<(Nanos, Nanos)> {
        let (start, end) = (Nanos(row.integer(0)?), Nanos(row.integer(1)?));
        if end < start {
            return None;
        }
        self.last = self.last.max(end);
        Some((start, end))
    }

    pub(super) fn named(&mut self, name: &str) -> u32 {
        self.recording.names.bytes(name.as_bytes())
    }

    pub(super) fn process(&mut self, global: i64) -> u32 {
        self.processes.insert_full(global).0 as u32
    }

    /// A correlation, which is unique in its process only.
    pub(super) fn correlation(&self, process: u32, number: i64) -> Option<i64> {
        link(if self.tells_processes { process } else { 0 }, number)
    }
}

/// The number of a process in what identifies it or one of its threads.
pub(super) fn pid(global: i64) -> i64 {
    (global >> 24) & 0xFF_FFFF
}

pub(super) fn index(row: &Row<'_>, column: usize) -> Option<u32> {
    row.integer(column).and_then(|number| u32::try_from(number).ok())
}

/// A number that is unique in a process, made unique among processes.
pub(super) fn link(process: u32, number: i64) -> Option<i64> {
    let fits = (0..1 << 40).contains(&number) && process < 1 << 22;
    fits.then(|| (i64::from(process) << 40) | number)
}
