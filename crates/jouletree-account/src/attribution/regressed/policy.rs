//! The policy: where powers can be estimated and predict left-out readings better, operations are charged by them; elsewhere
//! shares are equal, and the reason is kept.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::sync::Arc;

use jouletree_model::{
    EnergySeries, ErrorModel, Explanation, Joules, Kind, Learned, LeftOut, OpError, OpId, PowerSpan, PowerSpread,
    Residuals, SensorFound, TimeRange, Watts,
};

use super::classify::classified;
use super::columns::NONE;
use super::estimate::{Degenerate, Estimate, Sensor, estimate};
use super::kernel::Kernel;
use super::options::Options;
use super::restore::restored;
use super::search::Range;
use super::shares::{each_share, happened};
use super::windows::Windows;
use crate::attribution::{Active, Errors, Observed, Policy, Shares};
use crate::{Attribution, OpTally};

/// With fewer readings nothing is estimated: blocks of them must be left out.
const LEAST_READINGS: usize = 60;

/// The half-widths of the steps that polish the sensor's lag, in seconds.
const WIDTHS: [f64; 4] = [1e-4, 5e-5, 2e-5, 2e-5];

/// The largest lag of a sensor, in seconds, beside its own period.
const MOST_LAG: f64 = 0.1;

/// Estimated powers are used only if their expected error is at most this, relative to all that is charged …
const MOST_ERROR: f64 = 0.3;

/// … and at most this part of their distance from equal shares. Left-out readings cannot show it: where steps are locked to
/// readings, these always hold the same mixes, which are predicted whatever the powers in them.
const MOST_OF_DISTANCE: f64 = 0.75;

/// The policy.
#[derive(Debug, Clone, Copy, Default)]
pub struct Regressed;

/// Why shares are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reason {
    NotMeasured(Kind),
    FewReadings(usize),
    FewOperations(usize),
    NoEnergy,
    NotBetter(f64),
    NotSeparable(f64),
    Degenerate,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotMeasured(kind) => write!(
                f,
                "its energy is {}: a model of power knows nothing of single operations; a meter would",
                kind.as_str()
            ),
            Reason::FewReadings(readings) => write!(
                f,
                "{readings} readings while operations were recorded, {LEAST_READINGS} are needed; record for longer"
            ),
            Reason::FewOperations(0) => f.write_str("no operation ran on it"),
            Reason::FewOperations(_) => f.write_str("only one operation ran on it"),
            Reason::NoEnergy => f.write_str("the meter saw no energy while operations were recorded"),
            Reason::NotBetter(t) => write!(
                f,
                "estimated powers do not predict left-out readings better than equal shares do (t = {t:.1}, {} needed); \
                 record for longer, or with a shorter period",
                Options::default().least_t
            ),
            Reason::NotSeparable(error) => write!(
                f,
                "readings do not separate operations: estimated powers would be off by {:.0} % on average; steps may be \
                 locked to readings, or too few",
                error * 100.0
            ),
            Reason::Degenerate => f.write_str("the readings do not determine any power"),
        }
    }
}

impl From<Degenerate> for Reason {
    fn from(degenerate: Degenerate) -> Reason {
        match degenerate {
            Degenerate::Numbers => Reason::Degenerate,
            Degenerate::NothingRan => Reason::FewOperations(0),
        }
    }
}

/// What the policy learned of a device.
#[derive(Debug, Clone)]
pub struct Knowledge {
    explanation: Explanation,
    powers: Option<Powers>,
}

/// The estimated powers of a device.
#[derive(Debug, Clone)]
struct Powers {
    /// The watts of each operation in one lane, beside those of the idle device.
    watts: Vec<f64>,
    idle: f64,
    series: EnergySeries,
    errors: Errors,
}

/// The spans inside the times when operations were recorded.
fn recorded(spans: &[PowerSpan], ranges: &[TimeRange]) -> Vec<PowerSpan> {
    let mut place = 0;
    let is_recorded = |span: &&PowerSpan| {
        while ranges.get(place).is_some_and(|range| range.end < span.range.end) {
            place += 1;
        }
        ranges.get(place).is_some_and(|range| range.start <= span.range.start)
    };
    spans.iter().filter(is_recorded).copied().collect()
}

