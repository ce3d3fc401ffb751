//! Reading what a chip meters.

use std::io;
use std::path::Path;

use jouletree_host::Now;
use jouletree_model::sampling::{Mono, Quality, SensorInfo};
use jouletree_model::{DeviceClass, Kind, Microjoules, Nanos, Watts};

use super::integral::Integral;
use super::rules::{ChipMeter, Files};
use crate::number_file::NumberFile;
use crate::{Found, ReadError, Sensor, Unusable};

/// Readings of power further apart than this say nothing about the time between them.
const LONGEST: Nanos = Nanos(2_000_000_000);

struct Hwmon {
    info: SensorInfo,
    source: Source,
}

enum Source {
    Energy(NumberFile),
    Power { file: NumberFile, integral: Integral },
    Rail { volts: NumberFile, amperes: NumberFile, integral: Integral },
}

impl Sensor for Hwmon {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn read(&mut self) -> Result<u64, ReadError> {
        match &mut self.source {
            Source::Energy(file) => file.read(),
            Source::Power { file, integral } => integrated(integral, file.read_noisy()),
            Source::Rail { volts, amperes, integral } => {
                let power = volts.read_noisy().and_then(|mv| Ok(mv.saturating_mul(amperes.read_noisy()?)));
                integrated(integral, power)
            }
        }
    }
}

fn integrated(integral: &mut Integral, microwatts: Result<u64, ReadError>) -> Result<u64, ReadError> {
    match microwatts {
        Ok(microwatts) => integral.take(Mono::now(), microwatts),
        Err(error) => {
            integral.lose();
            Err(error)
        }
    }
}

/// The meter as a sensor, if it can be one.
pub(super) fn found(meter: ChipMeter) -> Found {
    let info = info(&meter);
    if let Some(why) = meter.left_out {
        return Found { info, sensor: Err(why) };
    }
    let sensor = match opened(&meter.files, meter.period) {
        Ok(source) => Ok(Box::new(Hwmon { info: info.clone(), source }) as Box<dyn Sensor>),
        Err((path, error)) => Err(cannot_open(path, &error)),
    };
    Found { info, sensor }
}

fn opened(files: &Files, period: Nanos) -> Result<Source, (&Path, io::Error)> {
    let open = |path| NumberFile::open(path).map_err(|error| (path, error));
    let integral = || Integral::new(LONGEST.max(Nanos(period.0.saturating_mul(3))));
    Ok(match files {
        Files::Energy(path) => Source::Energy(open(path)?),
        Files::Power(path) => Source::Power { file: open(path)?, integral: integral() },
        Files::Rail { volts, amperes } => {
            Source::Rail { volts: open(volts)?, amperes: open(amperes)?, integral: integral() }
        }
    })
}

fn cannot_open(path: &Path, error: &io::Error) -> Unusable {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => Some(format!(
            "run the daemon as root and be its client:\n    sudo jouletree daemon\nor let everybody read it, until the \
             machine restarts:\n    sudo chmod a+r {}",
            path.display()
        )),
        _ => None,
    };
    Unusable { reason: format!("{} cannot be opened: {error}", path.display()), remedy }
}

fn info(meter: &ChipMeter) -> SensorInfo {
    let (kind, place) = match &meter.files {
        Files::Energy(path) => (Kind::Measured, path.display().to_string()),
        Files::Power(path) => (Kind::Derived, path.display().to_string()),
        Files::Rail { volts, amperes } => (Kind::Derived, format!("{} × {}", volts.display(), amperes.display())),
    };
    SensorInfo {
        device: meter.device.clone(),
        domain: meter.domain.clone(),
        source: format!("{} at {place}", meter.chip),
        kind,
        range: None,
        step: Microjoules(1.0),
        period: meter.period,
        most: Watts(most_watts(meter)),
        is_slow: meter.is_slow,
        quality: Quality::default(),
    }
}

/// Generous, as for powercap: cards are sold for up to 1400 W, superchips for 1000 W and sockets for 500 W.
fn most_watts(meter: &ChipMeter) -> f64 {
    match (meter.device.class(), meter.domain.as_deref()) {
        (DeviceClass::Machine, _) | (_, Some("machine" | "module" | "board")) => 10_000.0,
        (DeviceClass::Gpu, _) => 3000.0,
        (DeviceClass::Cpu, _) => 2000.0,
        (DeviceClass::Dram, _) => 1000.0,
    }
}
