//! The rule of the FECoM study, repeated as its program computes it, for comparison with its numbers.
//!
//! Start and end are stamps of the newest line a sampler had printed, not the times of the call. The window is made of
//! the samples from that nearest the start, which belongs to it, to that nearest the end, which does not; a sample covers
//! the time before its stamp, so that the window is one interval early. Power is multiplied by the nominal interval.

use jouletree_model::{DeviceClass, Joules, Nanos, PowerSample, SampleUnit, SampledPower, Watts};

/// FECoM's settings that matter to its energies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FecomRule {
    /// From how long before the call its baseline is; as many samples as whole intervals go into it.
    pub baseline: Nanos,
    /// A tail is the time in which the mean of so many samples, from each on, …
    pub mean_of: usize,
    /// … is at least this much over the baseline on graphics processors, and at least the baseline on others.
    pub gpu_over: Watts,
}

/// The stamps between which a call ran, on the clock of a sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamps {
    /// The newest sample when the call began.
    pub start: Nanos,
    /// The newest sample when it ended.
    pub end: Nanos,
    /// Samples before this are baseline. FECoM takes the stamp of `perf` here, for `nvidia-smi` as well.
    pub baseline_before: Nanos,
}

/// A call's energy as FECoM computes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FecomNet {
    /// How many samples it counts.
    pub samples: usize,
    /// What they sum up to; `None` without samples.
    pub gross: Option<Joules>,
    /// The mean power before the call; `None` without samples there.
    pub baseline: Option<Watts>,
    /// Its standard deviation; `None` with fewer than two samples.
    pub deviation: Option<Watts>,
    /// How many samples it is the mean of.
    pub baseline_samples: usize,
    /// What is left of the sum.
    pub net: Option<Joules>,
    /// What stays up afterwards.
    pub tail: Option<FecomTail>,
}

/// The tail of a call as FECoM computes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FecomTail {
    /// From its first sample to its last.
    pub duration: Nanos,
    /// What its samples sum up to.
    pub gross: Joules,
    /// What of that is over the baseline.
    pub net: Joules,
    /// Whether it was not over when recording stopped.
    pub is_cut: bool,
}

impl Default for FecomRule {
    /// What the study used.
    fn default() -> FecomRule {
        FecomRule { baseline: Nanos(20_000_000_000), mean_of: 5, gpu_over: Watts(2.0) }
    }
}

impl Stamps {
    /// The stamps of a sampler that prints at once what happened by then, for a call of which the exact times are known.
    pub fn of_newest(sampled: &SampledPower, start: Nanos, end: Nanos) -> Stamps {
        let newest = |time: Nanos| {
            let printed = sampled.samples.partition_point(|sample| sampled.began + sample.time <= time);
            let last = printed.checked_sub(1).and_then(|last| sampled.samples.get(last));
            last.map_or(time - sampled.began, |sample| sample.time)
        };
        let (start, end) = (newest(start), newest(end));
        Stamps { start, end, baseline_before: start }
    }
}

/// What a call used of one device.
pub fn net(sampled: &SampledPower, stamps: Stamps, rule: &FecomRule) -> FecomNet {
    let samples = &sampled.samples;
    let scale = Scale::of(sampled);
    let window = match (nearest(samples, stamps.start), nearest(samples, stamps.end)) {
        (Some(from), Some(to)) => samples.get(from..to).unwrap_or_default(),
        _ => &[],
    };
    let count = (rule.baseline.seconds() / sampled.interval.seconds()) as usize;
    let before = samples.partition_point(|sample| sample.time < stamps.baseline_before);
    let baseline = samples.get(before.saturating_sub(count)..before).unwrap_or_default();
    let level = (!baseline.is_empty()).then(|| sum(baseline) / baseline.len() as f64);
    let gross = (!window.is_empty()).then(|| sum(window));
    FecomNet {
        samples: window.len(),
        gross: gross.map(|gross| scale.joules(gross)),
        baseline: level.map(|level| scale.watts(level)),
        deviation: level.filter(|_| baseline.len() > 1).map(|level| {
            let squares: f64 = baseline.iter().map(|sample| (sample.value - level).powi(2)).sum();
            scale.watts((squares / (baseline.len() - 1) as f64).sqrt())
        }),
        baseline_samples: baseline.len(),
        net: gross.zip(level).map(|(gross, level)| scale.joules(gross - window.len() as f64 * level)),
        tail: level.map(|level| tail(sampled, stamps.end, level, rule)),
    }
}

