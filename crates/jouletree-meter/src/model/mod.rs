//! An estimate for machines without a meter: never a measurement, and with the width that it honestly has.
//!
//! The machine draws W(u) = CPUs × (idle + (full − idle) × u) watts, where u is the part of the time in which its CPUs
//! work for it. Idle and full watts are those of servers with processors of the same family, at the plug and divided by
//! their threads: so this is a share of a whole machine's power, and not comparable with a processor's own counter. The
//! count is the median; [`Quality::bounds`](jouletree_model::sampling::Quality) lead to the 5th and the 95th percentile. That error is
//! common to all runs on a machine: their ratio is known much better than their level.

mod family;
mod law;
mod load;

pub use family::Cpu;
pub use law::{PowerLaw, Quantiles};

use jouletree_host::{Now, Roots};
use jouletree_model::sampling::{Bounds, Mono, Quality, SensorInfo};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Nanos, Watts};

use crate::{Found, ReadError, Reading, Sensor, Unusable};
use law::Estimate;
use load::{Load, LoadFile};

/// The system counts the time of its CPUs in steps of so much; who looks more often sees noise.
const PERIOD: Nanos = Nanos(10_000_000);

/// No estimate of a power is further off than this.
const MARGIN: f64 = 4.0;

/// The watts of a whole machine that does nothing and of one whose CPUs are all busy, as the user measured them at
/// its plug: better than any table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPair {
    /// Doing nothing.
    pub idle: Watts,
    /// All CPUs busy.
    pub full: Watts,
}

/// What the estimate is made from, if not from the processor's family.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// Powers that the user measured.
    Pair(MeasuredPair),
    /// The design power of all processors, and where that comes from: CodeCarbon's law.
    DesignPower(Watts, String),
}

/// The estimate for this machine, from its processor's family or from what the user gave.
pub fn find(roots: &Roots, given: Option<&Given>) -> Found {
    let cpu =
        std::fs::read_to_string(roots.proc.join("cpuinfo")).map(|text| Cpu::parse(&text)).unwrap_or_default();
    let law = match given {
        Some(Given::Pair(pair)) => PowerLaw::of_pair(pair.idle, pair.full),
        Some(Given::DesignPower(power, basis)) => PowerLaw::of_design_power(*power, basis),
        None => PowerLaw::of_cpu(&cpu),
    };
    let opened = LoadFile::open(&roots.proc.join("stat")).and_then(|mut file| Ok((file.read()?, file)));
    let cpus = opened.as_ref().map_or(1, |(load, _)| load.cpus);
    let info = SensorInfo {
        device: Device::new(DeviceClass::Cpu, 0),
        domain: None,
        source: format!("model: {}", law.basis(cpus)),
        kind: Kind::Estimated,
        range: None,
        step: Microjoules(1.0),
        period: PERIOD,
        most: Watts(MARGIN * law.most(cpus).0),
        is_slow: false,
        quality: Quality { bounds: law.widest_bounds(cpus), ..Quality::default() },
    };
    let sensor = match opened {
        _ if !law.is_sensible() => Err(Unusable {
            reason: "the two powers that were given make no sense".to_owned(),
            remedy: Some(
                "give the watts of the idle machine and those of the busy one, the latter larger".to_owned(),
            ),
        }),
        Err(error) => Err(Unusable {
            reason: format!("{}: {error}", roots.proc.join("stat").display()),
            remedy: Some("mount the process file system: mount -t proc proc /proc".to_owned()),
        }),
        Ok((load, file)) => {
            let estimate = Estimate::new(law, load);
            Ok(Box::new(ModelSensor { info: info.clone(), file, estimate, looked: None }) as Box<dyn Sensor>)
        }
    };
    Found { info, sensor }
}

/// The estimate as a sensor: it integrates over the busy time between readings.
struct ModelSensor {
    info: SensorInfo,
    file: LoadFile,
    estimate: Estimate,
    looked: Option<Mono>,
}

impl Sensor for ModelSensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn read(&mut self) -> Result<u64, ReadError> {
        self.reading().map(|reading| reading.microjoules)
    }

    fn reading(&mut self) -> Result<Reading, ReadError> {
        let now = Mono::now();
        let at = match self.looked {
            Some(looked) if now - looked < PERIOD => looked,
            _ => {
                let load: Load = self.file.read()?;
                self.estimate.take(now, load);
                if let Some(bounds) = self.estimate.bounds() {
                    self.info.quality.bounds = Some(bounds);
                }
                self.looked = Some(now);
                now
            }
        };
        Ok(Reading { at, microjoules: self.estimate.microjoules() })
    }

    fn remarks(&self) -> Vec<String> {
        let Some(Bounds { low, high }) = self.info.quality.bounds.map(Bounds::at_95) else {
            return vec!["estimated from the powers that were given; its error is unknown".to_owned()];
        };
        vec![format!("estimated: 95 % interval {low:.2}–{high:.2} × the estimate")]
    }
}
