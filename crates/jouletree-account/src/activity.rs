//! What ran, without regard to power: how often each operation ran and for how long it was the active one.

use jouletree_model::{Event, Nanos, OpId, TimeRange, Trace};
use rustc_hash::FxHashMap;

use crate::self_time::SelfTime;

/// How many segments are cut at a time.
const CHUNK: usize = 4096;

/// What one operation did on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    /// The index of the device in its trace.
    pub device: usize,
    /// The operation.
    pub op: OpId,
    /// How often it began.
    pub count: u64,
    /// How long it was the active operation of a lane.
    pub self_time: Nanos,
}

/// What every operation did on every device, the longest first.
pub fn activity(trace: &Trace) -> Vec<Activity> {
    let mut sums: FxHashMap<(usize, OpId), (u64, Nanos)> = FxHashMap::default();
    let mut segments: Vec<Event> = Vec::new();
    for lane in &trace.lanes {
        for event in lane.events() {
            sums.entry((lane.device(), event.op)).or_default().0 += 1;
        }
        let mut cutter = SelfTime::new(lane, TimeRange::ALL);
        loop {
            segments.clear();
            let taken = cutter.cut(CHUNK, &mut segments);
            for segment in &segments {
                sums.entry((lane.device(), segment.op)).or_default().1 += segment.duration();
            }
            if taken.is_empty() && segments.is_empty() {
                break;
            }
        }
    }
    let mut activity: Vec<Activity> = sums
        .into_iter()
        .map(|((device, op), (count, self_time))| Activity { device, op, count, self_time })
        .collect();
    activity.sort_unstable_by_key(|activity| (-activity.self_time.0, activity.device, activity.op));
    activity
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{Device, DeviceClass, Lane, Step};

    #[test]
    fn time_belongs_to_the_innermost_event() {
        let event =
            |start, end, op| Event { start: Nanos(start), end: Nanos(end), op: OpId(op), step: Step::NONE };
        let mut trace = Trace::default();
        let cpu = trace.device_index(&Device::new(DeviceClass::Cpu, 0));
        trace.lanes = vec![
            Lane::new(cpu, "a", vec![event(0, 100, 0), event(10, 30, 1), event(40, 40, 2)]),
            Lane::new(cpu, "b", vec![event(0, 50, 1)]),
        ];
        let found: Vec<(u32, u64, i64)> =
            activity(&trace).iter().map(|found| (found.op.0, found.count, found.self_time.0)).collect();
        assert_eq!(found, [(0, 1, 80), (1, 2, 70), (2, 1, 0)]);
    }
}
