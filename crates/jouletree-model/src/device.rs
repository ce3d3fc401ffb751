//! Devices: what draws power and what operations run on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The host name of a device whose trace or power file does not say on which machine it sits.
const UNNAMED_HOST: &str = "host";

/// One device of one machine, written `host/cpu:0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Device {
    host: String,
    class: DeviceClass,
    index: u32,
}

/// What sort of device it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceClass {
    /// A processor socket.
    Cpu,
    /// A graphics processor or another accelerator.
    Gpu,
    /// The memory of a socket.
    Dram,
    /// A whole machine, as a meter at its plug sees it: all its devices, fans and the losses of its power supply. No
    /// operation runs on it, and its energy is never added to that of the devices inside it.
    Machine,
}

/// A device's name that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a device; write cpu:0, gpu:1, dram:0 or machine:0, with the machine's name before it if there are \
     several: node7/gpu:1"
)]
pub struct DeviceParseError(String);

impl Device {
    /// The `index`th device of a class on a machine that is not named.
    pub fn new(class: DeviceClass, index: u32) -> Device {
        Device { host: UNNAMED_HOST.to_owned(), class, index }
    }

    /// The same device on the machine called `host`.
    pub fn on(self, host: &str) -> Device {
        Device { host: host.to_owned(), ..self }
    }

    /// The machine it sits in.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether its machine is unknown.
    pub fn is_on_unnamed_host(&self) -> bool {
        self.host == UNNAMED_HOST
    }

    /// What sort of device it is.
    pub fn class(&self) -> DeviceClass {
        self.class
    }

    /// Whether it holds the other: the other's energy is then a part of its own and must not be added to it.
    pub fn holds(&self, other: &Device) -> bool {
        self.class == DeviceClass::Machine && other.class != DeviceClass::Machine && self.host == other.host
    }

    /// Its number among its kind on its machine.
    pub fn index(&self) -> u32 {
        self.index
    }
}

impl fmt::Display for DeviceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceClass::Cpu => "cpu",
            DeviceClass::Gpu => "gpu",
            DeviceClass::Dram => "dram",
            DeviceClass::Machine => "machine",
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}:{}", self.host, self.class, self.index))
    }
}

impl FromStr for Device {
    type Err = DeviceParseError;

    /// Reads `cpu:0`, `GPU:1`, `node7/gpu:1`; a class without a number is its first device.
    fn from_str(text: &str) -> Result<Device, DeviceParseError> {
        let unknown = || DeviceParseError(text.to_owned());
        let (host, local) = text.trim().rsplit_once('/').unwrap_or((UNNAMED_HOST, text.trim()));
        let (class, index) = local.split_once(':').unwrap_or((local, "0"));
        let class = match class.to_ascii_lowercase().as_str() {
            "cpu" => DeviceClass::Cpu,
            "gpu" => DeviceClass::Gpu,
            "dram" => DeviceClass::Dram,
            "machine" => DeviceClass::Machine,
            _ => return Err(unknown()),
        };
        if host.is_empty() {
            return Err(unknown());
        }
        let index = index.parse().map_err(|_| unknown())?;
        Ok(Device { host: host.to_owned(), class, index })
    }
}

impl TryFrom<String> for Device {
    type Error = DeviceParseError;
    fn try_from(text: String) -> Result<Device, DeviceParseError> {
        text.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> String {
        device.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_ways_people_write_devices() {
        for (written, meant) in [
            ("CPU:0", "host/cpu:0"),
            ("gpu:3", "host/gpu:3"),
            ("n7/GPU:1", "n7/gpu:1"),
            ("dram", "host/dram:0"),
            ("n7/machine", "n7/machine:0"),
        ] {
            assert_eq!(written.parse::<Device>().unwrap().to_string(), meant);
        }
    }

    #[test]
    fn a_machine_holds_its_own_devices_and_no_others() {
        let device = |text: &str| text.parse::<Device>().unwrap();
        assert!(device("n7/machine:0").holds(&device("n7/gpu:3")));
        assert!(!device("n7/machine:0").holds(&device("n8/gpu:3")));
        assert!(!device("n7/machine:0").holds(&device("n7/machine:1")));
        assert!(!device("n7/cpu:0").holds(&device("n7/dram:0")));
    }

    #[test]
    fn says_how_to_write_a_device_it_cannot_read() {
        for wrong in ["", "toaster", "cpu:x", "/cpu:0", "gpu:-1"] {
            let error = wrong.parse::<Device>().unwrap_err().to_string();
            assert!(error.contains("write cpu:0"), "{error}");
        }
    }
}
