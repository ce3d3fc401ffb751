//! Exports of Nsight Systems. No real one is at hand: these databases are made after NVIDIA's description of the
//! schema, with ranges as PyTorch's `emit_nvtx` names them.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use jouletree_model::{BaseOrigin, Nanos, Pass, TimeBase, Trace};
use jouletree_trace::{Progress, ReadOptions, TraceError, read_trace, read_trace_bytes};
use proptest::prelude::*;
use rusqlite::{Connection, params};

const SESSION: i64 = 1_794_771_668_117_931_424;

const SCHEMA: &str = "
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL,
    nameEnum INTEGER NOT NULL, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
    category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
    domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
    callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, gridX INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
";

/// An export while it is made.
struct Export {
    database: Connection,
    strings: BTreeMap<String, i64>,
    correlation: i64,
}

fn global_process(pid: i64) -> i64 {
    (1 << 48) | (pid << 24)
}

fn global_thread(pid: i64, tid: i64) -> i64 {
    global_process(pid) | tid
}

impl Export {
    fn new() -> Export {
        let database = Connection::open_in_memory().expect("memory");
        database.execute_batch(SCHEMA).expect("the schema");
        let mut export = Export { database, strings: BTreeMap::new(), correlation: 0 };
        export.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?1, '', '')", params![SESSION]);
        export.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'Hostname', 0, 'node7')", params![]);
        export
    }

    fn execute(&mut self, sql: &str, values: impl rusqlite::Params) {
        self.database.execute(sql, values).expect(sql);
    }

    fn string(&mut self, value: &str) -> i64 {
        if let Some(id) = self.strings.get(value) {
            return *id;
        }
        let id = self.strings.len() as i64 + 10;
        self.strings.insert(value.to_owned(), id);
        self.execute("INSERT INTO StringIds VALUES (?1, ?2)", params![id, value]);
        id
    }

    /// A range whose text is in the row.
    fn range(&mut self, thread: i64, text: &str, (start, end): (i64, i64)) {
        self.event(59, thread, text, start, Some(end));
    }

    fn event(&mut self, kind: i64, thread: i64, text: &str, start: i64, end: Option<i64>) {
        let sql = "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.execute(sql, params![start, end, kind, text, thread]);
    }

    /// A range whose text is among the strings.
    fn range_by_string(&mut self, thread: i64, text: &str, (start, end): (i64, i64)) {
        let text = self.string(text);
        let sql = "INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid) VALUES (?1, ?2, 59, ?3, ?4)";
        self.execute(sql, params![start, end, text, thread]);
    }

    fn call(&mut self, thread: i64, name: &str, (start, end): (i64, i64)) -> i64 {
        self.correlation += 1;
        let (name, correlation) = (self.string(name), self.correlation);
        let sql = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1, ?2, 0, ?3, ?4, ?5, 0, NULL)";
        self.execute(sql, params![start, end, thread, correlation, name]);
        correlation
    }

    fn kernel(
        &mut self,
        process: i64,
        (device, stream): (i64, i64),
        name: &str,
        extent: (i64, i64),
        correlation: i64,
    ) {
        let (name, short) = (self.string(name), self.string("short"));
        let sql = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, NULL, 1)";
        self.execute(sql, params![extent.0, extent.1, device, stream, correlation, process, name, short]);
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.database.serialize("main").expect("bytes").to_vec()
    }

    fn read(&mut self) -> Trace {
        read(&self.bytes())
    }
}

fn census() -> ReadOptions {
    ReadOptions { census: true, ..ReadOptions::default() }
}

