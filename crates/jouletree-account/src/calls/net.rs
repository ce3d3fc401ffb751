//! What a call used beyond idling: cumulative energy at the call's own times, less a baseline, with what it may be off by.
//!
//! The **standard error** of a net energy is that of its baseline and of the counter. With a standard deviation *s* of the
//! energy of a block of time, *m* blocks of baseline and a window as long as *n* blocks, noise makes s·√(n + n²/m) of it; a
//! counter that counts in steps of *q* adds q/√12 at each end.
//!
//! **Edges** are no matter of chance: a reading that a window's edge cuts is shared out by time, though what it is over the
//! baseline may all belong to the call. What of it was left outside is reported beside the standard error.
//!
//! The **resolution** is the least net energy that is significant: 1.96 standard errors and the edges.

use jouletree_model::{DeviceClass, EnergySeries, Joules, Nanos, TimeRange, Watts};

use super::noise::level;
use super::tail::{Tail, TailRule, tail};
use crate::EnergyIndex;

/// The ends of a 95 % interval, in standard errors.
const NINETY_FIVE: f64 = 1.96;

/// How a call's energy is distinguished from that of idling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetRule {
    /// How much quiet time the baseline is learnt from.
    pub baseline: Nanos,
    /// The shortest time over which the power is taken to waver by itself.
    pub block: Nanos,
    /// A baseline of fewer blocks than this is none.
    pub least_blocks: usize,
    /// The step in which the counter counts; zero where it is not known or does not matter.
    pub step: Joules,
    /// When a tail is over.
    pub tail: TailRule,
}

/// The level of idling before a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Baseline {
    /// How much time it was learnt from.
    pub known: Nanos,
    /// The mean power.
    pub power: Watts,
    /// The standard deviation of the power of its blocks.
    pub deviation: Watts,
    /// How many blocks there are.
    pub blocks: usize,
    /// How long a block is.
    pub block: Nanos,
}

/// What a call used of one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetEnergy {
    /// The time of the call.
    pub window: TimeRange,
    /// How much of it something is known about.
    pub known: Nanos,
    /// How many readings, or changes of a counter, fall into it.
    pub readings: usize,
    /// All that the device used in it.
    pub gross: Joules,
    /// The level of idling before it; `None` where there was too little quiet time.
    pub baseline: Option<Baseline>,
    /// What was used beyond the baseline.
    pub net: Option<Joules>,
    /// The standard error of `net`.
    pub standard_error: Option<Joules>,
    /// What readings that the edges cut are over the baseline and may belong to the call, though it was left outside.
    pub edges: Option<Joules>,
    /// Why `net` is not significant, if so.
    pub below: Option<BelowResolution>,
    /// What stays up after the call.
    pub tail: Option<Tail>,
}

/// Why a net energy is not significant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BelowResolution {
    /// The call was over before the counter changed or a reading was taken.
    NoReading,
    /// It is within what noise and the times of readings can make of nothing.
    WithinNoise,
}

/// A device's energy, made ready to be asked about calls.
#[derive(Debug, Clone)]
pub struct CallMeter<'a> {
    series: &'a EnergySeries,
    index: EnergyIndex,
    rule: NetRule,
}

impl NetRule {
    /// What suits a class of devices: 20 s of baseline in blocks of half a second.
    pub fn for_class(class: DeviceClass) -> NetRule {
        NetRule {
            baseline: Nanos(20_000_000_000),
            block: Nanos(500_000_000),
            least_blocks: 5,
            step: Joules::ZERO,
            tail: TailRule::for_class(class),
        }
    }
}

impl BelowResolution {
    /// In a word or two, as it is written in files.
    pub fn as_str(self) -> &'static str {
        match self {
            BelowResolution::NoReading => "no reading",
            BelowResolution::WithinNoise => "within noise",
        }
    }
}

impl NetEnergy {
    fn below(&self) -> Option<BelowResolution> {
        let (net, resolution) = self.net.zip(self.resolution())?;
        if self.readings == 0 {
            return Some(BelowResolution::NoReading);
        }
        (net.0.abs() < resolution.0).then_some(BelowResolution::WithinNoise)
    }

