//! XPlane files made for the purpose: what is written is read.

use crate::spaces;

use std::path::Path;

use jouletree_model::{BaseOrigin, Nanos, Pass, TimeBase, Trace};
use jouletree_trace::{ReadOptions, read_trace_bytes};
use spaces::{Plane, Stat, gpu, jax, keras, op, other, space};
use test_support::proto::Message;

fn read(bytes: &[u8]) -> Trace {
    let options = ReadOptions { census: true, ..ReadOptions::default() };
    read_trace_bytes("small.xplane.pb", bytes, &options).expect("a trace")
}

/// Device, path, pass, step, start and end of every run, by the file's own clock.
fn runs(trace: &Trace) -> Vec<(String, String, Pass, Option<u32>, i64, i64)> {
    let base = trace.sources[0].time_base.base();
    let mut runs = Vec::new();
    for lane in &trace.lanes {
        for event in lane.events() {
            let op = trace.ops.get(event.op).expect("a known operation");
            runs.push((
                trace.devices[lane.device()].to_string(),
                op.path.to_string(),
                op.pass,
                event.step.number(),
                (event.start - base).0,
                (event.end - base).0,
            ));
        }
    }
    runs.sort_by_key(|run| (run.4, run.5, run.1.clone()));
    runs
}

fn counts(trace: &Trace) -> Vec<(String, String, u64)> {
    let counts = trace.sources[0].counts.iter();
    counts.map(|count| (count.device.to_string(), count.category.clone(), count.events)).collect()
}

#[test]
fn two_steps_of_keras() {
    use Pass::{Backward, Forward, Optimizer};
    let trace = read(&keras());
    assert_eq!(trace.warnings, []);
    let source = &trace.sources[0];
    let base = Nanos(1_794_771_247_513_534_451);
    assert_eq!(source.time_base, TimeBase::Epoch { base, origin: BaseOrigin::File, within: Nanos(0) });
    assert_eq!((source.host.as_deref(), source.format.as_str()), (Some("node7"), "xplane"));
    let first: Vec<(String, Pass, Option<u32>, i64, i64)> = runs(&trace)
        .into_iter()
        .filter(|run| run.4 < 7200)
        .map(|(_, path, pass, step, start, end)| (path, pass, step, start - 7000, end - 7000))
        .collect();
    let wanted = [
        ("net/dense/MatMul", Forward, 1, 11),
        ("data/Prefetch/Map", Forward, 10, 30),
        ("net/dense/BiasAdd/ReadVariableOp", Forward, 11, 11),
        ("net/dense/BiasAdd", Forward, 12, 15),
        ("data/GatherV2", Forward, 12, 17),
        ("net/dense/MatMul", Backward, 20, 40),
        ("net/dense/AddN", Backward, 40, 45),
        ("optimizer/Adam/truediv_27", Optimizer, 50, 57),
        ("optimizer/Adam/AssignSubVariableOp", Optimizer, 60, 64),
    ];
    assert_eq!(first, wanted.map(|(path, pass, start, end)| (path.to_owned(), pass, Some(3), start, end)));
    assert!(runs(&trace).iter().filter(|run| run.4 >= 7200).all(|run| run.3 == Some(4)));
    let row = |category: &str, events| ("host/cpu:0".to_owned(), category.to_owned(), events);
    let rows = [
        row("ThreadpoolListener", 2),
        row("python", 2),
        row("tf_Compute", 16),
        row("tf_data_iterator_resource", 3),
    ];
    assert_eq!(counts(&trace), rows);
    let operations = trace.census.operations().into_values().next().expect("operations");
    assert_eq!(operations.events as usize, trace.event_count());
}

#[test]
fn counts_do_not_depend_on_the_census() {
    for bytes in [keras(), jax(), gpu()] {
        let without = read_trace_bytes("small", &bytes, &ReadOptions::default()).expect("a trace");
        let with = read(&bytes);
        assert_eq!(counts(&without), counts(&with));
        assert_eq!(without.lanes, with.lanes);
        assert_eq!(without.census.spans().count(), 0);
        let lanes: i64 = with.lanes.iter().flat_map(|lane| lane.events()).map(|event| event.duration().0).sum();
        let census: i64 = with.census.operations().values().map(|holding| holding.duration.0).sum();
        assert_eq!(lanes, census);
    }
}

