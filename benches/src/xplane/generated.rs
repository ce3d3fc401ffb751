//! An XPlane file like what the TensorFlow profiler writes, only longer: executor threads whose events carry a name by
//! number, a start, a duration and three stats.

use super::message::Message;
use crate::random::Random;

/// The executor's threads.
const THREADS: u64 = 16;
/// How many bytes an event takes, about.
const EVENT_BYTES: u64 = 36;
/// How many distinct operations there are; half as many other things happen, as in recorded files.
const OPERATIONS: u64 = 1200;

/// How much a file holds.
pub struct Written {
    /// All events.
    pub events: u64,
    /// Those that are operations.
    pub operations: u64,
}

/// The content of a file of about so many bytes.
pub fn space(bytes: u64) -> (Vec<u8>, Written) {
    let mut random = Random::new(17);
    let mut written = Written { events: 0, operations: 0 };
    let mut plane = Message::default();
    plane.text(2, b"/host:CPU");
    for thread in 0..THREADS {
        plane.message(3, &line(thread, bytes / THREADS / EVENT_BYTES, &mut random, &mut written));
    }
    for id in 1..=OPERATIONS {
        let kind = ["MatMul", "BiasAdd", "Mul", "AddV2"][id as usize % 4];
        let name = format!("minibert/layer_{}/dense_{}/{kind}_{id}:{kind}", id % 12, id % 7);
        plane.message(4, &named(id, &name, Some(kind)));
    }
    for id in OPERATIONS + 1..=OPERATIONS + OPERATIONS / 2 {
        plane.message(4, &named(id, &format!("ExecutorState::Process {id}"), None));
    }
    for (id, name) in [(1, "id"), (2, "iter_num"), (3, "group_id")] {
        plane.message(5, &named(id, name, None));
    }
    let mut task = Message::default();
    task.text(2, b"Task Environment");
    task.message(5, &named(1, "profile_start_time", None));
    let mut start = Message::default();
    start.integer(1, 1);
    start.integer(3, 1_794_771_247_513_534_451);
    task.message(6, &start);
    let mut space = Message::default();
    space.message(1, &plane);
    space.message(1, &task);
    (space.0, written)
}

fn line(thread: u64, events: u64, random: &mut Random, written: &mut Written) -> Message {
    let mut line = Message::default();
    line.integer(1, 4_000_000 + thread);
    line.text(2, format!("tf_Compute/{thread}").as_bytes());
    line.integer(3, 12_669);
    let mut at = 0;
    for number in 0..events {
        // Two of three events are operations.
        let id = if number % 3 < 2 {
            1 + random.below(OPERATIONS)
        } else {
            OPERATIONS + 1 + random.below(OPERATIONS / 2)
        };
        written.events += 1;
        written.operations += u64::from(id <= OPERATIONS);
        let duration = 1000 * (1 + random.below(40_000));
        let mut event = Message::default();
        event.integer(1, id);
        event.integer(2, at);
        event.integer(3, duration);
        for stat in 1..=3 {
            let mut value = Message::default();
            value.integer(1, stat);
            value.integer(4, random.below(if stat == 1 { 1 << 40 } else { 100 }));
            event.message(4, &value);
        }
        line.message(4, &event);
        at += duration + 1000 * random.below(2000);
    }
    line
}

/// An entry of a map from numbers to names.
fn named(id: u64, name: &str, display: Option<&str>) -> Message {
    let mut value = Message::default();
    value.integer(1, id);
    value.text(2, name.as_bytes());
    if let Some(display) = display {
        value.text(4, display.as_bytes());
    }
    let mut entry = Message::default();
    entry.integer(1, id);
    entry.message(2, &value);
    entry
}