/// What a sensor may be, by how often it is read.
fn possible(windows: &Windows) -> Sensor {
    let usual = windows.usual_duration();
    let plain = Kernel::default();
    let mut shapes = vec![plain];
    if usual < 0.02 {
        // Counters of processors tick every millisecond.
        shapes.push(Kernel { blur: 1e-3, ..plain });
    }
    shapes.extend([0.5, 0.25].map(|duty| Kernel { duty, ..plain }));
    if usual < 0.2 {
        shapes.extend([1.0, 2.0].map(|times| Kernel { low_pass: times * usual, ..plain }));
    }
    // A reading may be of the time before it or after it, and be late besides.
    let most = (usual + (0.5 * usual).min(MOST_LAG)).max(2.5e-3);
    let least = (0.5 * usual).min(MOST_LAG).max(2.5e-3);
    Sensor { kernel: plain, search: Some(Range { shapes, lags: (-least, most) }), widths: WIDTHS.to_vec() }
}

impl Regressed {
    fn learn(self, device: &Observed<'_>) -> Result<(Estimate, Windows), Reason> {
        if matches!(device.kind, Kind::Estimated | Kind::Predicted) {
            return Err(Reason::NotMeasured(device.kind));
        }
        let mut ran = device.lanes.iter().flat_map(|lane| lane.events()).map(|event| event.op);
        let first = ran.next().ok_or(Reason::FewOperations(0))?;
        if !ran.any(|op| op != first) {
            return Err(Reason::FewOperations(1));
        }
        let spans = recorded(device.spans, device.recorded);
        if spans.len() < LEAST_READINGS {
            return Err(Reason::FewReadings(spans.len()));
        }
        let windows = Windows::of(&spans);
        let mean = windows.mean_power();
        if !(mean > 0.0 && mean.is_finite()) {
            return Err(Reason::NoEnergy);
        }
        let catalog = classified(device.ops);
        let estimate = estimate(device, &windows, &catalog, &possible(&windows), &Options::default())?;
        Ok((estimate, windows))
    }
}

impl Policy for Regressed {
    type Fit = Knowledge;
    type Shares = RegressedShares;

    fn fit(&self, device: &Observed<'_>) -> Knowledge {
        let options = Options::default();
        let equal = |reason: Reason, learned| Knowledge {
            explanation: Explanation {
                device: device.device.clone(),
                used: Attribution::Equal.to_string(),
                reason: Some(reason.to_string()),
                learned,
            },
            powers: None,
        };
        let (estimate, windows) = match self.learn(device) {
            Ok(learned) => learned,
            Err(reason) => return equal(reason, None),
        };
        let learned = estimate.learned(&windows);
        if estimate.validation.t < options.least_t {
            return equal(Reason::NotBetter(estimate.validation.t), Some(learned));
        }
        let charges = Charges::of(device, &windows, &estimate);
        let (error, distance) = charges.expected();
        if !(error <= MOST_ERROR && error <= MOST_OF_DISTANCE * distance) {
            return equal(Reason::NotSeparable(error), Some(learned));
        }
        let all = Windows::of(device.spans);
        // Lags count from the first window that was fitted.
        let all = all.counted_from(windows.origin);
        let fitted = (&estimate.columns, &estimate.fit);
        let Some(series) = restored(device.lanes, &all, &estimate.kernel, fitted, options.duty_block) else {
            return equal(Reason::Degenerate, Some(learned));
        };
        let power = |column: &u32| match *column {
            NONE => 0.0,
            column => estimate.fit.powers[column as usize],
        };
        Knowledge {
            explanation: Explanation {
                device: device.device.clone(),
                used: Attribution::Regressed.to_string(),
                reason: None,
                learned: Some(learned),
            },
            powers: Some(Powers {
                watts: estimate.columns.of.iter().map(power).collect(),
                idle: estimate.fit.powers.last().copied().unwrap_or_default(),
                series,
                errors: charges.errors,
            }),
        }
    }

