//! Several trace files of one run as one trace: ranks, steps, hosts.

use std::collections::BTreeSet;

use jouletree_model::{ModelTree, TimeBase, Trace, Warning};

use crate::tensorflow::prefer_run_metadata;

/// Puts traces together on epoch time; of two with the same step of TensorFlow the one with more details is used. Machines are named on their devices when there are several of them; with one,
/// a power file need not name it either.
pub fn merge_traces(traces: Vec<Trace>) -> Trace {
    let traces = prefer_run_metadata(traces);
    let hosts: BTreeSet<String> = traces.iter().filter_map(host).map(str::to_owned).collect();
    let mut merged = Trace::default();
    for trace in traces {
        let host = host(&trace).map(str::to_owned);
        merged.merge(match host {
            Some(host) if hosts.len() > 1 => trace.on(&host),
            _ => trace,
        });
    }
    warn_about_mixed_times(&mut merged);
    merged
}

/// The machine that all the files of a trace were recorded on, if they say.
fn host(trace: &Trace) -> Option<&str> {
    trace.sources.iter().find_map(|source| source.host.as_deref())
}

/// Where all times are relative, their alignment with power says so; beside others they are lost silently.
fn warn_about_mixed_times(trace: &mut Trace) {
    if !trace.sources.iter().any(|source| source.time_base.is_epoch()) {
        return;
    }
    for source in trace.sources.iter().filter(|source| source.time_base == TimeBase::Relative) {
        let message = "its times count from an unknown instant and do not meet those of the other files: write the \
                       time of day in nanoseconds at which they begin to a NAME.meta.json beside it, as \
                       {\"start_ns\": …}";
        trace.warnings.push(Warning::new(&source.file, message));
    }
}

/// One trace of several that were read with the help of a model.
pub fn merge_with_model(traces: Vec<Trace>, model: ModelTree) -> Trace {
    let mut trace = merge_traces(traces);
    // A reader that used the model has drawn the flow between what ran; twice would count double.
    if trace.model.edges().len() == 0 {
        trace.model.merge(model);
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{BaseOrigin, Device, DeviceClass, Nanos, TraceSource};

    fn trace(host: Option<&str>) -> Trace {
        let mut trace = Trace::default();
        trace.device_index(&Device::new(DeviceClass::Gpu, 0));
        trace.sources = vec![TraceSource { host: host.map(str::to_owned), ..TraceSource::default() }];
        trace
    }

    fn devices(trace: &Trace) -> Vec<String> {
        trace.devices.iter().map(Device::to_string).collect()
    }

    #[test]
    fn machines_are_named_when_there_are_several() {
        let one = merge_traces(vec![trace(Some("n1")), trace(Some("n1")), trace(None)]);
        assert_eq!(devices(&one), ["host/gpu:0"]);
        let two = merge_traces(vec![trace(Some("n1")), trace(Some("n2")), trace(Some("n1"))]);
        assert_eq!(devices(&two), ["n1/gpu:0", "n2/gpu:0"]);
    }

    #[test]
    fn relative_times_among_others_are_told_with_a_remedy() {
        assert_eq!(merge_traces(vec![trace(None), trace(None)]).warnings, []);
        let mut epoch = trace(None);
        epoch.sources[0].time_base =
            TimeBase::Epoch { base: Nanos(0), origin: BaseOrigin::File, within: Nanos(0) };
        let merged = merge_traces(vec![trace(None), epoch]);
        assert!(merged.warnings[0].message.contains("start_ns"), "{:?}", merged.warnings);
    }
}