#[test]
fn compiled_programs() {
    let trace = read(&jax());
    let found: Vec<(String, Option<u32>, i64, i64)> =
        runs(&trace).into_iter().map(|run| (run.1, run.3, run.4 - 5, run.5 - 5)).collect();
    let run = |path: &str, step, start, end| (path.to_owned(), Some(step), start, end);
    let wanted = [
        run("jit_step/dot.1", 0, 10, 50),
        run("jit_step/add_fusion", 0, 60, 70),
        run("jit_step/dot.1", 1, 110, 150),
    ];
    assert_eq!(found, wanted);
    assert!(trace.warnings.iter().any(|warning| warning.message.contains("by their names alone")));
    // The marker is the only thing with the time.
    let [marker] = trace.sources[0].markers.as_slice() else { panic!("{:?}", trace.sources[0].markers) };
    assert_eq!(marker.at, marker.wall);
    let TimeBase::Epoch { base, origin: BaseOrigin::Marker, .. } = trace.sources[0].time_base else {
        panic!("{:?}", trace.sources[0].time_base)
    };
    assert_eq!(base.0, 1_794_771_247_513_600_000 - 7);
}

/// Work is done before its call returns, after other calls of its thread, in another thread, or after the number was used again.
#[test]
fn operations_last_until_their_work_is_done() {
    let call = |name: &'static str, at, duration, number| {
        other(name, at, duration).with("hlo_op", Stat::Text(name)).with("_p", Stat::Integer(number))
    };
    let end = |name: &str, at, number| other(&format!("end: {name}"), at, 0).with("_c", Stat::Integer(number));
    let thread = [
        call("at_once", 10, 40, 1),
        end("at_once", 45, 1),
        call("later", 60, 10, 2),
        call("elsewhere", 80, 10, 3),
        call("between", 95, 5, 4),
        end("between", 98, 4),
        end("later", 120, 2),
        call("at_once", 200, 40, 1),
        call("at_once", 300, 40, 1),
        end("at_once", 335, 1),
        end("at_once", 350, 1),
    ];
    let other_thread = [end("elsewhere", 140, 3), end("at_once", 230, 1)];
    let host = Plane::new("/host:CPU").line(1, "tf_XLAEigen/1", 5, &thread).line(2, "pool/2", 5, &other_thread);
    let trace = read(&space([host]));
    let found: Vec<(String, i64, i64)> =
        runs(&trace).into_iter().map(|run| (run.1, run.4 - 5, run.5 - 5)).collect();
    let run = |name: &str, start, end| (name.to_owned(), start, end);
    let wanted = [
        run("at_once", 10, 50),
        run("later", 60, 120),
        run("elsewhere", 80, 140),
        run("between", 95, 100),
        run("at_once", 200, 240),
        run("at_once", 300, 340),
    ];
    assert_eq!(found, wanted);
}

/// A module with one instruction, as XLA writes it.
fn module(instruction: &str, op_name: &str) -> Vec<u8> {
    let metadata = Message::new().text(2, op_name);
    let instruction = Message::new().text(1, instruction).text(2, "dot").message(7, metadata).integer(35, 1);
    let computation = Message::new().text(1, "main").message(2, instruction).integer(5, 1).integer(6, 1);
    let module = Message::new().text(1, "jit_step").text(2, "main").message(3, computation).integer(6, 1);
    Message::new().message(1, module).0
}

