//! What is shown at an instant.

use std::time::Duration;

use jouletree_model::{DeviceClass, GramsPerKwh, Joules, Nanos};
use jouletree_series::ongoing::DeviceTotal;

/// The carbon intensity of electricity, and where the figure comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct CarbonIntensity {
    /// The figure.
    pub value: GramsPerKwh,
    /// Its source.
    pub source: String,
}

/// Everything that is shown at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// When counting began, by the time of day.
    pub began: Nanos,
    /// When this was so.
    pub at: Nanos,
    /// How long counting has gone on, whatever was done to the time of day.
    pub duration: Duration,
    /// Every device that is metered as a whole.
    pub devices: Vec<DeviceTotal>,
    /// Whether it is known who used the energy of devices.
    pub has_parts: bool,
    /// How many readings were lost.
    pub lost_samples: u64,
    /// The processor time of the process that shows this.
    pub own_time: Nanos,
    /// The carbon intensity of electricity, where that is known.
    pub intensity: Option<CarbonIntensity>,
}

impl Snapshot {
    /// The devices whose energies may be added up: a whole machine's is that of the others once more.
    pub fn inner_devices(&self) -> impl Iterator<Item = &DeviceTotal> {
        self.devices.iter().filter(|total| total.device.class() != DeviceClass::Machine)
    }

    /// The energy of all devices of a class; `None` where there is none.
    pub fn energy_of(&self, class: DeviceClass) -> Option<Joules> {
        self.of(class).map(|total| total.energy).reduce(|one, other| one + other)
    }

    pub(crate) fn of(&self, class: DeviceClass) -> impl Iterator<Item = &DeviceTotal> {
        self.devices.iter().filter(move |total| total.device.class() == class)
    }
}
