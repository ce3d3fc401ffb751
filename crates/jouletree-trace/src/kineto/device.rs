//! Kernels and copies, joined to what launched them.
//!
//! The join goes by correlation to the launching call and from there to the operator around it. `External id` is of
//! no use: in traces of 2022 and 2023 it only repeats the correlation.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use jouletree_model::{Device, DeviceClass, Event, Lane, Pass, Trace, Warning};

use super::contents::{GpuEvent, GpuSort, KinetoContents};
use super::scopes::{Detail, Scopes};
use super::walk::{Launch, Steps};

/// Puts the lanes of the GPUs into `trace`, one for each stream.
pub(super) fn lanes_of(
    recording: &KinetoContents,
    launches: &FxHashMap<i64, Launch>,
    mut scopes: Scopes,
    steps: &Steps,
    rank: &str,
    trace: &mut Trace,
) {
    let collectives = scopes.at("collectives");
    let unlaunched = scopes.at("unlaunched");
    let mut lost = 0;
    let mut streams: IndexMap<(u32, u32), Vec<Event>> = IndexMap::new();
    for event in &recording.gpu {
        let launch = event.correlation.and_then(|correlation| launches.get(&correlation)).copied();
        let is_collective = event.sort == GpuSort::Kernel && is_collective(recording, event);
        let place = |scope, launched| (scope, Detail::Device { name: event.name, launched });
        let (name, (scope, detail)) = match launch {
            _ if is_collective => (event.name, place(collectives, false)),
            Some(Launch { scope, operator: Some(operator), .. }) if recording.kernels_below_operators => {
                (event.name, place(scopes.inside(scope, operator, &recording.names), false))
            }
            Some(Launch { scope, operator: Some(operator), .. }) => (operator, place(scope, true)),
            Some(Launch { scope, operator: None, .. }) => (event.name, place(scope, false)),
            None => {
                lost += 1;
                (event.name, place(unlaunched, false))
            }
        };
        let pass = launch.map_or(Pass::Forward, |launch| launch.pass);
        let op = scopes.op((scope, name, detail, pass), &recording.names, &mut trace.ops);
        let step = launch.map_or_else(|| steps.at(event.start), |launch| launch.step);
        let stream = streams.entry((event.device, event.stream)).or_default();
        stream.push(Event { start: event.start, end: event.end, op, step });
    }
    for ((device, stream), events) in streams {
        let device = trace.device_index(&Device::new(DeviceClass::Gpu, device));
        let stream = recording.names.get(stream);
        let stream = stream.strip_prefix("stream ").unwrap_or(&stream);
        trace.lanes.push(Lane::new(device, format!("{rank}stream {stream}"), events));
    }
    if lost > 0 {
        let message = format!(
            "{lost} of {} events on GPUs have lost their launch and are gathered under `unlaunched`",
            recording.gpu.len()
        );
        trace.warnings.push(Warning::new(&recording.file, message));
    }
}

fn is_collective(recording: &KinetoContents, event: &GpuEvent) -> bool {
    let name = recording.names.get(event.name);
    ["nccl", "rccl"].iter().any(|library| name.starts_with(library))
}
