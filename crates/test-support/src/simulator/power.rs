//! What a device draws while a program runs, and where its energy really goes.

use super::program::Program;
use super::random::Random;

/// What beside operations decides what a device draws.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings {
    /// The relative spread between executions of one operation.
    pub execution_spread: f64,
    /// Leakage grows with temperature: the amplitude, and the time constant in seconds.
    pub warming: Option<(f64, f64)>,
    /// Another process: bursts a second, their mean length in seconds, their watts.
    pub bursts: Option<(f64, f64, f64)>,
    /// Dynamic power saturates at so many watts.
    pub cap: Option<f64>,
}

/// Power as a piecewise constant function of time, and what follows from it.
#[derive(Debug, Clone)]
pub struct Drawn {
    times: Vec<f64>,
    /// The watts from each time on.
    watts: Vec<f64>,
    /// The joules until each time.
    joules: Vec<f64>,
    /// The energy that each operation really used: its own, and an equal share of idle power.
    pub truth: Vec<f64>,
}

impl Drawn {
    pub fn new(
        random: &mut Random,
        program: &Program,
        powers: &[f64],
        idle: f64,
        surroundings: Surroundings,
    ) -> Drawn {
        let spread = surroundings.execution_spread;
        let own: Vec<f64> = program
            .executions
            .iter()
            .map(|execution| powers[execution.op] * (spread * random.normal()).exp())
            .collect();
        // Time, change of dynamic power, of other power, of the number of active lanes.
        let mut changes = vec![(0.0, 0.0, 0.0, 0_i64), (program.seconds, 0.0, 0.0, 0)];
        for (execution, watts) in program.executions.iter().zip(&own) {
            changes.push((execution.start, *watts, 0.0, 1));
            changes.push((execution.end, -watts, 0.0, -1));
        }
        if let Some((rate, length, watts)) = surroundings.bursts {
            let mut at = random.exponential(1.0 / rate);
            while at < program.seconds {
                let watts = watts * (0.5 * random.normal()).exp();
                let end = (at + random.exponential(length)).min(program.seconds);
                changes.extend([(at, 0.0, watts, 0), (end, 0.0, -watts, 0)]);
                at += random.exponential(1.0 / rate);
            }
        }
        let warm = |at: f64| surroundings.warming.map_or(1.0, |(by, time)| 1.0 + by * -(-at / time).exp_m1());
        if surroundings.warming.is_some() {
            let count = (program.seconds / 0.01) as usize;
            changes.extend((0..count).map(|index| (index as f64 * 0.01, 0.0, 0.0, 0)));
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut dynamic, mut other, mut active) = (0.0_f64, 0.0, 0);
        let (mut times, mut watts, mut joules) = (Vec::new(), Vec::new(), Vec::new());
        // What an active operation has of its own power, and of the idle device's, until each time.
        let (mut kept, mut shared) = (Vec::new(), Vec::new());
        let (mut energy, mut effective, mut share) = (0.0, 0.0, 0.0);
        for (place, (time, of_operations, of_others, lanes)) in changes.iter().enumerate() {
            dynamic = if active + lanes == 0 { 0.0 } else { dynamic + of_operations };
            (other, active) = (other + of_others, active + lanes);
            let raw = dynamic.max(0.0);
            let capped = surroundings.cap.map_or(raw, |cap| cap * -(-raw / cap).exp_m1());
            let power = (capped + idle) * warm(*time) + other;
            (times.push(*time), watts.push(power), joules.push(energy));
            (kept.push(effective), shared.push(share));
            let length = changes.get(place + 1).map_or(0.0, |next| next.0 - time);
            energy += power * length;
            effective += length * warm(*time) * if raw > 0.0 { capped / raw } else { 1.0 };
            share += if active > 0 { length * warm(*time) / active as f64 } else { 0.0 };
        }
        let at = |sums: &[f64], time: f64| interpolated(&times, sums, time);
        let mut truth = vec![0.0; program.operations.len()];
        for (execution, watts) in program.executions.iter().zip(&own) {
            let between = |sums: &[f64]| at(sums, execution.end) - at(sums, execution.start);
            truth[execution.op] += watts * between(&kept) + idle * between(&shared);
        }
        Drawn { times, watts, joules, truth }
    }

    /// The joules until a time; before and after, the first and the last power hold.
    pub fn energy(&self, time: f64) -> f64 {
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        interpolated(&self.times, &self.joules, time)
            + (time - first).min(0.0) * self.watts[0]
            + (time - last).max(0.0) * self.watts[self.watts.len() - 1]
    }

    /// The joules until each of these times as a first-order low-pass shows them.
    pub fn low_passed(&self, constant: f64, times: &[f64]) -> Vec<f64> {
        if constant == 0.0 {
            return times.iter().map(|time| self.energy(*time)).collect();
        }
        let first = self.watts[0];
        let mut levels = vec![first; self.times.len()];
        for index in 1..levels.len() {
            let decay = (-(self.times[index] - self.times[index - 1]) / constant).exp();
            levels[index] = self.watts[index - 1] + (levels[index - 1] - self.watts[index - 1]) * decay;
        }
        let seen = |time: &f64| {
            let index = self.times.partition_point(|at| at <= time).max(1) - 1;
            let decay = (-(time - self.times[index]).max(0.0) / constant).exp();
            let level = self.watts[index] + (levels[index] - self.watts[index]) * decay;
            self.energy(*time) - constant * (level - first)
        };
        times.iter().map(seen).collect()
    }
}

fn interpolated(times: &[f64], sums: &[f64], time: f64) -> f64 {
    let after = times.partition_point(|at| *at <= time);
    match (after.checked_sub(1), sums.get(after)) {
        (None, _) => sums[0],
        (Some(before), None) => sums[before],
        (Some(before), Some(next)) => {
            let part = (time - times[before]) / (times[after] - times[before]);
            sums[before] + part * (next - sums[before])
        }
    }
}