/// The program's number finds its module; without it, the module's name does; on a TPU the name of the event does.
#[test]
fn compiled_programs_with_their_modules() {
    let proto = module("dot.1", "jit(step)/transpose(jvp(net))/dense/dot_general");
    let proto = ("Hlo Proto", Stat::Bytes(proto));
    let metadata = || Plane::new("/host:metadata").entry("jit_step(42)", std::slice::from_ref(&proto));
    let event = || other("dot.1", 10, 40).with("hlo_op", Stat::Text("dot.1"));
    let by_number = event().with("program_id", Stat::Unsigned(42));
    let by_name = event().with("hlo_module", Stat::Reference("jit_step"));
    let host = |event| Plane::new("/host:CPU").line(1, "tf_XLAEigen/1", 0, &[event]);
    let tpu = Plane::new("/device:TPU:0").entry("dot.1", &[("program_id", Stat::Unsigned(42))]).line(
        1,
        "XLA Ops",
        0,
        &[other("dot.1", 10, 40)],
    );
    for plane in [host(by_number), host(by_name), tpu] {
        let trace = read(&space([metadata(), plane]));
        let found: Vec<(String, Pass)> = runs(&trace).into_iter().map(|run| (run.1, run.2)).collect();
        assert_eq!(found, [("net/dense/dot_general".to_owned(), Pass::Backward)]);
        assert_eq!(trace.warnings, []);
        assert_eq!(trace.model.nodes().len(), 1);
    }
}

