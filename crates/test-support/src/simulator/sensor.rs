//! Sensors: what a meter says of a device's power.

use jouletree_model::{EnergySeries, Joules, Nanos};

use super::power::Drawn;
use super::random::Random;

/// How a counter is read that moves at ticks of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ticks {
    /// At any time: a reading shows the last tick.
    Polled,
    /// Right after a tick.
    Aligned,
}

/// A sensor. Times are in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Sensor {
    pub period: f64,
    /// The relative noise of a reading.
    pub noise: f64,
    /// Readings are moved by up to this part of a period.
    pub dither: f64,
    pub lag: f64,
    /// By how much the clocks differ, relatively.
    pub drift: f64,
    pub low_pass: f64,
    /// The part of each window that is seen, its last.
    pub duty: f64,
    /// Ticks every millisecond, in units of 61 µJ.
    pub ticks: Option<Ticks>,
    /// The part of readings that is lost.
    pub dropped: f64,
}

impl Default for Sensor {
    fn default() -> Sensor {
        Sensor {
            period: 4e-3,
            noise: 0.01,
            dither: 0.0,
            lag: 0.0,
            drift: 0.0,
            low_pass: 0.0,
            duty: 1.0,
            ticks: None,
            dropped: 0.0,
        }
    }
}

/// The period of a tick, and its relative spread.
const TICK: (f64, f64) = (1e-3, 0.02);

/// How late a poll of such a counter is on average: the scheduler wakes it.
const LATE: f64 = 50e-6;

/// The unit of a counter in joules.
const QUANTUM: f64 = 61.035e-6;

impl Sensor {
    /// What it reads over so many seconds: energy until each reading.
    pub fn read(&self, random: &mut Random, drawn: &Drawn, seconds: f64, origin: Nanos) -> EnergySeries {
        let count = (seconds / self.period) as usize;
        let mut times: Vec<f64> = (0..=count).map(|index| index as f64 * self.period).collect();
        for time in &mut times[1..count] {
            *time += self.dither * self.period * random.between(-0.5, 0.5);
        }
        if self.dropped > 0.0 {
            let mut index = 0;
            times.retain(|_| {
                index += 1;
                index == 1 || index == count + 1 || random.uniform() > self.dropped
            });
        }
        let mut seen: Vec<f64> = times.iter().map(|time| (time - self.lag) * (1.0 + self.drift)).collect();
        if let Some(reading) = self.ticks {
            let mut ticks = vec![-random.uniform() * TICK.0];
            while ticks[ticks.len() - 1] < seconds + 0.01 {
                ticks.push(ticks[ticks.len() - 1] + TICK.0 * (1.0 + TICK.1 * random.normal()));
            }
            if reading == Ticks::Aligned {
                for time in &mut times {
                    *time = ticks[ticks.partition_point(|tick| tick < time)] + 2e-6;
                }
                times.dedup();
                seen = times.clone();
            }
            if reading == Ticks::Polled {
                for (time, seen) in times[1..].iter_mut().zip(&mut seen[1..]) {
                    let late = random.exponential(LATE).min(0.4 * self.period);
                    (*time, *seen) = (*time + late, *seen + late);
                }
            }
            for time in &mut seen {
                *time = ticks[ticks.partition_point(|tick| tick <= time).max(1) - 1].max(0.0);
            }
        }
        let until = drawn.low_passed(self.low_pass, &seen);
        let starts: Vec<f64> = seen.windows(2).map(|pair| pair[1] - self.duty * (pair[1] - pair[0])).collect();
        let starts = drawn.low_passed(self.low_pass, &starts);
        let mut total = 0.0;
        let mut series = EnergySeries::default();
        let at = |time: f64| Nanos(origin.0 + (time * 1e9).round() as i64);
        series.push(at(times[0]), Joules(0.0), false).unwrap();
        for ((time, end), start) in times[1..].iter().zip(&until[1..]).zip(&starts) {
            total += ((end - start) / self.duty * (1.0 + self.noise * random.normal())).max(0.0);
            let shown = if self.ticks.is_some() { (total / QUANTUM).floor() * QUANTUM } else { total };
            series.push(at(*time), Joules(shown), false).unwrap();
        }
        series
    }
}
