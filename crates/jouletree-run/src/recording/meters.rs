//! Samples become `power.parquet` and the balance of every device, in one pass that keeps only what it needs.

use std::collections::HashSet;
use std::path::Path;

use jouletree_model::sampling::{Anchors, GpuSample, Mono, Sample, SensorInfo, ShareSample};
use jouletree_model::{Joules, Kind, Nanos, Scope, Warning};
use jouletree_series::share::{Cut, Retention};
use jouletree_series::{Charged, DeviceSeries};

use super::shares::Shares;
use crate::RunError;
use crate::journal::{SensorRecord, StreamIn};
use crate::power_parquet::{Meter, PointWriter};

/// Shares are kept for at least this long.
const KEPT: Nanos = Nanos(10_000_000_000);

/// What the samples of a recording come to.
pub(super) struct Metered {
    pub(super) meters: Vec<DeviceSeries>,
    pub(super) samples: u64,
    /// The latest sample.
    pub(super) latest: Option<Mono>,
    pub(super) warnings: Vec<Warning>,
}

/// The sensors of a recording; one that meters what another does is left out.
struct Meters {
    meters: Vec<DeviceSeries>,
    /// The place among them of each sensor by its number in the samples.
    places: Vec<Option<usize>>,
    warnings: Vec<Warning>,
    /// For how long shares are needed.
    kept: Retention,
}

/// Works through the samples of a run and writes their energy to a new file; where a process `is_watched`, also the part of
/// every device's energy that its tree used.
pub(super) fn write_power(
    run: &Path,
    file: &Path,
    sensors: &[SensorRecord],
    period: Nanos,
    anchors: &Anchors,
    is_watched: bool,
) -> Result<Metered, RunError> {
    let Meters { mut meters, places, mut warnings, kept } = Meters::of(sensors, period);
    let mut writer = Writer::create(file, &meters, is_watched)?;
    let mut stream = StreamIn::<Sample>::open(run);
    let (mut sockets, mut gpus) = (Shares::<ShareSample>::open(run), Shares::<GpuSample>::open(run));
    let (mut samples, mut strange, mut latest) = (0, 0_u64, None);
    while let Some(rows) = stream.next() {
        samples += rows.len() as u64;
        for sample in rows {
            latest = latest.max(Some(sample.at));
            match places.get(usize::from(sample.sensor)) {
                Some(Some(place)) => meters[*place].take(sample),
                Some(None) => {}
                None => strange += 1,
            }
        }
        let Some(newest) = latest else { continue };
        let oldest = kept.oldest(newest, meters.iter().filter_map(DeviceSeries::open_since).min());
        sockets.between(oldest, newest);
        gpus.between(oldest, newest);
        for (place, meter) in meters.iter_mut().enumerate() {
            let points = meter.finished(anchors, sockets.book(), gpus.book());
            writer.write(place, points)?;
        }
    }
    for (place, meter) in meters.iter_mut().enumerate() {
        let points = meter.end(anchors, sockets.book(), gpus.book());
        writer.write(place, points)?;
    }
    writer.points.finish()?;
    warnings.extend([stream.warning(run), sockets.warning(run), gpus.warning(run)].into_iter().flatten());
    if strange > 0 {
        let message = format!("{strange} samples are of sensors that it does not name, and are left out");
        warnings.push(Warning::new(run.display().to_string(), message));
    }
    Ok(Metered { meters, samples, latest, warnings })
}

impl Meters {
    fn of(sensors: &[SensorRecord], period: Nanos) -> Meters {
        let (mut meters, mut places, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let mut known = HashSet::new();
        let sensors: Vec<SensorInfo> = sensors.iter().map(SensorInfo::from).collect();
        let kept = Retention::new(KEPT, period, &sensors);
        for info in sensors {
            if known.insert((info.device.clone(), info.domain.clone())) {
                places.push(Some(meters.len()));
                meters.push(DeviceSeries::new(info, period));
            } else {
                let message = format!("it is metered twice; `{}` is left out", info.source);
                warnings.push(Warning::new(info.device.to_string(), message));
                places.push(None);
            }
        }
        Meters { meters, places, warnings, kept }
    }
}

/// Writes points of devices, and of what the tree used of them.
struct Writer {
    points: PointWriter,
    /// The place of each meter's tree among the meters of the file.
    ours: Vec<Option<usize>>,
}

impl Writer {
    fn create(file: &Path, meters: &[DeviceSeries], is_watched: bool) -> Result<Writer, RunError> {
        let id = |DeviceSeries { info, .. }: &DeviceSeries| {
            (info.device.clone(), info.domain.clone(), Scope::Device, info.kind)
        };
        let mut ids: Vec<Meter> = meters.iter().map(id).collect();
        let mut ours = Vec::with_capacity(meters.len());
        for meter in meters {
            let is_cut = is_watched && matches!(meter.cut, Cut::Socket(_) | Cut::Gpu(_));
            ours.push(is_cut.then_some(ids.len()));
            if is_cut {
                // A share of what was measured is computed.
                let kind = meter.info.kind.max(Kind::Derived);
                ids.push((meter.info.device.clone(), None, Scope::Tree, kind));
            }
        }
        Ok(Writer { points: PointWriter::create(file, ids.into_iter())?, ours })
    }

    fn write(&mut self, place: usize, points: Vec<Charged>) -> Result<(), RunError> {
        for Charged { point, .. } in &points {
            let joules = Joules(point.microjoules as f64 * 1e-6);
            self.points.push(place, point.time, joules, point.gap_follows)?;
        }
        let Some(ours) = self.ours.get(place).copied().flatten() else { return Ok(()) };
        for Charged { point, ours: joules } in points {
            self.points.push(ours, point.time, joules, point.gap_follows)?;
        }
        Ok(())
    }
}
