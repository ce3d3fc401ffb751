//! Which devices serve an operation: a framework says that it ran on the processor, and its memory and every socket of the
//! machine worked for it.

use rustc_hash::FxHashMap;

use jouletree_model::{Device, DeviceClass, DeviceTable};

/// Which devices of a trace serve which.
#[derive(Debug, Clone)]
pub(crate) struct Hosting<'a> {
    /// The processor of each machine that has but one in the trace: that is how frameworks call all its sockets together.
    hosts: FxHashMap<&'a str, Option<usize>>,
    /// The devices that have operations of their own.
    traced: &'a DeviceTable,
}

impl<'a> Hosting<'a> {
    pub(crate) fn of(traced: &'a DeviceTable) -> Hosting<'a> {
        let mut hosts = FxHashMap::default();
        for (number, device) in traced.iter().enumerate().filter(|(_, device)| device.class() == DeviceClass::Cpu)
        {
            hosts.entry(device.host()).and_modify(|alone| *alone = None).or_insert(Some(number));
        }
        Hosting { hosts, traced }
    }

    /// The device of the trace whose operations are charged with the energy of `device`.
    pub(crate) fn served_by(&self, device: &Device) -> Option<usize> {
        self.traced.number_of(device).or_else(|| match device.class() {
            DeviceClass::Cpu | DeviceClass::Dram => *self.hosts.get(device.host())?,
            DeviceClass::Gpu | DeviceClass::Machine => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_and_memory_serve_the_processor_of_a_framework() {
        let device = |text: &str| text.parse::<Device>().unwrap();
        let traced = ["a/cpu:0", "a/gpu:0", "b/cpu:0", "b/cpu:1"].map(device);
        let traced = traced.iter().collect();
        let hosting = Hosting::of(&traced);
        let serves = |one: &str, other: &str| hosting.served_by(&device(one)) == traced.number_of(&device(other));
        assert!(serves("a/cpu:0", "a/cpu:0") && serves("a/cpu:1", "a/cpu:0") && serves("a/dram:1", "a/cpu:0"));
        assert!(serves("a/gpu:0", "a/gpu:0") && !serves("a/gpu:1", "a/gpu:0") && !serves("a/dram:0", "a/gpu:0"));
        // A trace that distinguishes sockets is believed.
        assert!(!serves("b/cpu:1", "b/cpu:0") && !serves("b/dram:0", "b/cpu:0") && !serves("a/dram:0", "b/cpu:0"));
        assert!(!serves("a/machine:0", "a/cpu:0"));
    }
}
