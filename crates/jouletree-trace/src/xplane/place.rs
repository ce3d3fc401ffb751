//! Planes and lines: on which device they ran, and which of them repeat the same time.

use jouletree_model::{Device, DeviceClass};

/// What the lines of a plane are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlaneKind {
    /// Threads of the host.
    Host,
    /// Streams or cores of a device.
    Device(Device),
}

impl PlaneKind {
    /// Understands `/host:CPU`, `/device:GPU:1`, `/device:TPU:0`, `/device:CUSTOM:Name:2`. Whatever is no device is
    /// the host's.
    pub(super) fn of(name: &str) -> PlaneKind {
        let Some(device) = name.find("/device:").map(|at| &name[at + "/device:".len()..]) else {
            return PlaneKind::Host;
        };
        let (class, rest) = device.split_once(':').unwrap_or((device, ""));
        let number = rest.split([':', ' ', '/']).find_map(|part| part.parse().ok()).unwrap_or(0);
        let class = if class.eq_ignore_ascii_case("cpu") { DeviceClass::Cpu } else { DeviceClass::Gpu };
        PlaneKind::Device(Device::new(class, number))
    }
}

/// The lines that a profiler derives from a device's streams: the same time again, by step, by module, by scope.
const DERIVED: [&str; 10] = [
    "Steps",
    "XLA Modules",
    "XLA Ops",
    "Async XLA Ops",
    "XLA TraceMe",
    "TensorFlow Ops",
    "TensorFlow Name Scope",
    "Framework Ops",
    "Framework Name Scope",
    "Source code",
];

/// Which lines of a device count. Where it has streams, those; else its operations, as on a TPU; else every line that
/// is not known to be derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Streams,
    XlaOps,
    Others,
}

impl Counted {
    pub(super) fn among<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Counted {
        if lines.clone().any(is_stream) {
            Counted::Streams
        } else if lines.clone().any(|line| line == "XLA Ops") {
            Counted::XlaOps
        } else {
            Counted::Others
        }
    }

    pub(super) fn includes(self, line: &str) -> bool {
        match self {
            Counted::Streams => is_stream(line),
            Counted::XlaOps => line == "XLA Ops",
            Counted::Others => !DERIVED.contains(&line),
        }
    }
}

fn is_stream(line: &str) -> bool {
    line.starts_with("Stream #") || line.starts_with("stream ")
}

/// The category of a device's line in a census: all streams are one.
pub(super) fn category(line: &str) -> &str {
    if is_stream(line) { "Stream" } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_name_their_device() {
        for (plane, device) in [
            ("/host:CPU", "the host"),
            ("/host:metadata", "the host"),
            ("/device:GPU:3", "host/gpu:3"),
            ("/device:TPU:1", "host/gpu:1"),
            ("/device:TPU:1 SparseCore 0", "host/gpu:1"),
            ("/device:CUSTOM:Neuron:2", "host/gpu:2"),
            ("/device:CPU:1", "host/cpu:1"),
            ("/device:", "host/gpu:0"),
        ] {
            let found = match PlaneKind::of(plane) {
                PlaneKind::Host => "the host".to_owned(),
                PlaneKind::Device(device) => device.to_string(),
            };
            assert_eq!(found, device, "{plane}");
        }
    }

    #[test]
    fn derived_lines_do_not_count_beside_streams() {
        let gpu = ["Steps", "XLA Ops", "Stream #13(Compute,MemcpyD2D)", "XLA Modules"];
        let counted = Counted::among(gpu.into_iter());
        assert_eq!(gpu.map(|line| counted.includes(line)), [false, false, true, false]);
        let tpu = ["Steps", "XLA Ops", "XLA Modules"];
        let counted = Counted::among(tpu.into_iter());
        assert_eq!(tpu.map(|line| counted.includes(line)), [false, true, false]);
        let other = ["Steps", "Queue 1"];
        let counted = Counted::among(other.into_iter());
        assert_eq!(other.map(|line| counted.includes(line)), [false, true]);
    }
}
