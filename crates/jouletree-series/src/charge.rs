//! The samples of one sensor, worked through once: points of energy, the part of the process tree, the total.

use jouletree_model::sampling::{Anchors, Mono, Sample, SensorInfo};
use jouletree_model::{Device, EnergySeries, Joules, Nanos};

use crate::share::{Cut, Increment, ShareBook, Split};
use crate::{Estimate, OnWall, Point, SeriesBuilder, WallPoint, Whole};

/// How far the parts of an energy may be from the whole, by rounding.
const ROUNDING: f64 = 1e-9;

/// A point of a device's energy, and what of it the tree had used by then.
#[derive(Debug, Clone, Copy)]
pub struct Charged {
    /// The point.
    pub point: WallPoint,
    /// What the tree had used by then.
    pub ours: Joules,
}

/// The energy of one sensor over a whole recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceBalance {
    /// The energy with its interval.
    pub energy: Estimate,
    /// Who used it; `None` for the part of a device.
    pub parts: Option<Split>,
    /// How often there was a gap.
    pub gaps: u64,
}

/// The parts of an energy do not make the whole: a fault of this program.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the parts of {device}'s energy are {} J and not {} J; please report this", parts.0, energy.0)]
pub struct Unbalanced {
    /// The device.
    pub device: Device,
    /// The sum of the parts.
    pub parts: Joules,
    /// The whole.
    pub energy: Joules,
}

/// One sensor while its samples are worked through.
#[derive(Debug)]
pub struct DeviceSeries {
    /// The sensor.
    pub info: SensorInfo,
    /// Whose shares split its energy.
    pub cut: Cut,
    builder: SeriesBuilder,
    wall: OnWall,
    whole: Whole,
    parts: Split,
    /// What the tree used so far.
    ours: Joules,
    gaps: u64,
}

impl DeviceSeries {
    /// For the samples of a sensor that is read once in a period.
    pub fn new(info: SensorInfo, period: Nanos) -> DeviceSeries {
        let cut = Cut::of(&info);
        DeviceSeries {
            builder: SeriesBuilder::new(&info, period),
            wall: OnWall::default(),
            whole: Whole::of(&info),
            info,
            cut,
            parts: Split::default(),
            ours: Joules::ZERO,
            gaps: 0,
        }
    }

    /// Takes a sample of the sensor, later than those before.
    pub fn take(&mut self, sample: Sample) {
        self.builder.take(sample);
    }

    /// The points that are final; their energy is split by the shares of sockets and GPUs.
    pub fn finished(&mut self, anchors: &Anchors, sockets: &ShareBook, gpus: &ShareBook) -> Vec<Charged> {
        let (points, gaps) = self.builder.finished();
        self.gaps += gaps as u64;
        let points: Vec<Point> = points.collect();
        let points = points.into_iter().filter_map(|point| self.wall.take(point, anchors)).collect();
        self.count(points, sockets, gpus)
    }

    /// The last instant before the points that are not final; `None` where nothing is known or nothing follows.
    pub fn open_since(&self) -> Option<Mono> {
        self.whole.open_since()
    }

    /// The last points.
    pub fn end(&mut self, anchors: &Anchors, sockets: &ShareBook, gpus: &ShareBook) -> Vec<Charged> {
        let fresh = SeriesBuilder::new(&self.info, Nanos(0));
        let builder = std::mem::replace(&mut self.builder, fresh);
        self.gaps += builder.gaps().len() as u64;
        let mut points: Vec<WallPoint> =
            builder.into_points().filter_map(|point| self.wall.take(point, anchors)).collect();
        points.extend(std::mem::take(&mut self.wall).end());
        self.count(points, sockets, gpus)
    }

    /// The balance of a recording of this length. Its parts make the whole, or something is wrong with this program.
    pub fn balance(&self, length: Nanos) -> Result<DeviceBalance, Unbalanced> {
        let energy = self.whole.clone().estimate(length);
        let is_whole = self.cut != Cut::Part;
        let (whole, sum) = (energy.joules, self.parts.total());
        if is_whole && (sum.0 - whole.0).abs() > ROUNDING * whole.0 + ROUNDING * 1e-3 {
            return Err(Unbalanced { device: self.info.device.clone(), parts: sum, energy: whole });
        }
        Ok(DeviceBalance { energy, parts: is_whole.then_some(self.parts), gaps: self.gaps })
    }

    fn count(&mut self, mut points: Vec<WallPoint>, sockets: &ShareBook, gpus: &ShareBook) -> Vec<Charged> {
        let horizon = EnergySeries::HORIZON.0.unsigned_abs();
        points.retain(|point| point.time.0.unsigned_abs() <= horizon);
        let mut increments = Vec::with_capacity(points.len());
        let mut grows = Vec::with_capacity(points.len());
        for point in &points {
            let grown = self.whole.take(*point);
            grows.push(grown.is_some());
            increments.extend(grown);
        }
        let mut ours = self.cut(&increments, sockets, gpus).into_iter();
        let charged = points.into_iter().zip(grows).map(|(point, grows)| {
            self.ours += if grows { ours.next() } else { None }.unwrap_or(Joules::ZERO);
            Charged { point, ours: self.ours }
        });
        charged.collect()
    }

    /// Splits increments; gives the tree's part of each.
    fn cut(&mut self, increments: &[Increment], sockets: &ShareBook, gpus: &ShareBook) -> Vec<Joules> {
        let split = self.cut.split(increments, sockets, gpus);
        // Summed by stretches first: one long sum of a day's samples would lose digits.
        let mut sum = Split::default();
        split.iter().for_each(|parts| sum.add(*parts));
        self.parts.add(sum);
        // A GPU whose driver does not report its processes is charged to the tree; a processor never serves one tree alone.
        let is_gpu = matches!(self.cut, Cut::Gpu(_));
        let ours = split.iter().map(|split| if is_gpu { split.ours + split.unknown } else { split.ours });
        // A share in a damaged file may be any number; energy only grows.
        ours.map(|Joules(ours)| Joules(if ours.is_finite() { ours.max(0.0) } else { 0.0 })).collect()
    }
}