/// The thread that runs a loop waits while others work: the loop is left what its body leaves, in each of its runs.
#[test]
fn loops_are_left_what_their_bodies_leave() {
    let named = |id, name: &str, opcode: &str, op_name: &str| {
        let metadata = Message::new().text(2, op_name);
        Message::new().text(1, name).text(2, opcode).message(7, metadata).integer(35, id)
    };
    let body = Message::new().message(2, named(1, "dot.1", "dot", "jit(step)/while/body/cell/dot")).integer(5, 1);
    let main = Message::new()
        .message(2, named(1, "while.2", "while", "jit(step)/while").packed(38, &[1]))
        .message(2, named(2, "add.3", "add", "jit(step)/add"))
        .integer(5, 2);
    let proto = Message::new().message(1, Message::new().text(1, "jit_step").messages(3, [body, main])).0;
    let metadata = Plane::new("/host:metadata").entry("jit_step(42)", &[("Hlo Proto", Stat::Bytes(proto))]);
    let event = |name: &'static str, start, duration, run| {
        let event = other(name, start, duration).with("hlo_op", Stat::Text(name));
        event.with("program_id", Stat::Unsigned(42)).with("run_id", Stat::Integer(run))
    };
    // On the loop's own thread, on another, and beside it what is not inside it.
    let waiting = [event("while.2", 0, 100, 1), event("dot.1", 10, 10, 1), event("while.2", 200, 50, 2)];
    let working = [event("dot.1", 30, 40, 1), event("add.3", 75, 5, 1), event("dot.1", 200, 50, 2)];
    let host = Plane::new("/host:CPU").line(1, "tf_XLAEigen/1", 0, &waiting).line(2, "tf_XLAEigen/2", 0, &working);
    let found: Vec<(String, i64, i64)> =
        runs(&read(&space([metadata, host]))).into_iter().map(|run| (run.1, run.4, run.5)).collect();
    let run = |path: &str, start, end| (path.to_owned(), start, end);
    let wanted = [
        run("jit_step/while", 0, 10),
        run("cell/dot", 10, 20),
        run("jit_step/while", 20, 30),
        run("cell/dot", 30, 70),
        run("jit_step/while", 70, 100),
        run("jit_step/add", 75, 80),
        run("cell/dot", 200, 250),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn derived_lines_of_devices_are_counted_and_not_accounted() {
    let trace = read(&gpu());
    let found: Vec<(String, String, Pass, i64)> =
        runs(&trace).into_iter().map(|run| (run.0, run.1, run.2, run.5 - run.4)).collect();
    let run = |device: &str, path: &str, pass, time| (device.to_owned(), path.to_owned(), pass, time);
    let wanted = [
        run("host/gpu:0", "fusion.3", Pass::Forward, 30),
        run("host/gpu:1", "net/dense/MatMul", Pass::Forward, 30),
        run("host/gpu:1", "MemcpyD2H", Pass::Forward, 10),
        run("host/gpu:1", "net/dense/MatMul", Pass::Backward, 30),
        run("host/gpu:1", "nameless_kernel", Pass::Forward, 5),
    ];
    assert_eq!(found, wanted);
    let row = |device: &str, category: &str, events| (device.to_owned(), category.to_owned(), events);
    let rows = [
        row("host/gpu:0", "XLA Modules", 1),
        row("host/gpu:0", "XLA Ops", 1),
        row("host/gpu:1", "Steps", 1),
        row("host/gpu:1", "Stream", 4),
        row("host/gpu:1", "TensorFlow Ops", 1),
    ];
    assert_eq!(counts(&trace), rows);
    assert_eq!(trace.lanes.len(), 3);
}

#[test]
fn lines_that_tell_the_time_of_day_are_believed() {
    let now = 1_794_771_247_513_534_451;
    let event = [op("a/b", "Mul", 10, 5)];
    let absolute = || Plane::new("/host:CPU").line(1, "tf_Compute/1", now, &event);
    let start = |trace: &Trace| trace.lanes[0].events()[0].start.0;
    assert_eq!(start(&read(&space([absolute()]))), now + 10);
    let task = Plane::new("Task Environment").own("profile_start_time", Stat::Unsigned(now as u64 - 100));
    assert_eq!(start(&read(&space([absolute(), task.clone()]))), now + 10);
    let relative = Plane::new("/host:CPU").line(1, "tf_Compute/1", 50, &event);
    assert_eq!(start(&read(&space([task, relative]))), now - 100 + 60);
}

#[test]
fn markers_in_names_and_texts() {
    let events = [
        other("MARK wall_ns=1794771247513534451", 5, 1),
        other("MARK", 105, 1).with("wall_ns", Stat::Text("1794771247513534551")),
        op("a/b", "Mul", 10, 5),
    ];
    let trace = read(&space([Plane::new("/host:CPU").line(1, "tf_Compute/1", 0, &events)]));
    let walls: Vec<i64> = trace.sources[0].markers.iter().map(|marker| marker.wall.0).collect();
    assert_eq!(walls, [1_794_771_247_513_534_451, 1_794_771_247_513_534_551]);
    assert_eq!(trace.sources[0].time_base.base().0, 1_794_771_247_513_534_446);
}

/// Numbers of names may be anything.
#[test]
fn negative_and_huge_numbers() {
    for first_id in [-3, i64::MIN, i64::MAX - 5, 1 << 40] {
        let plane = Plane::new("/host:CPU").numbered_from(first_id);
        let events = [op("a/b", "Mul", 10, 5), op("a/c", "Add", 20, 5)];
        let trace = read(&space([plane.line(i64::MIN, "tf_Compute/1", 0, &events)]));
        let paths: Vec<String> = runs(&trace).into_iter().map(|run| run.1).collect();
        assert_eq!(paths, ["a/b", "a/c"]);
    }
}

/// Starts and ends are rounded down, so events that touch still touch.
#[test]
fn picoseconds_are_rounded_down() {
    let event = |start, duration| spaces::Event { start, duration, ..op("a/b", "Mul", 0, 0) };
    let huge = i64::MAX;
    let events = [event(1_999, 1_001), event(3_000, 999), event(-1, 1), event(huge, huge), event(-5_000, huge)];
    let trace = read(&space([Plane::new("/host:CPU").line(1, "tf_Compute/1", 100, &events)]));
    let found: Vec<(i64, i64)> = runs(&trace).into_iter().map(|run| (run.4 - 100, run.5 - 100)).collect();
    let far = huge / 1000;
    assert_eq!(found, [(-5, far - 5), (-1, 0), (1, 3), (3, 3), (far, far)]);
}

#[test]
fn events_without_a_time_are_told() {
    let sum = Message::new().integer(1, 1).integer(5, 1000).integer(3, 5_000);
    let negative = Message::new().integer(1, 1).integer(2, 5).integer(3, -5);
    let good = Message::new().integer(1, 1).integer(2, 5_000).integer(3, 7_000);
    let nameless = Message::new().integer(1, 99).integer(2, 5_000).integer(3, 7_000);
    // Fields in an order that is never written, and unknown fields.
    let shuffled = Message::new().text(77, "new").message(4, Message::new().integer(1, 3)).integer(3, 2_000);
    let shuffled = shuffled.integer(2, 30_000).integer(1, 1).double(78, 1.0);
    let line = Message::new().messages(4, [sum, negative, good, nameless, shuffled]).integer(3, 100).text(2, "l");
    let plane = Plane::new("/host:CPU").line(5, "tf_Compute/1", 0, &[op("a/b", "Mul", 1, 1)]).raw_line(line);
    let trace = read(&space([plane]));
    let found: Vec<(i64, i64)> = runs(&trace).into_iter().map(|run| (run.4, run.5)).collect();
    assert_eq!(found, [(1, 2), (105, 112), (130, 132)]);
    for what in ["sums over many runs", "negative duration", "whose name is not in the file"] {
        assert!(
            trace.warnings.iter().any(|warning| warning.message.contains(what)),
            "{what}: {:?}",
            trace.warnings
        );
    }
}

#[test]
fn lines_with_one_number_and_name_are_one() {
    let plane = Plane::new("/host:CPU")
        .line(5, "tf_Compute/5", 0, &[op("a/b", "Mul", 10, 1)])
        .line(5, "tf_Compute/5", 100, &[op("a/b", "Mul", 10, 1)])
        .line(5, "tf_Compute/6", 0, &[op("a/b", "Mul", 20, 1)]);
    let other_plane = Plane::new("/host:other").line(5, "tf_Compute/5", 0, &[op("a/b", "Mul", 30, 1)]);
    let trace = read(&space([plane, other_plane]));
    let lanes: Vec<usize> = trace.lanes.iter().map(|lane| lane.events().len()).collect();
    assert_eq!(lanes, [2, 1, 1]);
    assert_eq!((trace.devices.len(), trace.ops.len()), (1, 1));
}

#[test]
fn a_hundred_thousand_threads() {
    let plane = (0..100_000).fold(Plane::new("/host:CPU"), |plane, thread| {
        plane.line(thread, &format!("tf_Compute/{thread}"), 0, &[op("a/b", "Mul", thread, 3)])
    });
    let devices = (0..20_000).map(|_| Plane::new("/device:GPU:7").line(1, "Stream #1", 0, &[other("k", 1, 1)]));
    let trace = read(&space([plane].into_iter().chain(devices)));
    assert_eq!((trace.lanes.len(), trace.event_count(), trace.devices.len()), (120_000, 120_000, 2));
}

#[test]
fn operations_without_a_display_name_count_in_threads_that_run_them() {
    let plane = Plane::new("/host:CPU")
        .line(1, "tf_Compute/1", 0, &[other("a/b:Mul", 1, 1), other("ExecutorState::Process", 0, 9)])
        .line(2, "python", 0, &[other("_send_range_0:_Send", 1, 1), other("EagerLocalExecute: Mul", 3, 1)]);
    let paths: Vec<String> = runs(&read(&space([plane]))).into_iter().map(|run| run.1).collect();
    assert!(paths.contains(&"a/b".to_owned()) && !paths.contains(&"_send_range_0".to_owned()), "{paths:?}");
}

#[test]
fn eager_calls_are_all_there_is_without_graphs() {
    let events = [other("EagerLocalExecute: MatMul", 3, 5), other("EagerLocalExecute: __inference_f_12", 10, 5)];
    let trace = read(&space([Plane::new("/host:CPU").line(2, "python", 0, &events)]));
    assert_eq!(runs(&trace).into_iter().map(|run| run.1).collect::<Vec<_>>(), ["MatMul"]);
    assert!(trace.warnings.iter().any(|warning| warning.message.contains("eagerly")), "{:?}", trace.warnings);
}

fn places(trace: &Trace) -> Vec<(String, Pass)> {
    runs(trace).into_iter().map(|run| (run.1, run.2)).collect()
}

#[test]
fn layers_have_the_names_that_the_program_said() {
    let names = Plane::new("/jouletree:names")
        .shown("layer:net_1", "net")
        .shown("layer:net_1/conv2d_1", "conv2d")
        .shown("layer:net_1/conv2d_1_2", "conv2d_1");
    // A loop over a data set runs the model in threads of the input pipeline.
    let host = Plane::new("/host:CPU")
        .line(1, "tf_Compute/1", 0, &[op("StatefulPartitionedCall/net_1/conv2d_1/Relu", "_FusedConv2D", 1, 1)])
        .line(
            2,
            "tf_data_private_threadpool/2",
            0,
            &[op("net_1/conv2d_1_2/Relu", "_FusedConv2D", 3, 1), op("rfft", "RFFT", 5, 1)],
        );
    let wanted = ["net/conv2d/Conv2D", "net/conv2d_1/Conv2D", "data/rfft"];
    assert_eq!(places(&read(&space([host, names]))), wanted.map(|path| (path.to_owned(), Pass::Forward)));
}

#[test]
fn steps_without_a_graph_are_in_their_scopes() {
    let events = [
        other("scope::net", 0, 10),
        other("EagerLocalExecute: MatMul", 2, 6),
        other("scope::gradient_tape", 20, 10),
        other("EagerLocalExecute: MatMul", 20, 10),
    ];
    let host = Plane::new("/host:CPU").line(1, "python", 0, &events);
    let trace = read(&space([host, Plane::new("/jouletree:names").shown("eager:", "")]));
    let python = ("net/(python)".to_owned(), Pass::Forward);
    let wanted =
        [python.clone(), ("net/MatMul".to_owned(), Pass::Forward), python, ("MatMul".to_owned(), Pass::Backward)];
    assert_eq!(places(&trace), wanted);
    assert_eq!(trace.warnings, []);
}

#[test]
fn a_compiled_function_of_which_nothing_is_told_has_its_time() {
    let start = "ExecutorState::ProcessAsync::Start";
    let call = |at, kernel| other(start, at, 10).with("kernel_type", Stat::Reference(kernel));
    let events = [call(0, "IteratorGetNext"), call(20, "StatefulPartitionedCall")];
    let host = Plane::new("/host:CPU")
        .line(1, "tf_Compute/1", 0, &events)
        .line(2, "python", 0, &[other("EagerLocalExecute: __inference_train_9", 0, 40)])
        .line(3, "tf_data_private_threadpool/3", 0, &[op("GatherV2", "GatherV2", 1, 2)]);
    let metadata = Plane::new("/host:metadata").entry("run_step(4)", &[("Hlo Proto", Stat::Bytes(vec![0x0a, 0]))]);
    let trace = read(&space([host, metadata]));
    let found: Vec<String> = places(&trace).into_iter().map(|place| place.0).collect();
    assert_eq!(found, ["data/GatherV2", "compiled by XLA"]);
    let said: Vec<&str> = trace.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert!(said.iter().any(|message| message.contains("jit_compile")), "{said:?}");
    assert!(!said.iter().any(|message| message.contains("eagerly")), "{said:?}");
}

#[test]
fn a_profile_without_operations_says_how_to_record_one() {
    let plane = Plane::new("/host:CPU").line(2, "python", 0, &[other("main", 3, 5)]);
    let error = read_trace_bytes("t", &space([plane]), &ReadOptions::default()).expect_err("nothing to account");
    assert!(error.to_string().contains("jax.profiler"), "{error}");
}

/// The seeds of the fuzzer are the files of these tests; set `JOULETREE_WRITE_SEEDS` to write them anew.
#[test]
fn seeds_of_the_fuzzer_are_these_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/xplane");
    for (name, bytes) in [("keras", keras()), ("jax", jax()), ("gpu", gpu())] {
        let path = folder.join(format!("{name}.pb"));
        if std::env::var_os("JOULETREE_WRITE_SEEDS").is_some() {
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(&path, &bytes).expect("a file");
        }
        assert_eq!(std::fs::read(&path).expect("a seed"), bytes, "{name}");
    }
}