/// The leading run of samples from the end on whose forward mean is over the baseline.
fn tail(sampled: &SampledPower, end: Nanos, level: f64, rule: &FecomRule) -> FecomTail {
    let scale = Scale::of(sampled);
    let over = match sampled.device.class() {
        DeviceClass::Gpu => scale.value_of(rule.gpu_over),
        _ => 0.0,
    };
    let first = sampled.samples.partition_point(|sample| sample.time < end);
    let after = sampled.samples.get(first..).unwrap_or_default();
    let is_up = |ahead: &&[PowerSample]| sum(ahead) / ahead.len() as f64 >= level + over;
    let ahead = || after.windows(rule.mean_of.max(1));
    let length = ahead().take_while(is_up).count();
    // The last samples have no mean of enough others, and so cannot belong to it.
    let is_cut = length > 0 && length == ahead().len();
    match after.get(..length).unwrap_or_default() {
        [] | [_] => FecomTail { duration: Nanos(0), gross: Joules::ZERO, net: Joules::ZERO, is_cut },
        run @ [first, .., last] => FecomTail {
            duration: last.time - first.time,
            gross: scale.joules(sum(run)),
            net: scale.joules(sum(run) - run.len() as f64 * level),
            is_cut,
        },
    }
}

/// What values of samples are worth.
struct Scale {
    unit: SampleUnit,
    interval: f64,
}

impl Scale {
    fn of(sampled: &SampledPower) -> Scale {
        Scale { unit: sampled.unit, interval: sampled.interval.seconds() }
    }

    fn joules(&self, value: f64) -> Joules {
        match self.unit {
            SampleUnit::Joules => Joules(value),
            SampleUnit::Watts => Joules(value * self.interval),
        }
    }

    fn watts(&self, value: f64) -> Watts {
        match self.unit {
            SampleUnit::Joules => Watts(value / self.interval),
            SampleUnit::Watts => Watts(value),
        }
    }

    fn value_of(&self, power: Watts) -> f64 {
        match self.unit {
            SampleUnit::Joules => power.0 * self.interval,
            SampleUnit::Watts => power.0,
        }
    }
}

fn sum(samples: &[PowerSample]) -> f64 {
    samples.iter().map(|sample| sample.value).sum()
}

