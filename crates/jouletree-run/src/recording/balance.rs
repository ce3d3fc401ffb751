//! One sensor on its way from samples to points of energy and to the balance of its device.

use jouletree_meter::series::{OnWall, Point, SeriesBuilder, WallPoint, Whole};
use jouletree_meter::share::{Cut, Increment, ShareBook, Split};
use jouletree_model::sampling::{Anchors, Mono, Sample, SensorInfo};
use jouletree_model::{EnergySeries, Joules, Nanos};

use super::{Balance, Parts};
use crate::RunError;

/// How far the parts of an energy may be from the whole, by rounding.
const ROUNDING: f64 = 1e-9;

/// A point of a device's energy, and what of it the tree had used by then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charged {
    pub(super) point: WallPoint,
    pub(super) ours: Joules,
}

/// A sensor that is worked through.
pub(super) struct Meter {
    pub(super) info: SensorInfo,
    pub(super) cut: Cut,
    builder: SeriesBuilder,
    wall: OnWall,
    whole: Whole,
    last: Option<Mono>,
    gap_follows: bool,
    parts: Parts,
    /// What the tree used so far.
    ours: Joules,
    gaps: u64,
}

impl Meter {
    pub(super) fn new(info: SensorInfo, period: Nanos) -> Meter {
        let cut = Cut::of(&info);
        Meter {
            builder: SeriesBuilder::new(&info, period),
            wall: OnWall::default(),
            whole: Whole::of(&info),
            info,
            cut,
            last: None,
            gap_follows: false,
            parts: Parts::default(),
            ours: Joules::ZERO,
            gaps: 0,
        }
    }

    pub(super) fn take(&mut self, sample: Sample) {
        self.builder.take(sample);
    }

    /// The points that are final; their energy is cut by what was told of sockets and GPUs.
    pub(super) fn finished(&mut self, anchors: &Anchors, sockets: &ShareBook, gpus: &ShareBook) -> Vec<Charged> {
        let (points, gaps) = self.builder.finished();
        self.gaps += gaps as u64;
        let points: Vec<Point> = points.collect();
        let points = points.into_iter().filter_map(|point| self.wall.take(point, anchors)).collect();
        self.count(points, sockets, gpus)
    }

    /// The last instant before the points that are not final; `None` where nothing is known or nothing follows.
    pub(super) fn open_since(&self) -> Option<Mono> {
        self.last.filter(|_| !self.gap_follows)
    }

    /// The last points.
    pub(super) fn end(&mut self, anchors: &Anchors, sockets: &ShareBook, gpus: &ShareBook) -> Vec<Charged> {
        let fresh = SeriesBuilder::new(&self.info, Nanos(0));
        let builder = std::mem::replace(&mut self.builder, fresh);
        self.gaps += builder.gaps().len() as u64;
        let mut points: Vec<WallPoint> =
            builder.into_points().filter_map(|point| self.wall.take(point, anchors)).collect();
        points.extend(std::mem::take(&mut self.wall).end());
        self.count(points, sockets, gpus)
    }

    /// The balance of a recording of this length. Its parts make the whole, or something is wrong with this program.
    pub(super) fn balance(self, length: Nanos) -> Result<Balance, RunError> {
        let estimate = self.whole.estimate(length);
        let Parts { ours, others, idle, unknown, .. } = self.parts;
        let (energy, sum) = (estimate.joules.0, ours.0 + others.0 + idle.0 + unknown.0);
        if self.cut != Cut::Part && (sum - energy).abs() > ROUNDING * energy + ROUNDING * 1e-3 {
            let device = &self.info.device;
            let problem =
                format!("the parts of {device}'s energy are {sum} J and not {energy} J; please report this");
            return Err(RunError::Inconsistent(problem));
        }
        Ok(Balance {
            parts: (self.cut != Cut::Part).then_some(self.parts),
            device: self.info.device,
            domain: self.info.domain,
            kind: self.info.kind,
            energy: estimate.joules,
            low: estimate.low,
            high: estimate.high,
            coverage: estimate.coverage,
            gaps: self.gaps,
        })
    }

    fn count(&mut self, mut points: Vec<WallPoint>, sockets: &ShareBook, gpus: &ShareBook) -> Vec<Charged> {
        let horizon = EnergySeries::HORIZON.0.unsigned_abs();
        points.retain(|point| point.time.0.unsigned_abs() <= horizon);
        let mut increments = Vec::with_capacity(points.len());
        let mut grows = Vec::with_capacity(points.len());
        for point in &points {
            let from = self.last.replace(point.at);
            self.gap_follows = point.gap_follows;
            let grown = self.whole.take(*point).zip(from);
            grows.push(grown.is_some());
            increments.extend(grown.map(|(energy, from)| Increment { from, to: point.at, energy }));
        }
        let mut ours = self.cut(&increments, sockets, gpus).into_iter();
        let charged = points.into_iter().zip(grows).map(|(point, grows)| {
            self.ours += if grows { ours.next() } else { None }.unwrap_or(Joules::ZERO);
            Charged { point, ours: self.ours }
        });
        charged.collect()
    }

    /// Cuts increments, and says what of each was the tree's.
    fn cut(&mut self, increments: &[Increment], sockets: &ShareBook, gpus: &ShareBook) -> Vec<Joules> {
        let split = self.cut.split(increments, sockets, gpus);
        // Summed by stretches first: one long sum of a day's samples would lose digits.
        let sum = |part: fn(&Split) -> Joules| split.iter().map(part).sum::<Joules>();
        self.parts.ours += sum(|split| split.ours);
        self.parts.others += sum(|split| split.others);
        self.parts.idle += sum(|split| split.idle);
        self.parts.unknown += sum(|split| split.unknown);
        self.parts.own += sum(|split| split.own);
        // A GPU that does not tell who uses it is taken to work for the tree; a processor never does so for one alone.
        let is_gpu = matches!(self.cut, Cut::Gpu(_));
        let ours = split.iter().map(|split| if is_gpu { split.ours + split.unknown } else { split.ours });
        // A share that a damaged file tells may be anything; energy only grows.
        ours.map(|Joules(ours)| Joules(if ours.is_finite() { ours.max(0.0) } else { 0.0 })).collect()
    }
}
