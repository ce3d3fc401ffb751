//! From a trace file to a footprint, as `jouletree account` goes, and whether energy was conserved on the way.

use std::path::Path;

use anyhow::{Result, bail};
use jouletree_account::{Metered, Semantics, Tef, account};
use jouletree_model::{Device, EnergySeries, Footprint, Kind};
use jouletree_trace::{Progress, ReadOptions, read_trace};

use crate::power::series_over;
use crate::random::Random;

/// Power for every device of a trace.
pub struct Power {
    series: Vec<(Device, EnergySeries)>,
    /// How many events the trace holds.
    pub events: usize,
}

impl Power {
    /// Power for the trace in a file, which is read once for that and must be read without a warning.
    pub fn for_trace(path: &Path) -> Result<Power> {
        let trace = read_trace(path, &ReadOptions::default(), &Progress::default())?;
        if let Some(warning) = trace.warnings.first() {
            bail!("{} is not as it should be: {warning}", path.display());
        }
        let Some(extent) = trace.extent() else { bail!("{} holds no event", path.display()) };
        let mut random = Random::new(11);
        let series = trace.devices.iter().map(|device| Ok((device.clone(), series_over(extent, &mut random)?)));
        Ok(Power { series: series.collect::<Result<_>>()?, events: trace.event_count() })
    }
}

/// Reads the trace in a file and accounts it: the whole way to a ranked list of operations.
pub fn footprint_of_trace(path: &Path, power: &Power) -> Result<(Footprint, Tef)> {
    let trace = read_trace(path, &ReadOptions::default(), &Progress::default())?;
    let metered: Vec<Metered<'_>> =
        power.series.iter().map(|(device, series)| Metered { device, kind: Kind::Measured, series }).collect();
    let footprint = account(&trace, &metered, Semantics::Exact)?;
    let tef = Tef::from(&footprint);
    Ok((footprint, tef))
}

/// How much of the measured energy is missing or too much, relative to it; the worst of all devices.
pub fn conservation_error(footprint: &Footprint) -> f64 {
    let errors = footprint.devices.iter().filter_map(|device| {
        let measured = device.total?.0;
        Some((device.attributed.0 + device.unattributed.0 - measured).abs() / measured)
    });
    errors.fold(0.0, f64::max)
}
