//! One GPU: its name, and what it says of energy and power.

use std::sync::Arc;

use nvml_wrapper::enums::device::{DeviceArchitecture, SampleValue};
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_POWER_INSTANT;

use super::library::Library;
use super::problem::failed_reading;
use crate::ReadError;

/// A GPU that the driver lists.
///
/// Its number is the driver's, which follows the PCI bus. CUDA's numbers do so only with
/// `CUDA_DEVICE_ORDER=PCI_BUS_ID`, and `CUDA_VISIBLE_DEVICES` changes them.
#[derive(Clone)]
pub struct Gpu {
    pub(super) library: Arc<Library>,
    pub(super) index: u32,
}

/// What of a GPU is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Its counter of energy, in millijoules.
    Energy,
    /// Its power at the instant, in milliwatts.
    Instant,
    /// Its power as the driver averages it, in milliwatts.
    Usage,
}

impl Quantity {
    /// From the best to the worst.
    pub(super) const ALL: [Quantity; 3] = [Quantity::Energy, Quantity::Instant, Quantity::Usage];

    pub(super) fn name(self) -> &'static str {
        match self {
            Quantity::Energy => "energy counter",
            Quantity::Instant => "instant power",
            Quantity::Usage => "averaged power",
        }
    }
}

impl Gpu {
    pub(super) fn new(library: Arc<Library>, index: u32) -> Gpu {
        Gpu { library, index }
    }

    /// Its number.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Its name, the same for all of a model.
    pub fn name(&self) -> Result<String, ReadError> {
        self.library.device(self.index)?.name().map_err(failed_reading)
    }

    /// What identifies it among all GPUs.
    pub fn uuid(&self) -> Result<String, ReadError> {
        self.library.device(self.index)?.uuid().map_err(failed_reading)
    }

    /// Its place on the PCI bus, which other tools show, too.
    pub fn pci_bus(&self) -> Result<String, ReadError> {
        self.library.device(self.index)?.pci_info().map(|pci| pci.bus_id).map_err(failed_reading)
    }

    /// Its power in milliwatts, as its driver shows it. It may block for as long as the driver likes.
    pub fn power_milliwatts(&self) -> Result<u64, ReadError> {
        self.read(Quantity::Usage)
    }

    /// More watts than this it is not allowed to draw for long.
    pub(super) fn limit_milliwatts(&self) -> Result<u32, ReadError> {
        self.library.device(self.index)?.enforced_power_limit().map_err(failed_reading)
    }

    pub(super) fn architecture(&self) -> Option<DeviceArchitecture> {
        self.library.device(self.index).ok()?.architecture().ok()
    }

    /// What it says of a quantity.
    pub(super) fn read(&self, quantity: Quantity) -> Result<u64, ReadError> {
        let device = self.library.device(self.index)?;
        match quantity {
            Quantity::Energy => device.total_energy_consumption().map_err(failed_reading),
            Quantity::Usage => device.power_usage().map(u64::from).map_err(failed_reading),
            Quantity::Instant => {
                let values =
                    device.field_values_for(&[FieldId(NVML_FI_DEV_POWER_INSTANT)]).map_err(failed_reading)?;
                let none = || ReadError::Gone("no value for the field".to_owned());
                let sample = values.into_iter().next().ok_or_else(none)?.map_err(failed_reading)?;
                match sample.value.map_err(failed_reading)? {
                    SampleValue::U32(value) => Ok(u64::from(value)),
                    SampleValue::U64(value) => Ok(value),
                    SampleValue::I64(value) if value >= 0 => Ok(value.unsigned_abs()),
                    SampleValue::F64(value) if value >= 0.0 => Ok(value as u64),
                    other => Err(ReadError::Garbage(format!("{other:?}"))),
                }
            }
        }
    }
}
