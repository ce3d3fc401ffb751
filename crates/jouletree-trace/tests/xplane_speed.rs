//! How fast a large XPlane file is read, in processor time. Run it with
//! `cargo test --release -p jouletree-trace --test xplane_speed -- --ignored --nocapture`.

#![allow(clippy::expect_used)]

#[allow(dead_code, reason = "other tests use the rest")]
mod proto;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use flate2::read::MultiGzDecoder;
use jouletree_model::Trace;
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

/// Reads a file some times and tells the best.
fn measure(name: &str, bytes: &[u8]) -> Trace {
    let began = Instant::now();
    let (mut best, mut read) = (f64::INFINITY, None);
    for _ in 0..5 {
        drop(read.take());
        let before = processor_time(began);
        let trace = read_trace_bytes(name, bytes, &ReadOptions::default()).expect("a trace");
        best = best.min(processor_time(began) - before);
        read = Some(trace);
    }
    let trace = read.expect("a trace");
    let megabytes = bytes.len() as f64 / 1e6;
    let events: u64 = trace.sources[0].counts.iter().map(|count| count.events).sum();
    println!(
        "{name}: {megabytes:.0} MB, {events} events: {best:.3} s, {:.0} MB/s, {:.1} M events/s",
        megabytes / best,
        events as f64 / best / 1e6
    );
    trace
}

#[test]
#[ignore = "takes a while and measures; see the head of the file"]
fn reading_a_large_file() {
    let trace = measure("written here", &profile());
    assert_eq!(trace.event_count(), EVENTS * 3 / 4);
}

/// The fields of a message: tag, number if it is one, and all bytes.
fn fields(message: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let varint = |at: &mut usize| {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = message[*at];
            *at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while at < message.len() {
        let start = at;
        let tag = varint(&mut at);
        let value = if tag & 7 == 1 { 8 } else { varint(&mut at) };
        at += if tag & 7 == 0 { 0 } else { value as usize };
        found.push((tag, value, &message[start..at]));
    }
    found
}

fn content<'a>(field: &(u64, u64, &'a [u8])) -> &'a [u8] {
    &field.2[field.2.len() - field.1 as usize..]
}

/// The same profile with its threads going through everything again and again, each time a minute later.
fn prolonged(profile: &[u8], times: usize) -> Vec<u8> {
    const MINUTE: u64 = 60_000_000_000;
    let mut space = Message::new();
    for plane in fields(profile) {
        if plane.0 != 0x0a {
            space.0.extend(plane.2);
            continue;
        }
        let mut longer = Message::new();
        let (lines, names): (Vec<_>, Vec<_>) =
            fields(content(&plane)).into_iter().partition(|field| field.0 == 0x1a);
        for line in lines {
            for time in 0..times as u64 {
                let mut later = Message::new();
                for field in fields(content(&line)) {
                    match field.0 {
                        0x18 => later = later.integer(3, (field.1 + time * MINUTE) as i64),
                        _ => later.0.extend(field.2),
                    }
                }
                longer = longer.message(3, later);
            }
        }
        names.iter().for_each(|name| longer.0.extend(name.2));
        space = space.message(1, longer);
    }
    space.0
}

#[test]
#[ignore = "takes a while and measures; see the head of the file"]
fn reading_real_files_prolonged() {
    let Some(folder) = std::env::var_os("JOULETREE_DATA") else { return eprintln!("skipped: set JOULETREE_DATA") };
    for name in ["tf215_keras_minibert", "tf221_keras_minibert", "jax0102_minibert"] {
        let path = Path::new(&folder).join(format!("traces/{name}.xplane.pb.gz"));
        let mut once = Vec::new();
        let file = File::open(path).expect("a file of the development data");
        MultiGzDecoder::new(file).read_to_end(&mut once).expect("gzip");
        measure(name, &prolonged(&once, 200));
    }
}