fn read(bytes: &[u8]) -> Trace {
    let trace = read_trace_bytes("report.sqlite", bytes, &census()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(trace.sources[0].format, "nsys-sqlite");
    trace
}

/// Device, lane, path, type, pass, step, start and end (since the session began) of every event.
fn shown(trace: &Trace) -> Vec<String> {
    let mut shown = Vec::new();
    let base = trace.sources[0].time_base.base();
    for lane in &trace.lanes {
        for event in lane.events() {
            let op = trace.ops.get(event.op).expect("an operation");
            let step = event.step.number().map_or(String::from("-"), |step| step.to_string());
            shown.push(format!(
                "{} {}: {} {} {} {step} {} {}",
                trace.devices[lane.device()],
                lane.label(),
                op.path,
                op.op_type,
                op.pass,
                (event.start - base).0,
                (event.end - base).0
            ));
        }
    }
    shown.sort();
    shown
}

fn messages(trace: &Trace) -> String {
    trace.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

/// A step of training with PyTorch's ranges: a module, its operator, the backward node in autograd's thread, the
/// optimizer.
fn training() -> Export {
    let mut export = Export::new();
    let (main, autograd, process) = (global_thread(7, 100), global_thread(7, 101), global_process(7));
    export.range(main, "ProfilerStep#3", (0, 1000));
    export.range_by_string(main, "module::bert.encoder.layer.0", (10, 200));
    export.range(main, "aten::linear, op_id = 6", (20, 110));
    export.range(main, "aten::addmm, seq = 3, op_id = 7, sizes = [[8], [8, 16]]", (30, 100));
    let forward = export.call(main, "cudaLaunchKernel_v7000", (40, 50));
    export.kernel(process, (0, 7), "void sgemm<float, 32>(float*)", (60, 160), forward);
    export.range(autograd, "autograd::engine::evaluate_function: AddmmBackward0, op_id = 8", (300, 400));
    export.range(autograd, "AddmmBackward0, seq = 3, op_id = 9", (310, 390));
    export.range(autograd, "aten::mm, op_id = 10", (320, 380));
    let backward = export.call(autograd, "cudaLaunchKernel_v7000", (330, 340));
    export.kernel(process, (0, 7), "void sgemm<float, 64>(float*)", (345, 450), backward);
    export.range(main, "Optimizer.step#AdamW.step", (500, 600));
    let update = export.call(main, "cudaLaunchKernel_v7000", (510, 520));
    export.kernel(process, (0, 7), "adam(int)", (530, 560), update);
    let reduce = export.call(main, "cuLaunchKernelEx", (700, 710));
    export.kernel(process, (0, 20), "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclArgs)", (720, 800), reduce);
    export.kernel(process, (0, 7), "orphan()", (900, 910), 99);
    export
}

#[test]
fn kernels_go_to_the_ranges_that_launched_them() {
    let trace = training().read();
    let gpu: Vec<String> = shown(&trace).into_iter().filter(|line| line.contains("gpu")).collect();
    let expected = [
        "host/gpu:0 stream 20: collectives/ncclDevKernel_AllReduce_Sum_f32_RING_LL ncclDevKernel_AllReduce_Sum_f32_RING_LL forward 3 720 800",
        "host/gpu:0 stream 7: bert/encoder/layer.0/aten::addmm/sgemm sgemm forward 3 60 160",
        "host/gpu:0 stream 7: bert/encoder/layer.0/aten::mm/sgemm sgemm backward 3 345 450",
        "host/gpu:0 stream 7: optimizer/AdamW.step/adam adam optimizer 3 530 560",
        "host/gpu:0 stream 7: unlaunched/orphan orphan forward 3 900 910",
    ];
    assert_eq!(gpu, expected);
    assert!(messages(&trace).contains("1 of 5 events on GPUs have lost their launch"), "{}", messages(&trace));
    let names: Vec<&str> = trace.ops.iter().map(|(_, op)| &*op.name).collect();
    assert!(names.contains(&"void sgemm<float, 32>(float*)"), "the whole name is kept: {names:?}");
}

#[test]
fn ranges_and_calls_are_the_hosts_time() {
    let trace = training().read();
    let host: Vec<String> = shown(&trace).into_iter().filter(|line| line.contains("cpu")).collect();
    let main = "host/cpu:0 process 7 thread 100:";
    let autograd = "host/cpu:0 process 7 thread 101:";
    let call = "cudaLaunchKernel_v7000 cudaLaunchKernel_v7000";
    let mut expected = [
        format!("{main} bert/encoder/layer.0/(python) python forward 3 10 200"),
        format!("{main} bert/encoder/layer.0/aten::linear aten::linear forward 3 20 110"),
        format!("{main} bert/encoder/layer.0/aten::addmm aten::addmm forward 3 30 100"),
        format!("{main} bert/encoder/layer.0/{call} forward 3 40 50"),
        format!("{main} optimizer/AdamW.step/(python) python optimizer 3 500 600"),
        format!("{main} optimizer/AdamW.step/{call} optimizer 3 510 520"),
        format!("{main} cuLaunchKernelEx cuLaunchKernelEx forward 3 700 710"),
        format!("{autograd} bert/encoder/layer.0/AddmmBackward0 AddmmBackward0 backward 3 300 400"),
        format!("{autograd} bert/encoder/layer.0/AddmmBackward0 AddmmBackward0 backward 3 310 390"),
        format!("{autograd} bert/encoder/layer.0/aten::mm aten::mm backward 3 320 380"),
        format!("{autograd} bert/encoder/layer.0/{call} backward 3 330 340"),
    ];
    expected.sort();
    assert_eq!(host, expected);
}

#[test]
fn the_session_tells_the_time_and_the_machine() {
    let trace = training().read();
    let source = &trace.sources[0];
    let TimeBase::Epoch { base, origin, .. } = source.time_base else { panic!("no base") };
    assert_eq!((base, origin), (Nanos(SESSION), BaseOrigin::File));
    assert_eq!(source.host.as_deref(), Some("node7"));
    assert_eq!(trace.extent().map(|extent| extent.end), Some(Nanos(SESSION + 910)));
    let counts: Vec<(String, &str, u64)> = source
        .counts
        .iter()
        .map(|count| (count.device.to_string(), count.category.as_str(), count.events))
        .collect();
    let expected = [("host/cpu:0", "nvtx range", 8), ("host/cpu:0", "runtime", 4), ("host/gpu:0", "kernel", 5)];
    assert_eq!(counts, expected.map(|(device, category, events)| (device.to_owned(), category, events)));
    let kernels = trace.census.categories().find(|(_, category, _)| *category == "kernel").expect("kernels").2;
    assert_eq!((kernels.events, kernels.duration, kernels.busy), (5, Nanos(100 + 105 + 30 + 80 + 10), Nanos(325)));
}

#[test]
fn plain_ranges_are_modules_and_the_innermost_holds_the_kernel() {
    let mut export = Export::new();
    let main = global_thread(1, 1);
    export.range(main, "iteration 5", (0, 100));
    export.range(main, "forward", (5, 90));
    export.range(main, "attention", (10, 50));
    let launch = export.call(main, "cudaLaunchKernel", (20, 21));
    export.kernel(global_process(1), (2, 7), "softmax_kernel", (30, 40), launch);
    // An older PyTorch: a backward node without autograd's evaluation around it.
    export.range(main, "aten::mul, seq = 8", (12, 14));
    export.range(main, "MulBackward0, seq = 8, stashed seq=9", (60, 80));
    let launch = export.call(main, "cudaLaunchKernel", (65, 66));
    export.kernel(global_process(1), (2, 7), "mul_kernel", (70, 75), launch);
    let trace = export.read();
    let gpu: Vec<String> = shown(&trace).into_iter().filter(|line| line.contains("gpu")).collect();
    let expected = [
        "host/gpu:2 stream 7: forward/attention/MulBackward0/mul_kernel mul_kernel backward 5 70 75",
        "host/gpu:2 stream 7: forward/attention/softmax_kernel softmax_kernel forward 5 30 40",
    ];
    assert_eq!(gpu, expected);
    assert!(trace.ops.iter().any(|(_, op)| op.pass == Pass::Backward));
}

#[test]
fn processes_do_not_take_each_others_launches() {
    let mut export = Export::new();
    export
        .database
        .execute_batch("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)")
        .expect("a table");
    for (pid, module) in [(1, "first"), (2, "second")] {
        let thread = global_thread(pid, pid);
        export.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?1, 0, ?2)", params![pid - 1, pid]);
        export.range(thread, module, (0, 50));
        export.correlation = 0;
        let launch = export.call(thread, "cudaLaunchKernel", (10, 11));
        assert_eq!(launch, 1);
        export.kernel(global_process(pid), (0, 7), "gemm", (20, 30), launch);
    }
    let trace = export.read();
    let gpu: Vec<String> = shown(&trace).into_iter().filter(|line| line.contains("gpu")).collect();
    let expected = [
        "host/gpu:0 stream 7: first/gemm gemm forward - 20 30",
        "host/gpu:1 stream 7: second/gemm gemm forward - 20 30",
    ];
    assert_eq!(gpu, expected);
    assert!(messages(&trace).contains("CUDA device 0 of process 2 is GPU 1"), "{}", messages(&trace));
}

#[test]
fn copies_sets_graphs_and_contexts() {
    let mut export = Export::new();
    export
        .database
        .execute_batch(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
                streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER);
             CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
                contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER,
                graphExecId INTEGER);",
        )
        .expect("tables");
    let (thread, process) = (global_thread(1, 1), global_process(1));
    let copy = export.call(thread, "cudaMemcpyAsync", (0, 5));
    let graph = export.call(thread, "cudaGraphLaunch", (6, 7));
    let memcpy = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?1, ?2, 0, 1, 7, ?3, ?4, 4096, ?5)";
    export.execute(memcpy, params![10, 20, copy, process, 1]);
    export.execute(memcpy, params![20, 25, copy, process, 99]);
    let memset = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (30, 31, 0, 2, 7, ?1, ?2, 0, 64)";
    export.execute(memset, params![copy, process]);
    let graphs = "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (40, 90, 0, 1, 7, ?1, ?2, 5, 6)";
    export.execute(graphs, params![graph, process]);
    let trace = export.read();
    let gpu: Vec<String> = shown(&trace).into_iter().filter(|line| line.contains("gpu")).collect();
    let expected = [
        "host/gpu:0 stream 7 context 1: CUDA graph CUDA graph forward - 40 90",
        "host/gpu:0 stream 7 context 1: Memcpy HtoD Memcpy HtoD forward - 10 20",
        "host/gpu:0 stream 7 context 1: Memcpy kind 99 Memcpy kind 99 forward - 20 25",
        "host/gpu:0 stream 7 context 2: Memset Memset forward - 30 31",
    ];
    assert_eq!(gpu, expected);
    let messages = messages(&trace);
    assert!(messages.contains("--cuda-graph-trace=node") && messages.contains("no NVTX range"), "{messages}");
}

