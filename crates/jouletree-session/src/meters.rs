//! Meters as the user knows them: where they are, and what they must be able to do.

use anyhow::{Result, bail};
use jouletree_carbon::models::cpu;
use jouletree_carbon::settings::{self, Key};
use jouletree_host::Roots;
use jouletree_meter::external::ExternalMeter;
use jouletree_meter::inventory::{Inventory, Sources};
use jouletree_meter::model::{Given, MeasuredPair};
use jouletree_model::Watts;
use jouletree_run::HostFacts;

/// Where meters are, and what is known about them.
#[derive(Debug, Clone)]
pub struct MeterOptions {
    /// Meters of the user's own.
    pub meters: Vec<ExternalMeter>,
    /// What the whole machine draws when it is idle, and when all its CPUs are busy.
    pub idle_and_full: Option<(Watts, Watts)>,
    /// The model of a machine without a meter; settings name it where this does not.
    pub cpu_model: Option<CpuModel>,
    /// The design power of all processors, for CodeCarbon's model.
    pub cpu_power: Option<Watts>,
    /// Whether an estimate is not enough.
    pub requires_measured: bool,
    /// Where the machine's files are.
    pub roots: Roots,
}

/// What a machine without a meter is taken to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuModel {
    /// A share of the power at the plug, by the family of the processor.
    Jouletree,
    /// A tenth of the design power, and the rest with the third power of the load.
    Codecarbon,
}

impl MeterOptions {
    /// Where to look for sensors.
    pub fn sources(&self) -> Sources {
        let roots = self.roots.clone();
        // Files and the environment can say so, too; what is wrong with them is said where they matter more.
        let settings = settings::Sources::of_process().read().0;
        let is_codecarbon = match self.cpu_model {
            Some(model) => model == CpuModel::Codecarbon,
            None => settings.text(Key::CpuModel).is_some_and(|text| text == "codecarbon"),
        };
        let model = match self.idle_and_full {
            Some((idle, full)) => Some(Given::Pair(MeasuredPair { idle, full })),
            None if is_codecarbon => {
                let given = self.cpu_power.or(settings.number(Key::CpuPower).ok().flatten().map(Watts));
                Some(design_power(given, &roots))
            }
            None => None,
        };
        Sources { roots, meters: self.meters.clone(), model, ..Sources::default() }
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
        if self.requires_measured {
            inventory.require_measured()?;
        }
        Ok(())
    }

    /// Whether the settings name a model that there is.
    pub fn check_model(&self) -> Result<()> {
        let known = ["jouletree", "codecarbon"];
        let settings = settings::Sources::of_process().read().0;
        match settings
            .text(Key::CpuModel)
            .filter(|text| self.cpu_model.is_none() && !known.contains(&text.as_str()))
        {
            Some(text) => bail!("there is no cpu_model `{text}`; choose {}", known.join(" or ")),
            None => Ok(()),
        }
    }

    /// What there is to measure with, if it is what is required.
    pub fn inventory(&self) -> Result<Inventory> {
        self.check_model()?;
        let inventory = Inventory::take(&self.sources());
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
