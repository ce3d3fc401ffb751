//! How far off the energies of a footprint may be: what is known of each device's energy, carried over to what layers and
//! operations used of it.
//!
//! The spread of a device is a common factor of all its energies. What the alignment of a short operation with the ticks of
//! a counter adds is not in it. Errors of several devices are taken to go together, as those of one model do: an interval
//! is rather too wide than too narrow.

use std::collections::BTreeMap;

use jouletree_model::{Device, Interval, Spread};

use crate::Shares;

/// Relative 95 % uncertainty of each device, where it is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spreads(BTreeMap<Device, Spread>);

impl Spreads {
    /// Whether nothing is known of any device.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// By what the energies of a device may be off.
    pub fn get(&self, device: &Device) -> Option<Spread> {
        self.0.get(device).copied()
    }

    /// The interval of an energy that is of several devices; `None` where one of them is not known.
    pub fn interval(&self, devices: &Shares<Device>) -> Option<Interval> {
        let used = devices.iter().filter(|(_, energy)| energy.0 != 0.0);
        let ends = used.map(|(device, energy)| Some(self.get(device)?.around(energy)));
        ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().reduce(Interval::together))
    }

    /// By what an energy that is of several devices may be off.
    pub fn of(&self, devices: &Shares<Device>) -> Option<Spread> {
        Spread::of(devices.total(), self.interval(devices)?)
    }
}

impl FromIterator<(Device, Spread)> for Spreads {
    fn from_iter<I: IntoIterator<Item = (Device, Spread)>>(spreads: I) -> Spreads {
        Spreads(spreads.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use jouletree_model::{DeviceClass, Joules, Pass};

    use super::*;
    use crate::samples::entry;
    use crate::{Tef, TefEntry, t2e};

    fn device(class: DeviceClass) -> Device {
        Device::new(class, 0)
    }

    fn spread(low: f64, high: f64) -> Spread {
        Spread::of(Joules(1.0), Interval { low: Joules(low), high: Joules(high) }).unwrap()
    }

    fn spreads() -> Spreads {
        let known =
            [(device(DeviceClass::Cpu), spread(0.5, 2.0)), (device(DeviceClass::Dram), spread(0.75, 1.25))];
        known.into_iter().collect()
    }

    fn on(class: DeviceClass, path: &str, energy: f64) -> TefEntry {
        TefEntry { device: device(class), ..entry(path, Pass::Forward, energy) }
    }

    #[test]
    fn every_layer_is_as_uncertain_as_its_devices() {
        let tef = Tef::new(vec![
            on(DeviceClass::Cpu, "a/x", 4.0),
            on(DeviceClass::Dram, "a/x", 8.0),
            on(DeviceClass::Cpu, "b", 2.0),
        ]);
        let tree = t2e(&tef, &[]).bounded(&spreads());
        let ends =
            |interval: Option<Interval>| interval.map(|interval| (interval.low.0, interval.high.0)).unwrap();
        assert_eq!(ends(tree.interval), (9.0, 22.0));
        assert_eq!(ends(tree.children[0].interval), (8.0, 18.0));
        assert_eq!(ends(tree.children[0].children[0].interval), (8.0, 18.0));
        assert_eq!(ends(tree.children[1].interval), (1.0, 4.0));
        assert_eq!(spreads().of(&tree.children[1].devices), Some(spread(0.5, 2.0)));
    }

    #[test]
    fn what_one_device_does_not_tell_nobody_knows() {
        let known = on(DeviceClass::Cpu, "a", 4.0);
        let tree = t2e(&Tef::new(vec![known.clone(), on(DeviceClass::Gpu, "b", 1.0)]), &[]).bounded(&spreads());
        assert_eq!(tree.interval, None);
        assert!(tree.children[0].interval.is_some() && tree.children[1].interval.is_none());
        // A device that took part without energy takes nothing away.
        let tree = t2e(&Tef::new(vec![known, on(DeviceClass::Gpu, "b", 0.0)]), &[]).bounded(&spreads());
        assert!(tree.interval.is_some());
        assert_eq!(Spreads::default().interval(&tree.devices), None);
    }
}
