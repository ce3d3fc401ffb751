//! Arguments about meters: where they are, and what the user knows of them. Every command that measures has them.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use jouletree_carbon::models::cpu;
use jouletree_host::Roots;
use jouletree_meter::external::{ExternalMeter, Place};
use jouletree_meter::inventory::{Inventory, Sources};
use jouletree_meter::model::{Given, MeasuredPair};
use jouletree_model::{Device, Watts};
use jouletree_run::HostFacts;

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
    cpu_model: Option<CpuModel>,
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

/// What the settings say about the model of a machine without a meter.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelSettings {
    /// The name of the model.
    pub name: Option<String>,
    /// The design power of all processors.
    pub power: Option<Watts>,
}

/// What a machine without a meter is taken to draw.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CpuModel {
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
    /// Where the machine's files are.
    pub fn roots(&self) -> Roots {
        Roots { sys: self.sys_root.clone(), proc: self.proc_root.clone(), nvml: self.nvml_library.clone() }
    }

    /// Where to look for sensors; options come before settings.
    pub fn sources(&self, settings: &ModelSettings) -> Sources {
        let roots = self.roots();
        let pair = self.idle_watts.zip(self.full_watts);
        let is_codecarbon = match self.cpu_model {
            Some(model) => model == CpuModel::Codecarbon,
            None => settings.name.as_deref() == Some("codecarbon"),
        };
        let model = match pair {
            Some((idle, full)) => Some(Given::Pair(MeasuredPair { idle, full })),
            None if is_codecarbon => Some(design_power(self.cpu_power.or(settings.power), &roots)),
            None => None,
        };
        Sources { roots, meters: self.meters.clone(), model, ..Sources::default() }
    }

    /// Whether an estimate is not enough.
    pub fn requires_measured(&self) -> bool {
        self.require == Some(Require::Measured)
    }

    /// Whether meters were given by name.
    pub fn names_meters(&self) -> bool {
        !self.meters.is_empty()
    }

    /// Whether an inventory has what is required, and every meter that was given by name.
    pub fn check(&self, inventory: &Inventory) -> Result<()> {
        for meter in &self.meters {
            let source = meter.source();
            let found =
                inventory.found.iter().find(|one| one.info.source == source && one.info.device == meter.device);
            if let Some(Err(why)) = found.map(|found| &found.sensor) {
                let remedy = why.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
                bail!("--meter {} cannot be used for {}: {}{remedy}", meter.place, meter.device, why.reason);
            }
        }
        match self.require {
            Some(Require::Measured) => Ok(inventory.require_measured()?),
            None => Ok(()),
        }
    }

    /// Whether the settings name a model that there is.
    pub fn check_model(&self, settings: &ModelSettings) -> Result<()> {
        let known = ["jouletree", "codecarbon"];
        match settings.name.as_deref().filter(|text| self.cpu_model.is_none() && !known.contains(text)) {
            Some(text) => bail!("there is no cpu_model `{text}`; choose {}", known.join(" or ")),
            None => Ok(()),
        }
    }

    /// What there is to measure with, if it is what is required.
    pub fn inventory(&self, settings: &ModelSettings) -> Result<Inventory> {
        self.check_model(settings)?;
        let inventory = Inventory::take(&self.sources(settings));
        self.check(&inventory).map(|()| inventory)
    }
}

/// The design power of the processors, as it was given or by their name.
fn design_power(given: Option<Watts>, roots: &Roots) -> Given {
    if let Some(watts) = given {
        return Given::DesignPower(watts, format!("a design power of {watts}, as given"));
    }
    let host = HostFacts::of(roots);
    let threads = usize::try_from(host.cpus.unwrap_or(1)).unwrap_or(1);
    let (watts, basis) = cpu::design_power(host.cpu.as_deref().unwrap_or_default(), threads);
    Given::DesignPower(watts, basis)
}

/// `PLACE` or `DEVICE=PLACE`. What stands before the first `=` and is no device belongs to a file's name.
fn meter(text: &str) -> Result<ExternalMeter, String> {
    let named = text.split_once('=').and_then(|(device, place)| Some((device.parse::<Device>().ok()?, place)));
    let (device, place) = named.map_or((None, text), |(device, place)| (Some(device), place));
    if place.is_empty() {
        return Err("a file, a pipe, a socket or tcp:HOST:PORT is expected".to_owned());
    }
    let Ok(place) = place.parse::<Place>();
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
            ("power.csv", "machine:0", Place::File("power.csv".into())),
            ("cpu:0=/run/meter", "cpu:0", Place::File("/run/meter".into())),
            ("gpu:1=tcp:lab:9000", "gpu:1", Place::Tcp("lab:9000".into())),
            ("tcp:lab:9000", "machine:0", Place::Tcp("lab:9000".into())),
            ("a=b.csv", "machine:0", Place::File("a=b.csv".into())),
        ] {
            let expected = ExternalMeter { device: device.parse().unwrap(), ..ExternalMeter::of_machine(place) };
            assert_eq!(meter(text), Ok(expected), "{text}");
        }
        assert!(meter("").is_err() && meter("cpu:0=").is_err());
    }
}
