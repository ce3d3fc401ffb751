//! Which devices serve an operation: a framework says that it ran on the processor, and its memory and every socket of the
//! machine worked for it.

use jouletree_model::{Device, DeviceClass};

/// Which devices of a trace serve which.
#[derive(Debug, Clone)]
pub(crate) struct Hosting {
    /// The processor of each machine that has but one in the trace: that is how frameworks call all its sockets together.
    hosts: Vec<Device>,
    /// The devices that have operations of their own.
    traced: Vec<Device>,
}

impl Hosting {
    pub(crate) fn of(traced: &[Device]) -> Hosting {
        let processors: Vec<&Device> = traced.iter().filter(|device| device.class() == DeviceClass::Cpu).collect();
        let is_alone =
            |device: &&&Device| processors.iter().filter(|other| other.host() == device.host()).count() == 1;
        let hosts = processors.iter().filter(is_alone).map(|device| (*device).clone()).collect();
        Hosting { hosts, traced: traced.to_vec() }
    }

    /// Whether what runs on `running` is charged with the energy of `device`.
    pub(crate) fn serves(&self, device: &Device, running: &Device) -> bool {
        if device == running {
            return true;
        }
        let is_part =
            matches!(device.class(), DeviceClass::Cpu | DeviceClass::Dram) && device.host() == running.host();
        is_part && self.hosts.contains(running) && !self.traced.contains(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_and_memory_serve_the_processor_of_a_framework() {
        let device = |text: &str| text.parse::<Device>().unwrap();
        let hosting = Hosting::of(&["a/cpu:0", "a/gpu:0", "b/cpu:0", "b/cpu:1"].map(device));
        let serves = |one: &str, other: &str| hosting.serves(&device(one), &device(other));
        assert!(serves("a/cpu:0", "a/cpu:0") && serves("a/cpu:1", "a/cpu:0") && serves("a/dram:1", "a/cpu:0"));
        assert!(serves("a/gpu:0", "a/gpu:0") && !serves("a/gpu:1", "a/gpu:0") && !serves("a/dram:0", "a/gpu:0"));
        // A trace that tells sockets apart is believed.
        assert!(!serves("b/cpu:1", "b/cpu:0") && !serves("b/dram:0", "b/cpu:0") && !serves("a/dram:0", "b/cpu:0"));
        assert!(!serves("a/machine:0", "a/cpu:0"));
    }
}
