//! Hardware for hours at a place, answered: the same for the command line and for the page of `jouletree serve`.

use jouletree_model::{Grams, GramsPerKwh, Joules, KilowattHours, Kind, Nanos, Watts};
use serde::Serialize;

use crate::compare::{Alternative, alternatives, providers, published};
use crate::tables::ACCELERATOR_SOURCE;
use crate::{
    Context, Embodied, Equivalents, Factors, Hardware, HardwareError, Impact, Intensity, PlaceError, accelerator,
};

/// What is asked, beside the place.
#[derive(Debug, Clone)]
pub struct Question {
    /// The name of the accelerator.
    pub gpu: Option<String>,
    /// What one accelerator draws, instead of a name.
    pub watts: Option<f64>,
    /// How many accelerators.
    pub gpus: u32,
    /// For how long.
    pub hours: f64,
    /// The part of their design power that they draw.
    pub utilization: f64,
    /// What everything else in the machines draws.
    pub cpu_watts: f64,
    /// Whose regions are compared; an empty list means those of the provider at hand.
    pub compare: Option<Vec<String>>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QuestionError {
    /// Nothing was named that draws power.
    #[error("nothing draws power: name an accelerator with --gpu A100, or give --watts or --cpu-watts")]
    NoHardware,
    /// The hardware is not known.
    #[error(transparent)]
    Hardware(#[from] HardwareError),
    /// Regions cannot be compared.
    #[error("--compare: {0}")]
    Compare(PlaceError),
    /// It is not known whose regions are compared.
    #[error("whose regions are compared? Give --provider gcp, --compare aws,gcp or --compare all")]
    CompareWhose,
}

/// Everything there is to say.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Answer {
    pub kind: Kind,
    pub hardware: Machines,
    #[serde(rename = "it_energy_j")]
    pub it_energy: Joules,
    pub it_energy_kwh: KilowattHours,
    pub pue: f64,
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    pub energy_kwh: KilowattHours,
    pub intensity: Option<Intensity>,
    #[serde(rename = "carbon_g")]
    pub carbon: Option<Grams>,
    pub published: Vec<Table>,
    pub wue: f64,
    pub water_l: Option<f64>,
    #[serde(rename = "embodied_g")]
    pub embodied: Option<Grams>,
    pub cost: Option<f64>,
    pub currency: Option<String>,
    pub equivalents: Option<Equivalents>,
    pub regions: Vec<Region>,
    pub notes: Vec<String>,
}

/// What runs.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Machines {
    pub accelerator: Option<&'static str>,
    /// Where its design power comes from.
    pub source: Option<&'static str>,
    /// What else the same name could mean.
    pub also: Vec<&'static str>,
    #[serde(rename = "watts_each_w")]
    pub each: Watts,
    pub count: u32,
    pub utilization: f64,
    #[serde(rename = "others_w")]
    pub others: Watts,
    #[serde(rename = "power_w")]
    pub power: Watts,
    pub hours: f64,
}

/// What another published table says about the region.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Table {
    pub source: &'static str,
    pub year: &'static str,
    #[serde(rename = "g_per_kwh")]
    pub intensity: GramsPerKwh,
    #[serde(rename = "carbon_g")]
    pub carbon: Grams,
}

/// A region of a cloud, and the same energy there.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Region {
    pub provider: &'static str,
    pub region: &'static str,
    pub name: &'static str,
    pub country: &'static str,
    #[serde(rename = "g_per_kwh")]
    pub intensity: Option<GramsPerKwh>,
    #[serde(rename = "carbon_g")]
    pub carbon: Option<Grams>,
    pub zone: Option<String>,
    pub year: Option<u16>,
    pub source: Option<String>,
    /// Whether it is the place that was asked about.
    pub is_here: bool,
}