#[test]
fn open_ranges_marks_and_wrong_rows_are_told() {
    let mut export = Export::new();
    let thread = global_thread(1, 1);
    export.event(59, thread, "never popped", 10, None);
    export.range(thread, "backwards", (50, 40));
    export.event(34, thread, &format!("MARK wall_ns={}", SESSION + 60_000_000_000), 5, None);
    export.event(60, thread, "a whole process", 0, Some(70));
    export.event(60, thread, "step 4", 0, Some(70));
    export.event(75, thread, "a domain", 0, None);
    let launch = export.call(thread, "cudaLaunchKernel", (20, 30));
    export.kernel(global_process(1), (0, 7), "gemm", (40, 45), launch);
    let trace = export.read();
    let shown = shown(&trace);
    assert!(
        shown.contains(&"host/cpu:0 process 1 thread 1: never popped/(python) python forward 4 10 70".to_owned()),
        "{shown:?}"
    );
    assert_eq!(shown.len(), 3, "{shown:?}");
    let messages = messages(&trace);
    for part in ["1 ranges were open", "1 rows of NVTX_EVENTS", "off its marker"] {
        assert!(messages.contains(part), "{part}: {messages}");
    }
}

#[test]
fn databases_of_others_are_not_ours() {
    let mut other = Connection::open_in_memory().expect("memory");
    other.execute_batch("CREATE TABLE songs (title TEXT)").expect("a table");
    let bytes = other.serialize("main").expect("bytes").to_vec();
    match read_trace_bytes("songs.sqlite", &bytes, &census()) {
        Err(TraceError::Unrecognised { found, .. }) => assert!(found.contains("[songs]"), "{found}"),
        other => panic!("{other:?}"),
    }
    let error = read_trace_bytes("report.sqlite", &Export::new().bytes(), &census()).expect_err("nothing in it");
    assert!(error.to_string().contains("--trace=cuda,nvtx"), "{error}");
}