    /// The least net energy that would have been significant: `net` is right to so much in 95 of 100 cases.
    pub fn resolution(&self) -> Option<Joules> {
        let (error, edges) = self.standard_error.zip(self.edges)?;
        Some(Joules(NINETY_FIVE * error.0 + edges.0))
    }
}

impl<'a> CallMeter<'a> {
    /// Makes a series ready.
    pub fn new(series: &'a EnergySeries, rule: NetRule) -> CallMeter<'a> {
        CallMeter { series, index: EnergyIndex::from(series), rule }
    }

    /// The rule by which it separates energy from idling.
    pub fn rule(&self) -> &NetRule {
        &self.rule
    }

    /// What was used in `window`, over the level of the `quiet` stretches; its tail is followed until `until`, and not at
    /// all when that is the end of the window.
    pub fn net(&self, window: TimeRange, quiet: &[TimeRange], until: Option<Nanos>) -> NetEnergy {
        let inside = self.index.spans_meeting(window).iter().map(|span| span.range.intersection(window));
        let known = inside.fold(Nanos(0), |known, inside| known + inside.duration());
        let gross = self.index.between(window);
        let baseline = self.baseline(quiet);
        let net = baseline.filter(|_| known > Nanos(0)).map(|baseline| gross - baseline.power * known);
        let baseline_of_net = baseline.filter(|_| net.is_some());
        let mut found = NetEnergy {
            window,
            known,
            readings: self.readings_in(window),
            gross,
            baseline,
            net,
            standard_error: baseline_of_net.map(|baseline| self.standard_error(known, &baseline)),
            edges: baseline_of_net.map(|baseline| self.left_outside(window, baseline.power)),
            below: None,
            tail: baseline.and_then(|baseline| {
                tail(self.series, &self.index, &self.rule.tail, &baseline, window.end, until)
            }),
        };
        found.below = found.below();
        found
    }

    fn baseline(&self, quiet: &[TimeRange]) -> Option<Baseline> {
        let level = level(&self.index, quiet, self.rule.block)?;
        let baseline = Baseline {
            known: level.known,
            power: level.power,
            deviation: level.deviation,
            blocks: level.blocks,
            block: level.block,
        };
        (baseline.blocks >= self.rule.least_blocks).then_some(baseline)
    }

    /// Whether a whole reading lies in a stretch of time.
    pub(super) fn has_reading(&self, stretch: TimeRange) -> bool {
        let is_inside = |span: &TimeRange| span.start >= stretch.start && span.end <= stretch.end;
        self.index.spans_meeting(stretch).iter().any(|span| is_inside(&span.range))
    }

    /// How many points of the series are in the window; one at its very end includes all that was used before.
    fn readings_in(&self, window: TimeRange) -> usize {
        self.index.spans_meeting(window).iter().filter(|span| span.range.end <= window.end).count()
    }

    fn standard_error(&self, known: Nanos, baseline: &Baseline) -> Joules {
        let block = baseline.block.seconds().max(1e-9);
        let (n, m) = (known.seconds() / block, baseline.blocks as f64);
        let noise = baseline.deviation.0 * block * (n + n * n / m).sqrt();
        Joules(noise.hypot(self.rule.step.0 / 6.0_f64.sqrt()))
    }

    /// What readings that the edges cut are over the baseline, as far as it was left outside of the window.
    fn left_outside(&self, window: TimeRange, baseline: Watts) -> Joules {
        let meeting = self.index.spans_meeting(window);
        // Those between the first and the last are not cut.
        let last = meeting.len().checked_sub(1).filter(|last| *last > 0);
        let ends = meeting.first().into_iter().chain(last.and_then(|last| meeting.get(last)));
        let outside = ends.map(|span| {
            let cut = span.range.duration() - span.range.intersection(window).duration();
            Joules(((span.power.0 - baseline.0) * cut.seconds()).abs())
        });
        outside.sum()
    }
}

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
