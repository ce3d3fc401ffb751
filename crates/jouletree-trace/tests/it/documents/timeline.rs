//! TensorFlow timelines.

use super::{Document, Event, Expected, Random, Style, Writer, assemble};

/// Processes by number, and the device that each is.
const PROCESSES: [(&str, Option<&str>); 4] = [
    ("Allocators", None),
    ("/job:localhost/replica:0/task:0/device:CPU:0 Compute", Some("host/cpu:0")),
    ("/job:localhost/replica:0/task:0/device:CPU:0 Tensors", None),
    ("/device:GPU:1/stream:all Compute", Some("host/gpu:1")),
];

/// A random timeline that follows from `seed`.
pub fn document(seed: u64, events: usize, style: Style) -> Document {
    let mut writer = Writer { random: Random(seed), style };
    let mut names: Vec<Event> = (0..PROCESSES.len()).map(|process| process_name(&mut writer, process)).collect();
    let mut all = if style.header_first { std::mem::take(&mut names) } else { Vec::new() };
    // The first operation is whole: by it the format is recognised.
    all.push(operation(&mut writer, true));
    all.extend((1..events).map(|_| operation(&mut writer, false)));
    all.extend(names);
    assemble(&mut writer, &[], all, &[("otherData", "{\"version\":\"[]}\"}".to_owned())])
}

fn process_name(writer: &mut Writer, process: usize) -> Event {
    let args = vec![("name", writer.string(PROCESSES[process].0))];
    let members = vec![
        ("ph", "\"M\"".to_owned()),
        ("name", "\"process_name\"".to_owned()),
        ("pid", writer.whole(process as i64)),
        ("args", writer.object(args)),
    ];
    (writer.object(members), None, None)
}

fn operation(writer: &mut Writer, whole: bool) -> Event {
    let process = if whole { 1 } else { writer.random.below(PROCESSES.len() as u64) as usize };
    let device = PROCESSES[process].1;
    let lane = writer.random.below(4);
    let start = 1_700_000_000_000_000_000 + writer.random.below(1 << 36) as i64;
    let duration = if writer.random.once_in(6) { 0 } else { writer.random.below(1 << 24) as i64 };
    let lacking = if whole { 0 } else { writer.random.below(16) };
    let name = match writer.random.below(10) {
        0 if !whole => "_SOURCE".to_owned(),
        1 => format!("gradients/{}_grad/MatMul", writer.name()),
        _ => writer.name(),
    };

    let mut args = writer.padding();
    if lacking != 1 {
        args.push(("name", writer.string(&name)));
    }
    if lacking != 2 {
        args.push(("op", "\"MatMul\"".to_owned()));
    }
    for key in ["input0", "input1"] {
        if writer.random.once_in(2) {
            let input = writer.name() + writer.random.pick(&["", ":0", ":17"]);
            args.push((key, writer.string(&input)));
        }
    }
    let args = writer.object(args);
    let mut members = vec![
        ("ph", "\"X\"".to_owned()),
        ("cat", "\"Op\"".to_owned()),
        ("name", "\"MatMul\"".to_owned()),
        ("pid", writer.whole(process as i64)),
        ("tid", writer.whole(lane as i64)),
        ("args", args),
    ];
    if lacking != 3 {
        members.push(("ts", writer.micros(start)));
    }
    if lacking != 4 {
        let duration = if lacking == 5 { -1 - duration } else { duration };
        members.push(("dur", writer.micros(duration)));
    }
    let is_read = !matches!(lacking, 1 | 3 | 4 | 5);
    let counted = device.filter(|_| is_read).map(|device| (device.to_owned(), "Op".to_owned()));
    let run = counted.clone().filter(|_| name != "_SOURCE").map(|(device, _)| Expected {
        device,
        start_ns: start,
        end_ns: start + duration,
        name,
        lane: lane.to_string(),
    });
    (writer.object(members), counted, run)
}