impl Question {
    /// What the hardware uses at a place, and its impact.
    pub fn answer(&self, context: &Context) -> Result<Answer, QuestionError> {
        let mut notes = Vec::new();
        let (machines, hardware) = self.hardware(&mut notes)?;
        let energy = hardware.energy();
        let impact = Impact::of(energy, context.facility, context.intensity.as_ref());
        let here = context.place.cloud.and_then(|cloud| cloud.region);
        if let Some(pue) = here.and_then(|region| region.pue).filter(|_| context.facility.pue == 1.0) {
            notes.push(format!("no PUE was given; the ML CO2 calculator's table has {pue} for this region"));
        }
        notes.extend(context.intensity.as_ref().and_then(|intensity| intensity.note.clone()));
        let cost = context.tariff.as_ref().map(|tariff| tariff.cost_of_days(impact.energy));
        if context.tariff.as_ref().is_some_and(|tariff| !tariff.is_flat()) {
            notes.push("the cost is as if the energy were used evenly over whole days".to_owned());
        }
        let used = context.intensity.as_ref().map_or("", |intensity| &intensity.source);
        let others =
            here.map(published).unwrap_or_default().into_iter().filter(|table| !used.starts_with(table.source));
        let tables = others.map(|table| Table {
            source: table.source,
            year: table.year,
            intensity: table.intensity,
            carbon: table.intensity.grams(impact.energy),
        });
        let regions = self.regions(context, &hardware)?;
        Ok(Answer {
            kind: Kind::Predicted,
            hardware: machines,
            it_energy: impact.it_energy,
            it_energy_kwh: impact.it_energy.kilowatt_hours(),
            pue: context.facility.pue,
            energy: impact.energy,
            energy_kwh: impact.energy.kilowatt_hours(),
            intensity: context.intensity.clone(),
            carbon: impact.carbon,
            published: tables.collect(),
            wue: context.facility.wue,
            water_l: (context.facility.wue > 0.0).then_some(impact.water_l),
            embodied: self.embodied(context, &mut notes),
            cost,
            currency: cost.map(|_| context.currency.clone()),
            equivalents: impact.carbon.map(|grams| Equivalents::of(grams, Factors::USUAL)),
            regions,
            notes,
        })
    }

    fn hardware(&self, notes: &mut Vec<String>) -> Result<(Machines, Hardware), QuestionError> {
        let found = match (&self.gpu, self.watts) {
            (Some(name), None) => Some(accelerator(name)?),
            _ => None,
        };
        let watts = self.watts.or(found.map(|found| found.design_power.0));
        if watts.is_none() && self.cpu_watts == 0.0 {
            return Err(QuestionError::NoHardware);
        }
        let others = Watts(self.cpu_watts);
        let hardware =
            Hardware::new(Watts(watts.unwrap_or(0.0)), self.gpus, self.utilization, others, self.hours)?;
        let also = match (found, &self.gpu) {
            (Some(found), Some(name)) => found.also(name),
            _ => Vec::new(),
        };
        if let (Some(found), Some(name), [_, ..]) = (found, &self.gpu, &*also) {
            notes.push(format!("`{name}` is taken for {}; it could also be {}", found.name, also.join(", ")));
        }
        notes.extend(found.map(|found| format!("the power of {} is from {ACCELERATOR_SOURCE}", found.name)));
        notes.extend(found.map(|found| found.note.clone()).filter(|note| !note.is_empty()));
        if watts.is_some() && self.utilization == 1.0 {
            notes.push(
                "accelerators are taken to draw their design power all the time, which is an upper bound"
                    .to_owned(),
            );
        }
        let machines = Machines {
            accelerator: found.map(|found| found.name.as_str()),
            source: found.map(|_| ACCELERATOR_SOURCE),
            also,
            each: hardware.watts,
            count: hardware.count,
            utilization: hardware.utilization,
            others: hardware.others,
            power: hardware.power(),
            hours: hardware.hours,
        };
        Ok((machines, hardware))
    }

    /// The part of making the machines that falls to this time, if it is to be counted.
    fn embodied(&self, context: &Context, notes: &mut Vec<String>) -> Option<Grams> {
        let wanted = context.embodied?;
        if wanted.total.is_none() {
            notes.push(
                "the machine is taken for one server with a processor, 16 GB and these accelerators, by the figures of Cloud \
                 Carbon Footprint (2026-04)"
                    .to_owned(),
            );
        }
        let time = Nanos((self.hours * 3600.0 * 1e9) as i64);
        Some(wanted.with(Embodied::of_server(1, self.gpus, 16.0)).grams(time))
    }

    fn regions(&self, context: &Context, hardware: &Hardware) -> Result<Vec<Region>, QuestionError> {
        let Some(names) = &self.compare else { return Ok(Vec::new()) };
        let here = context.place.cloud;
        let providers = match (names.as_slice(), here) {
            ([], None) => return Err(QuestionError::CompareWhose),
            ([], Some(cloud)) => vec![cloud.provider],
            (names, _) => providers(names).map_err(QuestionError::Compare)?,
        };
        let here = here.and_then(|cloud| cloud.region).map(|region| region.zone());
        let region = |Alternative { region, intensity, impact }: Alternative| Region {
            provider: &region.provider,
            region: &region.region,
            name: &region.name,
            country: &region.iso3,
            intensity: intensity.as_ref().map(|intensity| intensity.value),
            carbon: impact.carbon,
            zone: intensity.as_ref().map(|intensity| intensity.zone.clone()),
            year: intensity.as_ref().and_then(|intensity| intensity.year),
            source: intensity.map(|intensity| intensity.source),
            is_here: here.as_ref() == Some(&region.zone()),
        };
        Ok(alternatives(&providers, hardware.energy(), context.facility).into_iter().map(region).collect())
    }
}