/// The sample nearest a stamp; of two that are equally near, the earlier.
fn nearest(samples: &[PowerSample], stamp: Nanos) -> Option<usize> {
    let distance = |sample: &PowerSample| (i128::from(sample.time.0) - i128::from(stamp.0)).abs();
    (0..samples.len()).min_by_key(|index| samples.get(*index).map(distance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::Device;

    fn sampled(class: DeviceClass, unit: SampleUnit, values: impl IntoIterator<Item = f64>) -> SampledPower {
        let sample = |(number, value)| PowerSample { time: at(number as f64 + 1.0), value };
        SampledPower {
            device: Device::new(class, 0),
            unit,
            began: Nanos(0),
            interval: Nanos(500_000_000),
            samples: values.into_iter().enumerate().map(sample).collect(),
        }
    }

    /// The time of so many intervals.
    fn at(intervals: f64) -> Nanos {
        Nanos((intervals * 5e8) as i64)
    }

    fn stamps(start: f64, end: f64) -> Stamps {
        Stamps { start: at(start), end: at(end), baseline_before: at(start) }
    }

    /// Fifty idle samples of 1, ten of 4 in the call, five of 2 after it, then idling.
    fn trace(class: DeviceClass, unit: SampleUnit, watts: f64) -> SampledPower {
        let values = [(50, 1.0), (10, 4.0), (5, 2.0), (20, 0.9)];
        let values = values.into_iter().flat_map(|(count, value)| vec![value * watts; count]);
        sampled(class, unit, values)
    }

    #[test]
    fn the_window_is_one_sample_early() {
        // The call is over samples 51 to 60; the newest stamps are 50 and 60.
        let joules =
            net(&trace(DeviceClass::Cpu, SampleUnit::Joules, 1.0), stamps(50.0, 60.0), &FecomRule::default());
        assert_eq!((joules.samples, joules.baseline_samples), (10, 40));
        assert_eq!((joules.gross, joules.net), (Some(Joules(37.0)), Some(Joules(27.0))));
        assert_eq!((joules.baseline, joules.deviation), (Some(Watts(2.0)), Some(Watts(0.0))));
        let watts =
            net(&trace(DeviceClass::Gpu, SampleUnit::Watts, 10.0), stamps(50.0, 60.0), &FecomRule::default());
        assert_eq!((watts.gross, watts.net), (Some(Joules(185.0)), Some(Joules(135.0))));
    }

    #[test]
    fn a_tail_is_the_leading_run_over_the_baseline() {
        let tail =
            net(&trace(DeviceClass::Cpu, SampleUnit::Joules, 1.0), stamps(50.0, 60.0), &FecomRule::default());
        // From sample 60 on: means of five are at least 1 up to that of 65, 0.9, 0.9, 0.9, 0.9, which is 1.12.
        let tail = tail.tail.unwrap();
        assert_eq!((tail.duration, tail.is_cut), (at(5.0), false));
        assert!((tail.gross.0 - 14.0).abs() < 1e-12 && (tail.net.0 - 8.0).abs() < 1e-12, "{tail:?}");
        // 2 W more are wanted of a GPU: with 10 W idling the mean 11.2 W is not enough.
        let tail =
            net(&trace(DeviceClass::Gpu, SampleUnit::Watts, 10.0), stamps(50.0, 60.0), &FecomRule::default());
        assert_eq!(tail.tail.unwrap().duration, at(4.0));
    }

    #[test]
    fn a_tail_that_never_ends_is_cut_and_one_of_one_sample_is_nothing() {
        let up = sampled(DeviceClass::Cpu, SampleUnit::Joules, [1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
        let up = net(&up, stamps(2.0, 3.0), &FecomRule::default()).tail.unwrap();
        assert_eq!((up.duration, up.is_cut), (at(2.0), true));
        let one = sampled(DeviceClass::Cpu, SampleUnit::Joules, [1.0, 1.0, 5.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]);
        let one = net(&one, stamps(2.0, 3.0), &FecomRule::default()).tail.unwrap();
        assert_eq!((one.duration, one.net, one.is_cut), (Nanos(0), Joules(0.0), false));
    }

    #[test]
    fn equal_stamps_have_no_samples() {
        let none =
            net(&trace(DeviceClass::Cpu, SampleUnit::Joules, 1.0), stamps(50.0, 50.0), &FecomRule::default());
        assert_eq!((none.samples, none.gross, none.net), (0, None, None));
        assert!(none.baseline.is_some());
        let backwards =
            net(&trace(DeviceClass::Cpu, SampleUnit::Joules, 1.0), stamps(50.0, 40.0), &FecomRule::default());
        assert_eq!(backwards.samples, 0);
        let nothing =
            net(&sampled(DeviceClass::Cpu, SampleUnit::Joules, []), stamps(1.0, 2.0), &FecomRule::default());
        assert_eq!((nothing.samples, nothing.baseline, nothing.tail), (0, None, None));
    }

    #[test]
    fn the_newest_stamp_is_that_before() {
        let trace = trace(DeviceClass::Cpu, SampleUnit::Joules, 1.0);
        assert_eq!(Stamps::of_newest(&trace, at(50.3), at(60.9)), stamps(50.0, 60.0));
    }
}
