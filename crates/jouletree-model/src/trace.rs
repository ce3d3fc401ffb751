//! A trace: everything a framework recorded about what ran when.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::{DataFlow, Device, Lane, OpId, OpTable, TimeRange, Warning};

/// What ran when, on which devices: the events of one or more trace files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// The files it came from.
    pub sources: Vec<TraceSource>,
    /// The devices that lanes refer to by index.
    pub devices: Vec<Device>,
    /// The operations that events refer to by number.
    pub ops: OpTable,
    /// Threads and streams with their events.
    pub lanes: Vec<Lane>,
    /// Data flow between operations, where the trace tells it.
    pub edges: Vec<DataFlow>,
    /// What was wrong with the input.
    pub warnings: Vec<Warning>,
}

/// One trace file as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSource {
    /// Its path as the user gave it.
    pub file: String,
    /// Its format, such as `tensorflow-timeline`.
    pub format: String,
    /// How many complete events it holds, by device and category, those that are not accounted included.
    pub counts: Vec<ReadCount>,
}

/// How many events of one category a file holds for one device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReadCount {
    /// The device they ran on.
    pub device: Device,
    /// The framework's category.
    pub category: String,
    /// How many there are.
    pub events: u64,
}

impl Trace {
    /// The index of `device` in this trace, which is added if it is new.
    pub fn device_index(&mut self, device: &Device) -> usize {
        self.devices.iter().position(|known| known == device).unwrap_or_else(|| {
            self.devices.push(device.clone());
            self.devices.len() - 1
        })
    }

    /// From the first start to the last end over all lanes; `None` when there is no event.
    pub fn extent(&self) -> Option<TimeRange> {
        self.lanes.iter().filter_map(Lane::extent).reduce(TimeRange::union)
    }

    /// How many events the trace holds.
    pub fn event_count(&self) -> usize {
        self.lanes.iter().map(|lane| lane.events().len()).sum()
    }

    /// Adds what another file recorded: another rank, another step. Lanes stay apart, operations and devices with
    /// the same name become one.
    pub fn merge(&mut self, other: Trace) {
        let devices: Vec<usize> = other.devices.iter().map(|device| self.device_index(device)).collect();
        let ops: Vec<OpId> = other.ops.iter().map(|(_, op)| self.ops.intern(op.clone())).collect();
        self.lanes.extend(other.lanes.into_iter().map(|lane| {
            let device = devices.get(lane.device()).copied().unwrap_or(lane.device());
            lane.renumbered(device, &ops)
        }));
        let mut known: HashSet<DataFlow> = self.edges.iter().copied().collect();
        for edge in other.edges {
            let (Some(from), Some(to)) = (ops.get(edge.from.index()), ops.get(edge.to.index())) else { continue };
            let edge = DataFlow { from: *from, to: *to };
            if known.insert(edge) {
                self.edges.push(edge);
            }
        }
        self.sources.extend(other.sources);
        self.warnings.extend(other.warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceClass, Event, Nanos, Op, Pass, Step};

    fn trace(device: u32, paths: [&str; 2]) -> Trace {
        let mut trace = Trace::default();
        let device = trace.device_index(&Device::new(DeviceClass::Gpu, device));
        let ids = paths.map(|path| {
            trace.ops.intern(Op { path: path.into(), op_type: "t".into(), name: path.into(), pass: Pass::Forward })
        });
        let event = |op| Event { start: Nanos(1), end: Nanos(2), op, step: Step::NONE };
        trace.lanes.push(Lane::new(device, "stream 7", ids.map(event).to_vec()));
        trace.edges.push(DataFlow { from: ids[0], to: ids[1] });
        trace
    }

    #[test]
    fn merging_ranks_joins_operations_and_keeps_lanes_apart() {
        let mut all = trace(0, ["a", "b"]);
        all.merge(trace(1, ["b", "c"]));
        all.merge(trace(1, ["b", "c"]));
        assert_eq!(all.devices.len(), 2);
        assert_eq!(all.lanes.len(), 3);
        assert_eq!(all.ops.len(), 3);
        let ops: Vec<u32> = all.lanes[2].events().iter().map(|event| event.op.0).collect();
        assert_eq!((all.lanes[2].device(), ops), (1, vec![1, 2]));
        assert_eq!(all.edges.len(), 2);
    }
}
