//! Arguments about meters: where they are, and what the user knows of them. Every command that measures has them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jouletree_host::Roots;
use jouletree_meter::external::{ExternalMeter, MeterAddress};
use jouletree_model::{Device, Watts};
use jouletree_session::meters::{CpuModel, MeterOptions};

/// Where meters are, and what is known about them.
#[derive(Args)]
#[command(next_help_heading = "Meters")]
pub struct MeterArgs {
    /// A meter of your own: a file that grows, a pipe, a serial line or a socket with lines of time,watts or
    /// time,joules; PATH or tcp:HOST:PORT, of the whole machine or of a device as in cpu:0=PATH
    #[arg(long = "meter", value_name = "[DEVICE=]PLACE", value_parser = meter)]
    meters: Vec<ExternalMeter>,
    /// What the whole machine draws when it does nothing, for the estimate where there is no meter
    #[arg(long, value_name = "W", requires = "full_watts", value_parser = watts)]
    idle_watts: Option<Watts>,
    /// What the whole machine draws when all its CPUs are busy
    #[arg(long, value_name = "W", requires = "idle_watts", value_parser = watts)]
    full_watts: Option<Watts>,
    /// The model of a machine without a meter: ours, or CodeCarbon's, from the design power of the processor
    #[arg(long, value_enum, value_name = "MODEL")]
    cpu_model: Option<CpuModelArg>,
    /// The design power of all processors, for `--cpu-model codecarbon`; by default by the processor's name
    #[arg(long, value_name = "W", value_parser = watts)]
    cpu_power: Option<Watts>,
    /// Fail when the energy of the processor can only be estimated
    #[arg(long, value_enum)]
    require: Option<Require>,
    /// Where the machine's devices are shown
    #[arg(long, value_name = "DIR", env = "JOULETREE_SYS_ROOT", default_value = "/sys")]
    sys_root: PathBuf,
    /// Where the machine's processes are shown
    #[arg(long, value_name = "DIR", env = "JOULETREE_PROC_ROOT", default_value = "/proc")]
    proc_root: PathBuf,
    /// NVIDIA's management library, when the loader does not find it
    #[arg(long, value_name = "FILE", env = "JOULETREE_NVML_LIBRARY")]
    nvml_library: Option<PathBuf>,
}

/// What a machine without a meter is taken to draw.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CpuModelArg {
    /// A share of the power at the plug, by the family of the processor
    Jouletree,
    /// A tenth of the design power, and the rest with the third power of the load
    Codecarbon,
}

/// What kind of numbers there must be.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Require {
    /// Read from a meter, or computed from what a meter says
    Measured,
}

impl MeterArgs {
    /// The same as plain data.
    pub fn options(&self) -> MeterOptions {
        MeterOptions {
            meters: self.meters.clone(),
            idle_and_full: self.idle_watts.zip(self.full_watts),
            cpu_model: self.cpu_model.map(|model| match model {
                CpuModelArg::Jouletree => CpuModel::Jouletree,
                CpuModelArg::Codecarbon => CpuModel::Codecarbon,
            }),
            cpu_power: self.cpu_power,
            requires_measured: self.require == Some(Require::Measured),
            roots: Roots {
                sys: self.sys_root.clone(),
                proc: self.proc_root.clone(),
                nvml: self.nvml_library.clone(),
            },
        }
    }
}

/// `PLACE` or `DEVICE=PLACE`. What precedes the first `=` and is no device belongs to a file's name.
fn meter(text: &str) -> Result<ExternalMeter, String> {
    let named = text.split_once('=').and_then(|(device, place)| Some((device.parse::<Device>().ok()?, place)));
    let (device, place) = named.map_or((None, text), |(device, place)| (Some(device), place));
    if place.is_empty() {
        return Err("a file, a pipe, a socket or tcp:HOST:PORT is expected".to_owned());
    }
    let Ok(place) = place.parse::<MeterAddress>();
    let machine = ExternalMeter::of_machine(place);
    Ok(match device {
        Some(device) => ExternalMeter { device, ..machine },
        None => machine,
    })
}

fn watts(text: &str) -> Result<Watts, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e6).contains(&value) => Ok(Watts(value)),
        _ => Err("a number of watts from 0 to a million is expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_is_of_the_machine_unless_a_device_is_named() {
        for (text, device, place) in [
            ("power.csv", "machine:0", MeterAddress::File("power.csv".into())),
            ("cpu:0=/run/meter", "cpu:0", MeterAddress::File("/run/meter".into())),
            ("gpu:1=tcp:lab:9000", "gpu:1", MeterAddress::Tcp("lab:9000".into())),
            ("tcp:lab:9000", "machine:0", MeterAddress::Tcp("lab:9000".into())),
            ("a=b.csv", "machine:0", MeterAddress::File("a=b.csv".into())),
        ] {
            let expected = ExternalMeter { device: device.parse().unwrap(), ..ExternalMeter::of_machine(place) };
            assert_eq!(meter(text), Ok(expected), "{text}");
        }
        assert!(meter("").is_err() && meter("cpu:0=").is_err());
    }
}
