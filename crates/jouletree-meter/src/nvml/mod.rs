//! GPUs by NVIDIA, through the management library of their driver.
//!
//! A GPU is read by the best that it offers: its counter of energy, else its power at the instant, else its power as
//! the driver averages it. Power is integrated here, over its changes. How often a GPU updates what it shows is learned
//! by watching; over what window it measures is known of some families and is reported as far as it is.

mod gpu;
mod integral;
mod library;
mod problem;
mod sensor;
mod usage;
mod window;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jouletree_host::{Now, Roots};
use jouletree_model::sampling::{Mono, Quality, SensorInfo};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Nanos, Watts};

pub use gpu::Gpu;

use crate::slow::within;
use crate::{Found, Sensor, Unusable};
use library::Library;
use sensor::GpuSensor;

/// How long the driver may take to wake up its GPUs: without its persistence daemon, more than a second for each.
const DRIVER_TIMEOUT: Nanos = Nanos(30_000_000_000);

/// How long GPUs are watched to learn how often they update.
const LEARNING: Nanos = Nanos(1_000_000_000);

/// How the sources of its sensors begin.
const PREFIX: &str = "NVML: ";

/// So many changes are enough to stop watching earlier.
const CHANGES: usize = 7;

/// The sensors of all GPUs, usable or not. Where there is no driver, there is one that says why.
pub fn find(roots: &Roots) -> Vec<Found> {
    discover(roots).unwrap_or_else(|unusable| {
        let source = match &roots.nvml {
            Some(path) => format!("NVML ({})", path.display()),
            None => "NVML".to_owned(),
        };
        let info = unknown_gpu(0, source);
        vec![Found { info, sensor: Err(unusable) }]
    })
}

/// The sensors of all GPUs, usable or not, or why there is none.
pub fn discover(roots: &Roots) -> Result<Vec<Found>, Unusable> {
    let path = roots.nvml.clone();
    let found = within(DRIVER_TIMEOUT, move || {
        let mut sensors: Vec<_> = gpus_of(path)?.into_iter().map(GpuSensor::new).collect();
        learn(&mut sensors);
        if sensors.iter_mut().flatten().filter_map(|sensor| sensor.give_up_dead_counter().then_some(())).count()
            > 0
        {
            learn(&mut sensors);
        }
        Ok(sensors.into_iter().map(|sensor| sensor.map_or_else(|found| *found, usable)).collect())
    });
    found.unwrap_or_else(|| Err(problem::silence(DRIVER_TIMEOUT)))
}

/// The name of a GPU in what a sensor says of its source: `NVML: NVIDIA A100 at 00000000:01:00.0, energy counter`.
pub fn model_in(source: &str) -> &str {
    let name = source.strip_prefix(PREFIX).unwrap_or(source);
    let end = [" at ", ", "].iter().filter_map(|mark| name.find(mark)).min();
    &name[..end.unwrap_or(name.len())]
}

/// All GPUs, to ask them what they do.
pub fn gpus(roots: &Roots) -> Result<Vec<Gpu>, Unusable> {
    let path = roots.nvml.clone();
    within(DRIVER_TIMEOUT, move || gpus_of(path)).unwrap_or_else(|| Err(problem::silence(DRIVER_TIMEOUT)))
}

fn gpus_of(path: Option<PathBuf>) -> Result<Vec<Gpu>, Unusable> {
    let library = Arc::new(Library::open(path.as_deref())?);
    let count = library.count()?;
    Ok((0..count).map(|index| Gpu::new(library.clone(), index)).collect())
}

/// Watches all GPUs at once until it is known how often each of them updates, or for a second.
fn learn(sensors: &mut [Result<GpuSensor, Box<Found>>]) {
    let begin = Mono::now();
    while Mono::now() - begin < LEARNING {
        let mut all_known = true;
        for sensor in sensors.iter_mut().flatten() {
            // What fails now fails again later, when it can be reported.
            let failed = sensor.read().is_err();
            all_known &= failed || sensor.changes() >= CHANGES;
        }
        if all_known {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn usable(sensor: GpuSensor) -> Found {
    Found { info: sensor.info().clone(), sensor: Ok(Box::new(sensor)) }
}

/// What is known of a GPU before it was asked anything.
fn unknown_gpu(index: u32, source: String) -> SensorInfo {
    SensorInfo {
        device: Device::new(DeviceClass::Gpu, index),
        domain: None,
        source,
        kind: Kind::Measured,
        range: None,
        step: Microjoules(1e3),
        period: sensor::ASSUMED_PERIOD,
        most: Watts(sensor::MOST_WATTS),
        is_slow: true,
        quality: Quality::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_tells_the_model() {
        for source in ["NVML: NVIDIA A100-SXM4-80GB at 00000000:01:00.0, energy counter", "NVIDIA A100-SXM4-80GB"]
        {
            assert_eq!(model_in(source), "NVIDIA A100-SXM4-80GB");
        }
        assert_eq!(model_in("NVML: unnamed, averaged power"), "unnamed");
        assert_eq!(model_in("amdgpu at 0000:03:00.0"), "amdgpu");
        assert_eq!(model_in(""), "");
    }
}
