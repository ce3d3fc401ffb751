//! The devices of TensorFlow: what one calls itself, and what the events listed under it are.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use jouletree_model::{Device, DeviceClass};

/// What the events listed under one name of a device are.
pub(super) enum Listed {
    /// Operations on a device.
    Operations(Device),
    /// What the list `stream:all` of the device shows as well.
    Repeated(Device),
}

/// What is listed under each of `names`; names that are no device's are left out.
pub(super) fn listed(names: &FxHashMap<u32, String>) -> FxHashMap<u32, Listed> {
    let placed: Vec<(u32, Placement)> =
        names.iter().filter_map(|(id, name)| Some((*id, Placement::of(name)?))).collect();
    let all_streams: BTreeSet<Device> = placed
        .iter()
        .filter(|(_, placement)| placement.all_streams)
        .map(|(_, placement)| placement.device.clone())
        .collect();
    let listed = |placement: Placement| {
        if placement.one_stream && all_streams.contains(&placement.device) {
            Listed::Repeated(placement.device)
        } else {
            Listed::Operations(placement.device)
        }
    };
    placed.into_iter().map(|(id, placement)| (id, listed(placement))).collect()
}

/// Whether the list is that of a GPU's tracer: kernels and copies, not operations of the graph.
pub(super) fn lists_kernels(name: &str) -> bool {
    name.contains("/stream:") || name.contains("/memcpy")
}

/// Where the events of a list happened.
struct Placement {
    device: Device,
    all_streams: bool,
    one_stream: bool,
}

impl Placement {
    /// Understands `/job:localhost/replica:0/task:0/device:CPU:0`, `/device:GPU:0/stream:all`, `/gpu:0/memcpy`. What
    /// a job schedules on a GPU happens on the host.
    fn of(name: &str) -> Option<Placement> {
        let name = name.to_ascii_lowercase();
        let part = |key: &str| name.split('/').find_map(|part| part.strip_prefix(key));
        let index = |text: &str| text.parse::<u32>().ok();
        let gpu = name.find("gpu:").and_then(|at| index(name[at + 4..].split(['/', ' ']).next()?));
        let stream = part("stream:");
        let on_gpu = stream.is_some() || name.contains("memcpy") || part("job:").is_none();
        let device = match gpu {
            Some(index) if on_gpu => Device::new(DeviceClass::Gpu, index),
            Some(_) => Device::new(DeviceClass::Cpu, 0),
            None => {
                let at = name.find("cpu")?;
                let number = name[at + 3..].trim_start_matches(':').split('/').next().and_then(index);
                Device::new(DeviceClass::Cpu, number.unwrap_or(0))
            }
        };
        let device = match part("job:") {
            None | Some("localhost") => device,
            Some(job) => device.on(&format!("{job}-{}", part("task:").unwrap_or("0"))),
        };
        Some(Placement {
            device,
            all_streams: stream == Some("all"),
            one_stream: stream.is_some_and(|stream| stream != "all"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_device() {
        for (name, device) in [
            ("/job:localhost/replica:0/task:0/device:CPU:0", Some("host/cpu:0")),
            ("/job:localhost/replica:0/task:0/device:GPU:1", Some("host/cpu:0")),
            ("/device:GPU:1/stream:all", Some("host/gpu:1")),
            ("/device:GPU:0/memcpy", Some("host/gpu:0")),
            ("/gpu:0", Some("host/gpu:0")),
            ("/host:CPU", Some("host/cpu:0")),
            ("/job:worker/replica:0/task:3/device:CPU:0", Some("worker-3/cpu:0")),
            ("Allocators", None),
        ] {
            let placed = Placement::of(name).map(|placement| placement.device.to_string());
            assert_eq!(placed.as_deref(), device, "{name}");
        }
    }

    #[test]
    fn a_stream_is_repeated_only_where_all_streams_are_listed() {
        let names = |names: &[&str]| -> FxHashMap<u32, String> {
            names.iter().enumerate().map(|(id, name)| (id as u32, (*name).to_owned())).collect()
        };
        let repeated = |found: &FxHashMap<u32, Listed>, id| matches!(found.get(&id), Some(Listed::Repeated(_)));
        let both =
            listed(&names(&["/device:GPU:0/stream:all", "/device:GPU:0/stream:7", "/device:GPU:1/stream:7"]));
        assert_eq!([0, 1, 2].map(|id| repeated(&both, id)), [false, true, false]);
    }
}