/// A view could be anything, even endless.
#[test]
fn views_are_not_read() {
    let mut export = training();
    export
        .database
        .execute_batch(
            "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start, x AS end FROM n",
        )
        .expect("a view");
    assert_eq!(shown(&export.read()), shown(&training().read()));
}

#[test]
fn files_are_read_where_they_lie_or_unpacked() {
    let bytes = training().bytes();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&bytes).expect("memory can be written");
    let packed = encoder.finish().expect("memory can be written");
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in [("a report?#%.sqlite", &bytes), ("report.sqlite.gz", &packed)] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        let trace = read_trace(&path, &census(), &Progress::default()).expect("a trace");
        assert_eq!(shown(&trace), shown(&training().read()), "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing is written beside them");
}

/// An export of some size, so that its tables have several pages.
fn large() -> Export {
    let mut export = Export::new();
    export.database.execute_batch("BEGIN").expect("a transaction");
    let thread = global_thread(1, 1);
    for number in 0..3000 {
        let start = number * 100;
        export.range(thread, &format!("module::layer.{}", number % 12), (start, start + 90));
        let launch = export.call(thread, "cudaLaunchKernel", (start + 5, start + 6));
        export.kernel(
            global_process(1),
            (0, 7),
            &format!("kernel_{}", number % 40),
            (start + 10, start + 60),
            launch,
        );
    }
    export.database.execute_batch("COMMIT").expect("a transaction");
    export
}