    fn shares(&self, fit: &Knowledge, part: &Observed<'_>) -> RegressedShares {
        let reciprocals = (0..=part.lanes.len()).map(|n| if n == 0 { 0.0 } else { 1.0 / n as f64 }).collect();
        let most = part.lanes.iter().flat_map(|lane| lane.events()).map(|event| event.op.0).max();
        let numbers = most.map_or(0, |most| most as usize + 1);
        let Some(powers) = &fit.powers else {
            // Equal shares: nothing but what active lanes share.
            return RegressedShares {
                reciprocals,
                watts: vec![0.0; numbers],
                idle: 1.0,
                means: vec![1.0; part.spans.len()],
                errors: None,
                operations: Vec::new(),
            };
        };
        let operations: Vec<OpId> = (0..numbers as u32).map(|op| part.operation(OpId(op))).collect();
        let watts: Vec<f64> =
            operations.iter().map(|op| powers.watts.get(op.index()).copied().unwrap_or_default()).collect();
        let mut sums = vec![0.0; part.spans.len()];
        part.each_piece(|piece| {
            let active: f64 = piece.active.iter().map(|(_, op)| watts[op.index()]).sum();
            sums[piece.span] += (powers.idle + active) * piece.range.duration().0 as f64;
        });
        let mean = |(span, sum): (&PowerSpan, f64)| sum / span.range.duration().0 as f64;
        let means = part.spans.iter().zip(sums).map(mean).collect();
        let errors = Some(powers.errors.clone());
        RegressedShares { reciprocals, watts, idle: powers.idle, means, errors, operations }
    }

    fn series<'f>(&self, fit: &'f Knowledge) -> Option<&'f EnergySeries> {
        fit.powers.as_ref().map(|powers| &powers.series)
    }

    fn errors(&self, fit: &Knowledge) -> Option<Errors> {
        fit.powers.as_ref().map(|powers| powers.errors.clone())
    }

    fn explanation(&self, fit: &Knowledge) -> Option<Explanation> {
        Some(fit.explanation.clone())
    }
}

/// What operations are charged with by both policies while readings were fitted, and the errors of one.
struct Charges {
    errors: Errors,
    /// By estimated powers, equal shares, and the standard error of the first, in joules.
    of_ops: Vec<(f64, f64, f64)>,
}

impl Charges {
    /// What the charge of each operation follows, how much of its own power and how much of idle power, and what it comes to.
    fn of(device: &Observed<'_>, windows: &Windows, estimate: &Estimate) -> Charges {
        let Estimate { columns, fit, covariance, kernel, .. } = estimate;
        let spans = happened(windows, kernel);
        // Lane time, its share among lanes, and energy by equal shares.
        let mut sums = vec![(0.0, 0.0, 0.0); columns.of.len()];
        each_share(device, &spans, |piece| {
            let share = piece.seconds / piece.active.len().max(1) as f64;
            for (_, op) in piece.active {
                if let Some(sum) = sums.get_mut(device.operation(*op).index()) {
                    let equal = share * spans[piece.window].power.0;
                    *sum = (sum.0 + piece.seconds, sum.1 + share, sum.2 + equal);
                }
            }
        });
        let widening = covariance.widening().powi(2);
        let model = ErrorModel::new(covariance.idle() + 1, |a, b| widening * covariance.get(a, b));
        let mut errors = Errors { ops: BTreeMap::new(), model: Arc::new(model) };
        let mut of_ops = Vec::new();
        let idle = fit.powers.last().copied().unwrap_or_default();
        for (op, (column, (lane, share, equal))) in columns.of.iter().zip(sums).enumerate() {
            let Some(power) = fit.powers.get(*column as usize).filter(|_| *column != NONE) else { continue };
            let (own, alike) = (lane * power, share * idle);
            let part = if own > 0.0 { own / (own + alike) } else { 1.0 };
            let apart = covariance.widening() * covariance.lumped(columns, op).sqrt();
            let error = OpError { power: *column, part, apart };
            let sum = errors.model.charge(error, Joules(own + alike));
            of_ops.push((own + alike, equal, sum.standard_error().0));
            errors.ops.insert(OpId(op as u32), error);
        }
        Charges { errors, of_ops }
    }

    /// The expected error of charges by estimated powers, and how far equal shares are from these, both relative to all charges.
    fn expected(&self) -> (f64, f64) {
        // The mean distance of a normal deviation is 0.8 of its standard deviation.
        let sum = |of: fn(&(f64, f64, f64)) -> f64| self.of_ops.iter().map(of).sum::<f64>();
        let total = sum(|of| of.0);
        (0.8 * sum(|of| of.2) / total, sum(|of| (of.0 - of.1).abs()) / total)
    }
}

