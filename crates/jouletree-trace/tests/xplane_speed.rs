//! How fast a large XPlane file is read, in processor time. Run it with
//! `cargo test --release -p jouletree-trace --test xplane_speed -- --ignored --nocapture`.

#![allow(clippy::expect_used)]

#[allow(dead_code, reason = "other tests use the rest")]
mod proto;

use std::time::Instant;

use jouletree_trace::{ReadOptions, read_trace_bytes};
use proto::Message;

const EVENTS: usize = 4_000_000;
const LINES: usize = 8;
const OPS: usize = 1_200;

/// A profile of a training in TensorFlow: operations between the containers that run them.
fn profile() -> Vec<u8> {
    let stat = |id, value| Message::new().integer(1, id).integer(3, value);
    let line = |line: usize| {
        let name = format!("tf_Compute/{}", 1_580_204_234 + line as i64);
        let mut message = Message::new().integer(1, 77 + line as i64).text(2, &name).integer(3, 7102);
        let mut at = 91_878_301_000_i64;
        for event in 0..EVENTS / LINES {
            let is_op = event % 4 != 3;
            let id = if is_op { 1 + ((event * 7 + line) % OPS) as i64 } else { OPS as i64 + 1 };
            let duration = 1_000 * (3 + (event as i64 * 7919) % 90_000);
            let stats = [stat(1, 40_961 + event as i64), stat(2, 0), stat(3, 5)];
            let event = Message::new().integer(1, id).integer(2, at).integer(3, duration).messages(4, stats);
            message = message.message(4, event);
            at += duration + 1_000;
        }
        message.text(11, &name)
    };
    let name = |id: usize| {
        let layer = format!("minibert/layer_{}/attention", id % 12);
        match id % 4 {
            0 => (format!("{layer}/MatMul_{id}"), "MatMul"),
            1 => (format!("gradient_tape/{layer}/MatMul_{}/MatMul", id - 1), "MatMul"),
            2 => (format!("{layer}/query/Tensordot/BiasAdd_{id}"), "BiasAdd"),
            _ => (format!("Adam/AssignSubVariableOp_{id}"), "AssignSubVariableOp"),
        }
    };
    let entry = |id: usize, name: &str, display: &str| {
        let metadata = Message::new().integer(1, id as i64).text(2, name).text(4, display);
        Message::new().integer(1, id as i64).message(2, metadata)
    };
    let ops = (1..=OPS).map(|id| {
        let (name, op_type) = name(id);
        entry(id, &format!("{name}:{op_type}"), op_type)
    });
    let stats = ["id", "iter_num", "step_num"].iter().enumerate().map(|(index, name)| {
        let metadata = Message::new().integer(1, index as i64 + 1).text(2, name);
        Message::new().integer(1, index as i64 + 1).message(2, metadata)
    });
    let plane = Message::new()
        .text(2, "/host:CPU")
        .messages(3, (0..LINES).map(line))
        .messages(4, ops.chain([entry(OPS + 1, "ExecutorState::Process", "")]))
        .messages(5, stats);
    Message::new().message(1, plane).text(4, "host").0
}

/// The processor time that this thread has used, in seconds; wall time where the system does not tell.
fn processor_time(began: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok());
    nanos.map_or_else(|| began.elapsed().as_secs_f64(), |nanos| nanos * 1e-9)
}

#[test]
#[ignore = "takes a while and measures; see the head of the file"]
fn reading_a_large_file() {
    let bytes = profile();
    let began = Instant::now();
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let before = processor_time(began);
        let trace = read_trace_bytes("large", &bytes, &ReadOptions::default()).expect("a trace");
        let after = processor_time(began);
        assert_eq!(trace.event_count(), EVENTS * 3 / 4);
        best = best.min(after - before);
    }
    let megabytes = bytes.len() as f64 / 1e6;
    println!(
        "{megabytes:.0} MB, {EVENTS} events: {:.3} s, {:.0} MB/s, {:.1} M events/s",
        best,
        megabytes / best,
        EVENTS as f64 / best / 1e6
    );
}
