//! A census of trace files: how much of what they hold, accounted or not.

use std::collections::BTreeMap;

use crate::{Device, Event, Nanos, Pass, TimeRange, Trace};

/// Everything that trace files hold, by device and category. It is taken only when it is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Census {
    spans: BTreeMap<(Device, String), Vec<Span>>,
}

/// The extent of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// Whether it is the run of an operation, as opposed to a range around some, a call of the runtime and the like.
    pub is_operation: bool,
}

/// How many events there are and how long they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holding {
    /// How many there are.
    pub events: u64,
    /// Their durations, summed; nested events count as often as they nest.
    pub duration: Nanos,
    /// How long at least one of them ran.
    pub busy: Nanos,
}

impl Census {
    /// The census of a trace whose files are gone: its operations by pass.
    pub fn of_operations(trace: &Trace) -> Census {
        let mut census = Census::default();
        for lane in &trace.lanes {
            let Some(device) = trace.devices.get(lane.device()) else { continue };
            for pass in Pass::ALL {
                let is_of_pass = |event: &&Event| trace.ops.get(event.op).is_some_and(|op| op.pass == pass);
                let mut events = lane.events().iter().filter(is_of_pass).peekable();
                if events.peek().is_some() {
                    let span = |event: &Event| Span { start: event.start, end: event.end, is_operation: true };
                    census.add(device, pass.as_str(), events.map(span));
                }
            }
        }
        census
    }

    /// Adds events of one category of a device.
    pub fn add(&mut self, device: &Device, category: &str, spans: impl IntoIterator<Item = Span>) {
        self.spans.entry((device.clone(), category.to_owned())).or_default().extend(spans);
    }

    /// Adds what other files hold.
    pub fn merge(&mut self, other: Census) {
        for (key, spans) in other.spans {
            self.spans.entry(key).or_default().extend(spans);
        }
    }

    /// The same with other names of devices.
    pub fn renamed(self, name: impl Fn(Device) -> Device) -> Census {
        let mut census = Census::default();
        for ((device, category), spans) in self.spans {
            census.spans.entry((name(device), category)).or_default().extend(spans);
        }
        census
    }

    /// The events of each category of each device, in no particular order.
    pub fn spans(&self) -> impl Iterator<Item = (&Device, &str, &[Span])> {
        self.spans.iter().map(|((device, category), spans)| (device, category.as_str(), spans.as_slice()))
    }

    /// From the first start to the last end; `None` when there is nothing.
    pub fn extent(&self) -> Option<TimeRange> {
        let spans = self.spans.values().flatten();
        spans.map(|span| TimeRange { start: span.start, end: span.end }).reduce(TimeRange::union)
    }

    /// What each category of each device holds.
    pub fn categories(&self) -> impl Iterator<Item = (&Device, &str, Holding)> {
        self.spans.iter().map(|((device, category), spans)| (device, category.as_str(), holding(spans.clone())))
    }

    /// The operations of each device.
    pub fn operations(&self) -> BTreeMap<&Device, Holding> {
        let mut operations: BTreeMap<&Device, Vec<Span>> = BTreeMap::new();
        for ((device, _), spans) in &self.spans {
            let of_device = operations.entry(device).or_default();
            of_device.extend(spans.iter().filter(|span| span.is_operation));
        }
        operations.into_iter().map(|(device, spans)| (device, holding(spans))).collect()
    }
}

fn holding(mut spans: Vec<Span>) -> Holding {
    spans.sort_unstable_by_key(|span| span.start);
    let mut holding = Holding { events: spans.len() as u64, ..Holding::default() };
    let mut reached = Nanos::MIN;
    for span in spans {
        holding.duration += span.end - span.start;
        if span.end > reached {
            holding.busy += span.end - span.start.max(reached);
            reached = span.end;
        }
    }
    holding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceClass;

    #[test]
    fn durations_add_up_and_busy_time_is_a_union() {
        let span = |start, end, is_operation| Span { start: Nanos(start), end: Nanos(end), is_operation };
        let gpu = Device::new(DeviceClass::Gpu, 0);
        let mut census = Census::default();
        census.add(&gpu, "kernel", [span(10, 20, true), span(0, 12, true), span(11, 13, false)]);
        census.add(&gpu, "memcpy", [span(30, 31, true)]);
        assert_eq!(census.extent(), Some(TimeRange { start: Nanos(0), end: Nanos(31) }));
        let kernels = Holding { events: 3, duration: Nanos(24), busy: Nanos(20) };
        assert_eq!(census.categories().next(), Some((&gpu, "kernel", kernels)));
        let operations = Holding { events: 3, duration: Nanos(23), busy: Nanos(21) };
        assert_eq!(census.operations(), BTreeMap::from([(&gpu, operations)]));
    }
}
