//! The devices of a trace, numbered. Looking one up does not depend on how many there are.

use std::ops::Index;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::Device;

/// Distinct devices, numbered from zero in the order in which they were first seen.
#[derive(Debug, Clone, Default)]
pub struct DeviceTable {
    devices: IndexSet<Device, FxBuildHasher>,
}

impl DeviceTable {
    /// The number of `device`, which is added if it is new.
    pub fn intern(&mut self, device: &Device) -> usize {
        match self.devices.get_index_of(device) {
            Some(number) => number,
            None => self.devices.insert_full(device.clone()).0,
        }
    }

    /// The number of `device`, if the table has it.
    pub fn number_of(&self, device: &Device) -> Option<usize> {
        self.devices.get_index_of(device)
    }

    /// The device with this number, if the table has it.
    pub fn get(&self, number: usize) -> Option<&Device> {
        self.devices.get_index(number)
    }

    /// The devices by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Device> {
        self.devices.iter()
    }

    /// How many devices there are.
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }
}

impl PartialEq for DeviceTable {
    /// Lanes refer to devices by number, so the order counts.
    fn eq(&self, other: &DeviceTable) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Index<usize> for DeviceTable {
    type Output = Device;
    fn index(&self, number: usize) -> &Device {
        &self.devices[number]
    }
}

impl<'a> FromIterator<&'a Device> for DeviceTable {
    fn from_iter<I: IntoIterator<Item = &'a Device>>(devices: I) -> DeviceTable {
        let mut table = DeviceTable::default();
        for device in devices {
            table.intern(device);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceClass;

    #[test]
    fn devices_are_numbered_once_in_the_order_of_their_first_use() {
        let [one, two] = [1, 2].map(|index| Device::new(DeviceClass::Gpu, index));
        let table: DeviceTable = [&two, &one, &two].into_iter().collect();
        assert_eq!(table.iter().collect::<Vec<_>>(), [&two, &one]);
        assert_eq!((table.number_of(&one), table.get(1), &table[0]), (Some(1), Some(&one), &two));
        assert_eq!(table.number_of(&Device::new(DeviceClass::Cpu, 1)), None);
        let other: DeviceTable = [&one, &two].into_iter().collect();
        assert!(table != other && table == table.clone());
    }
}
