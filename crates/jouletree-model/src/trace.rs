//! A trace: everything a framework recorded about what ran when.

use serde::{Deserialize, Serialize};

use crate::{
    Census, Device, DeviceTable, Lane, Marker, ModelTree, OpId, OpTable, Program, TimeBase, TimeRange, Warning,
};

/// What ran when, on which devices: the events of one or more trace files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// The files it came from.
    pub sources: Vec<TraceSource>,
    /// The devices that lanes refer to by index.
    pub devices: DeviceTable,
    /// The operations that events refer to by number.
    pub ops: OpTable,
    /// Threads and streams with their events.
    pub lanes: Vec<Lane>,
    /// The model, as far as the trace or a file beside it has it.
    pub model: ModelTree,
    /// What the program reported about itself.
    pub program: Program,
    /// Everything the files hold, when that was asked for.
    pub census: Census,
    /// What was wrong with the input.
    pub warnings: Vec<Warning>,
}

/// One trace file as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSource {
    /// Its path as the user gave it.
    pub file: String,
    /// Its format, such as `tensorflow-timeline`.
    pub format: String,
    /// The machine it was recorded on, if it says.
    #[serde(default)]
    pub host: Option<String>,
    /// What its times count from.
    #[serde(default)]
    pub time_base: TimeBase,
    /// Its events that carry the time of day at which they were written.
    #[serde(default)]
    pub markers: Vec<Marker>,
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
        self.devices.intern(device)
    }

    /// From the first start to the last end over all lanes; `None` when there is no event.
    pub fn extent(&self) -> Option<TimeRange> {
        self.lanes.iter().filter_map(Lane::extent).reduce(TimeRange::union)
    }

    /// How many events the trace holds.
    pub fn event_count(&self) -> usize {
        self.lanes.iter().map(|lane| lane.events().len()).sum()
    }

    /// The same trace with the machine named on every device that does not say on which it sits.
    pub fn on(mut self, host: &str) -> Trace {
        let named = |device: Device| if device.is_on_unnamed_host() { device.on(host) } else { device };
        let mut devices = DeviceTable::default();
        let numbers: Vec<usize> =
            self.devices.iter().map(|device| devices.intern(&named(device.clone()))).collect();
        // A device may be there twice, with the machine's name and without: it gets one number.
        if devices.len() < numbers.len() {
            let renumbered = |lane: Lane| {
                let device = numbers.get(lane.device()).copied().unwrap_or(lane.device());
                lane.renumbered(device, &[])
            };
            self.lanes = self.lanes.into_iter().map(renumbered).collect();
        }
        self.devices = devices;
        self.census = self.census.renamed(named);
        for count in self.sources.iter_mut().flat_map(|source| &mut source.counts) {
            count.device = named(count.device.clone());
        }
        self
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
        self.model.merge(other.model);
        self.program.merge(other.program);
        self.census.merge(other.census);
        self.sources.extend(other.sources);
        self.warnings.extend(other.warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceClass, Event, Facts, Nanos, Op, Pass, Step};

    fn trace(device: u32, paths: [&str; 2]) -> Trace {
        let mut trace = Trace::default();
        let device = trace.device_index(&Device::new(DeviceClass::Gpu, device));
        let ops = paths.map(|path| Op::new(path, "t", path, Pass::Forward));
        let [from, to] = ops.clone().map(|op| trace.model.insert(op, Facts::default()));
        trace.model.connect(from, to);
        let ids = ops.map(|op| trace.ops.intern(op));
        let event = |op| Event { start: Nanos(1), end: Nanos(2), op, step: Step::NONE };
        trace.lanes.push(Lane::new(device, "stream 7", ids.map(event).to_vec()));
        trace
    }

    #[test]
    fn naming_the_machine_leaves_named_devices_alone() {
        let mut trace = trace(0, ["a", "b"]);
        trace.device_index(&Device::new(DeviceClass::Cpu, 0).on("worker-1"));
        let names: Vec<String> = trace.on("n7").devices.iter().map(Device::to_string).collect();
        assert_eq!(names, ["n7/gpu:0", "worker-1/cpu:0"]);
    }

    #[test]
    fn a_device_that_is_named_in_one_place_only_becomes_one() {
        let mut both = trace(0, ["a", "b"]);
        both.device_index(&Device::new(DeviceClass::Cpu, 0));
        both.merge(trace(0, ["a", "b"]).on("n7"));
        let devices: Vec<usize> = both.lanes.iter().map(Lane::device).collect();
        assert_eq!(devices, [0, 2]);
        let named = both.on("n7");
        let names: Vec<String> = named.devices.iter().map(Device::to_string).collect();
        assert_eq!(names, ["n7/gpu:0", "n7/cpu:0"]);
        assert!(named.lanes.iter().all(|lane| lane.device() == 0));
        assert_eq!(named.lanes[1].events()[1].op, OpId(1));
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
        assert_eq!(all.model.edges().len(), 2);
    }
}
