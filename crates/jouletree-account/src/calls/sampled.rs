//! From what a tool printed to energy over time, and back.

use jouletree_model::{
    Device, DeviceClass, EnergySeries, Joules, Nanos, PowerSample, SampleUnit, SampledPower, SeriesError,
    TimeRange, Watts,
};

use crate::EnergyIndex;

/// The energy over time from samples. A sample covers the time since the one before it: `perf` prints what was used
/// since, and `nvidia-smi` a mean of the past. The first one covers one nominal interval.
pub fn series_of(sampled: &SampledPower) -> Result<EnergySeries, SeriesError> {
    let mut series = EnergySeries::default();
    let mut energy = Joules::ZERO;
    let mut last = None;
    for sample in &sampled.samples {
        let time = sampled.began + sample.time;
        let since = match last {
            Some(last) => last,
            None => {
                let since = time - sampled.interval;
                series.push(since, energy, false)?;
                since
            }
        };
        energy += match sampled.unit {
            SampleUnit::Joules => Joules(sample.value),
            SampleUnit::Watts => Watts(sample.value) * (time - since),
        };
        series.push(time, energy, false)?;
        last = Some(time);
    }
    Ok(series)
}

/// What a tool would have printed about a device at every `interval` since its energy is known: joules, or watts of a
/// graphics processor. An interval in which nothing is known shows nothing used.
pub fn resampled(device: &Device, series: &EnergySeries, interval: Nanos) -> SampledPower {
    let unit = if device.class() == DeviceClass::Gpu { SampleUnit::Watts } else { SampleUnit::Joules };
    let extent = series.extent().unwrap_or(TimeRange { start: Nanos(0), end: Nanos(0) });
    let index = EnergyIndex::from(series);
    let interval = interval.max(Nanos(1));
    let count = extent.duration().0 / interval.0;
    let sample = |number: i64| {
        let time = Nanos(interval.0.saturating_mul(number));
        let start = extent.start + (time - interval);
        let energy = index.between(TimeRange { start, end: extent.start + time });
        let value = match unit {
            SampleUnit::Joules => energy.0,
            SampleUnit::Watts => (energy / interval).0,
        };
        PowerSample { time, value }
    };
    let samples = (1..=count).map(sample).collect();
    SampledPower { device: device.clone(), unit, began: extent.start, interval, samples }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Nanos = Nanos(500_000_000);

    fn sampled(unit: SampleUnit, values: &[f64]) -> SampledPower {
        let sample = |(number, value): (usize, &f64)| PowerSample {
            time: Nanos(HALF.0 * (number as i64 + 1)),
            value: *value,
        };
        SampledPower {
            device: Device::new(DeviceClass::Gpu, 0),
            unit,
            began: Nanos(1_000_000_000),
            interval: HALF,
            samples: values.iter().enumerate().map(sample).collect(),
        }
    }

    #[test]
    fn a_sample_covers_the_time_before_it() {
        let joules = series_of(&sampled(SampleUnit::Joules, &[5.0, 7.0])).unwrap();
        let watts = series_of(&sampled(SampleUnit::Watts, &[10.0, 14.0])).unwrap();
        assert_eq!(joules, watts);
        let powers: Vec<(i64, f64)> =
            joules.spans().map(|span| (span.range.start.0 / 1_000_000, span.power.0)).collect();
        assert_eq!(powers, [(1000, 10.0), (1500, 14.0)]);
    }

    #[test]
    fn there_and_back_is_the_same() {
        let given = sampled(SampleUnit::Watts, &[10.0, 14.0, 3.0]);
        assert_eq!(resampled(&given.device, &series_of(&given).unwrap(), HALF), given);
        assert_eq!(resampled(&given.device, &EnergySeries::default(), HALF).samples, []);
    }

    #[test]
    fn time_that_stands_still_is_refused() {
        let mut given = sampled(SampleUnit::Joules, &[1.0, 2.0]);
        given.samples[1].time = given.samples[0].time;
        assert!(matches!(series_of(&given), Err(SeriesError::Time(_))));
        assert!(matches!(series_of(&sampled(SampleUnit::Joules, &[-1.0])), Err(SeriesError::Falls(_))));
    }
}
