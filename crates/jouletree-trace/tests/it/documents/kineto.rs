//! Kineto traces.

use super::{Document, Event, Expected, Random, Style, Writer, assemble};

/// A random trace that follows from `seed`.
pub fn document(seed: u64, events: usize, style: Style) -> Document {
    let mut writer = Writer { random: Random(seed), style };
    let base = 1_700_000_000_000_000_000 + writer.random.below(1_000_000_000_000) as i64;
    let events = (0..events).map(|_| event(&mut writer, base)).collect();
    let version = ("schemaVersion", "1".to_owned());
    let base = ("baseTimeNanoseconds", base.to_string());
    let rank = ("distributedInfo", r#"{"backend":"nccl","rank":3}"#.to_owned());
    if style.header_first {
        assemble(&mut writer, &[version, base, rank], events, &[])
    } else {
        assemble(&mut writer, &[version], events, &[rank, base])
    }
}

fn event(writer: &mut Writer, base: i64) -> Event {
    match writer.random.below(12) {
        0 => (other(writer), None, None),
        1 => incomplete(writer),
        2..=4 => on_gpu(writer, base),
        _ => on_host(writer, base),
    }
}

/// When an event runs: its start and duration in the file, and the run of `name` that this is.
fn times(writer: &mut Writer, base: i64, device: &str, lane: String, name: &str) -> ([String; 2], Expected) {
    let start = writer.random.below(1 << 36) as i64 - (1 << 30);
    let duration = match writer.random.below(8) {
        0 => 0,
        1 => writer.random.below(1 << 34) as i64,
        _ => writer.random.below(100_000) as i64,
    };
    let run = Expected {
        device: device.to_owned(),
        start_ns: base + start,
        end_ns: base + start + duration,
        name: name.to_owned(),
        lane,
    };
    ([writer.micros(start), writer.micros(duration)], run)
}

fn on_host(writer: &mut Writer, base: i64) -> Event {
    let category = writer.random.pick(&["cpu_op", "cpu_op", "cpu_op", "user_annotation", "cuda_runtime", "Trace"]);
    let special = ["module::bert.layer.0", "Optimizer.step#AdamW.step", "nccl:all_reduce", "ProfilerStep#12"];
    let backward = "autograd::engine::evaluate_function: MmBackward0";
    let name = match category {
        "user_annotation" if writer.random.once_in(2) => writer.random.pick(&special).to_owned(),
        "cpu_op" if writer.random.once_in(4) => backward.to_owned(),
        _ => writer.name(),
    };
    let (pid, tid) = (7 + writer.random.below(2), writer.random.below(5));
    let ([ts, dur], run) = times(writer, base, "host/cpu:0", format!("{pid} {tid}"), &name);
    let mut args = writer.padding();
    for key in ["Sequence number", "Fwd thread id", "correlation", "Ev Idx", "External id"] {
        if writer.random.once_in(2) {
            let value = writer.random.below(50) as i64;
            args.push((key, writer.whole(value)));
        }
    }
    let args = writer.object(args);
    let members = vec![
        ("ph", "\"X\"".to_owned()),
        ("cat", format!("\"{category}\"")),
        ("name", writer.string(&name)),
        ("pid", writer.whole(pid as i64)),
        ("tid", writer.whole(tid as i64)),
        ("ts", ts),
        ("dur", dur),
        ("args", args),
    ];
    let is_step = category == "user_annotation" && name.starts_with("ProfilerStep#");
    let run = (category != "Trace" && !is_step).then_some(run);
    (writer.object(members), Some(("host/cpu:0".to_owned(), category.to_owned())), run)
}

fn on_gpu(writer: &mut Writer, base: i64) -> Event {
    let category = writer.random.pick(&["kernel", "kernel", "gpu_memcpy", "gpu_memset"]);
    let (gpu, stream, name) = (writer.random.below(3), writer.random.below(4), writer.name());
    let device = format!("host/gpu:{gpu}");
    let ([ts, dur], run) = times(writer, base, &device, format!("stream {stream}"), &name);
    let mut args = writer.padding();
    let mut pid = gpu as i64;
    if writer.random.once_in(2) {
        // The argument counts, whatever the process.
        args.push(("device", writer.whole(gpu as i64)));
        pid = 99;
    }
    let correlation = writer.random.below(50) as i64;
    args.push(("correlation", writer.whole(correlation)));
    let args = writer.object(args);
    let members = vec![
        ("ph", "\"X\"".to_owned()),
        ("cat", format!("\"{category}\"")),
        ("name", writer.string(&name)),
        ("pid", writer.whole(pid)),
        ("tid", writer.whole(stream as i64)),
        ("ts", ts),
        ("dur", dur),
        ("args", args),
    ];
    (writer.object(members), Some((device, category.to_owned())), Some(run))
}

/// An event that lacks what it needs: it is counted and left out.
fn incomplete(writer: &mut Writer) -> Event {
    let mut members = vec![
        ("ph", "\"X\"".to_owned()),
        ("cat", "\"cpu_op\"".to_owned()),
        ("name", "\"aten::lost\"".to_owned()),
        ("ts", "12.5".to_owned()),
        ("dur", "-0.001".to_owned()),
    ];
    let lacking = writer.random.below(4) as usize;
    if lacking > 0 {
        members.remove(2 + lacking.min(2));
    }
    (writer.object(members), Some(("host/cpu:0".to_owned(), "cpu_op".to_owned())), None)
}

/// Flows, instants and names, which are no runs of operations.
fn other(writer: &mut Writer) -> String {
    let (id, ts) = (writer.random.below(50) as i64, writer.random.below(1 << 30) as i64);
    let ts = writer.micros(ts);
    let phase = writer.random.pick(&["s", "f", "i", "M"]);
    let category = writer.random.pick(&["fwdbwd", "ac2g"]);
    let members = vec![
        ("ph", format!("\"{phase}\"")),
        ("cat", format!("\"{category}\"")),
        ("name", writer.string("flow")),
        ("id", writer.whole(id)),
        ("pid", "7".to_owned()),
        ("tid", "1".to_owned()),
        ("ts", ts),
    ];
    writer.object(members)
}
