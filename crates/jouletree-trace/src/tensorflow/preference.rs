//! Which file to use where several have the same step.

use std::collections::BTreeMap;

use jouletree_model::{Step, TimeRange, Trace};

/// Leaves out TensorFlow timelines whose steps the run metadata of another of these traces holds too: it says the same
/// and more, and no step must be counted twice. A step is the same when it has the same number, as far as both have
/// one, and ran at the same time on the same devices.
pub fn prefer_run_metadata(traces: Vec<Trace>) -> Vec<Trace> {
    let is_of = |trace: &Trace, formats: &[&str]| {
        let mut sources = trace.sources.iter();
        !trace.sources.is_empty() && sources.all(|source| formats.contains(&source.format.as_str()))
    };
    let metadata = traces.iter().filter(|trace| is_of(trace, &["tensorflow-run-metadata", "tensorflow-events"]));
    let preferred: Vec<Held> = metadata.map(Held::by).collect();
    let mut kept = traces;
    kept.retain(|trace| {
        let repeats = is_of(trace, &["tensorflow-timeline"]) && {
            let held = Held::by(trace);
            preferred.iter().any(|preferred| preferred.has(&held))
        };
        !repeats
    });
    kept
}

/// The devices and the steps of a trace.
struct Held {
    devices: Vec<String>,
    steps: BTreeMap<Step, TimeRange>,
}

impl Held {
    fn by(trace: &Trace) -> Held {
        let mut steps: BTreeMap<Step, TimeRange> = BTreeMap::new();
        for event in trace.lanes.iter().flat_map(|lane| lane.events()) {
            let ran = TimeRange { start: event.start, end: event.end };
            steps.entry(event.step).and_modify(|range| *range = range.union(ran)).or_insert(ran);
        }
        Held { devices: trace.devices.iter().map(ToString::to_string).collect(), steps }
    }

    fn has(&self, other: &Held) -> bool {
        let is_same = |(step, ran): (&Step, &TimeRange)| {
            self.steps.iter().any(|(own, range)| {
                let may_be = own == step || *own == Step::NONE || *step == Step::NONE;
                may_be && ran.start <= range.end && range.start <= ran.end
            })
        };
        other.devices.iter().all(|device| self.devices.contains(device)) && other.steps.iter().all(is_same)
    }
}