impl Estimate {
    fn learned(&self, windows: &Windows) -> Learned {
        let Estimate { columns, fit, kernel, validation, .. } = self;
        let [operations, roles, types] = fit.variances.map(f64::sqrt);
        let (shape, time_s) = match kernel {
            Kernel { blur, .. } if *blur > 0.0 => ("ticks", Some(*blur)),
            Kernel { low_pass, .. } if *low_pass > 0.0 => ("low-pass", Some(*low_pass)),
            Kernel { duty, .. } if *duty < 1.0 => ("part-time", None),
            _ => ("ideal", None),
        };
        let middle = windows.ranges.last().map_or(0.0, |last| last.1 / 2.0);
        let reading_s = windows.usual_duration();
        Learned {
            sensor: SensorFound {
                shape: shape.to_owned(),
                time_s,
                duty: kernel.duty,
                reading_s,
                lag_s: kernel.lag + kernel.rate * middle,
                lag_error_s: self.lag_error,
                drift_ppm: kernel.rate * 1e6,
            },
            readings: self.windows,
            own_powers: columns.own,
            shared_powers: columns.of.iter().filter(|column| **column != NONE).count() - columns.own,
            spread: PowerSpread { types, roles, operations },
            idle_w: Watts(fit.powers.last().copied().unwrap_or_default()),
            noise: fit.noise.sqrt() / (windows.mean_power() * reading_s),
            residuals: Residuals { portmanteau: self.portmanteau, autoregression: self.phi.clone() },
            left_out: LeftOut {
                regressed_j: Joules(validation.regressed),
                equal_j: Joules(validation.equal),
                t: validation.t,
            },
        }
    }
}

/// Shares by estimated powers: the parts of a span are scaled by one factor to what was read.
#[derive(Debug, Clone)]
pub struct RegressedShares {
    /// 1/n for n active lanes, 0 for none.
    reciprocals: Vec<f64>,
    /// The watts of each operation.
    watts: Vec<f64>,
    /// The watts of the idle device, which active lanes share.
    idle: f64,
    /// The mean power that the model gives each span.
    means: Vec<f64>,
    errors: Option<Errors>,
    /// The operation of each number.
    operations: Vec<OpId>,
}

/// What an operation pays alike, and what it pays for each watt of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    alike: f64,
    for_watts: f64,
}

impl Add for Cost {
    type Output = Cost;

    #[inline]
    fn add(self, other: Cost) -> Cost {
        Cost { alike: self.alike + other.alike, for_watts: self.for_watts + other.for_watts }
    }
}

impl Sub for Cost {
    type Output = Cost;

    #[inline]
    fn sub(self, other: Cost) -> Cost {
        Cost { alike: self.alike - other.alike, for_watts: self.for_watts - other.for_watts }
    }
}

impl AddAssign for Cost {
    #[inline]
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl Shares for RegressedShares {
    type Weight = f64;
    type Load = ();
    type Cost = Cost;

    #[inline]
    fn weight(&self, _lane: usize, op: OpId) -> f64 {
        self.watts[op.index()]
    }

    #[inline]
    fn begin(&self, _load: (), _weight: f64) {}

    #[inline]
    fn end(&self, _load: (), _weight: f64) {}

    #[inline]
    fn cost(&self, span: usize, energy: f64, active: Active<()>) -> Cost {
        let for_watts = energy / self.means[span];
        Cost { alike: self.idle * for_watts * self.reciprocals[active.lanes], for_watts }
    }

    #[inline]
    fn charge(&self, cost: Cost, watts: f64) -> f64 {
        cost.alike + watts * cost.for_watts
    }

    #[inline]
    fn unattributed(&self, span: usize, idle: f64, _busy: f64) -> f64 {
        idle * self.idle / self.means[span]
    }

    fn standard_error(&self, op: OpId, charged: &OpTally) -> Option<Joules> {
        let errors = self.errors.as_ref()?;
        errors.of(*self.operations.get(op.index())?, charged.energy).map(|sum| sum.standard_error())
    }
}