#[test]
fn a_damaged_page_costs_only_what_comes_after_it() {
    let bytes = large().bytes();
    let whole = read(&bytes);
    assert_eq!(whole.event_count(), 9000);
    // The pages of a table follow each other here, so something before the damage is left in some table.
    let mut partly = 0;
    for page in (10..bytes.len() / 4096).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xff);
        match read_trace_bytes("report.sqlite", &damaged, &census()) {
            Ok(trace) => {
                assert!(trace.event_count() <= whole.event_count());
                if trace.event_count() < whole.event_count() {
                    assert!(messages(&trace).contains("is damaged after"), "{}", messages(&trace));
                    partly += 1;
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(partly > 5, "{partly}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn cut_and_flipped_databases_do_no_harm(
        part in 0.0..1.0_f64,
        flips in prop::collection::vec((0.0..1.0_f64, any::<u8>()), 1..40)
    ) {
        thread_local!(static BYTES: Vec<u8> = training().bytes());
        BYTES.with(|bytes| {
            let cut = (bytes.len() as f64 * part) as usize;
            let _ = read_trace_bytes("report.sqlite", &bytes[..cut], &census());
            let mut damaged = bytes.clone();
            for (place, byte) in &flips {
                // The first bytes say that it is a database at all.
                let place = 16 + ((damaged.len() - 16) as f64 * place) as usize;
                damaged[place] = *byte;
            }
            let _ = read_trace_bytes("report.sqlite", &damaged, &census());
        });
    }
}
