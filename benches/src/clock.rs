//! Clocks: how long work took on the wall and how much processor time it used.
//!
//! On a machine that others use too, processor time is the figure to trust; the best of several runs is taken.

use std::time::Instant;

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

/// How long something took.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// Seconds on the wall.
    pub wall: f64,
    /// Seconds of processor time, of all threads together.
    pub cpu: f64,
}

impl Took {
    /// Longer than anything; where the search for the best begins.
    pub const FOREVER: Took = Took { wall: f64::INFINITY, cpu: f64::INFINITY };

    /// The shorter of both, clock by clock.
    pub fn best(self, other: Took) -> Took {
        Took { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }
}

/// Does the work once and says how long it took.
pub fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Took)> {
    let (wall, cpu) = (Instant::now(), process_seconds());
    let result = work()?;
    Ok((result, Took { wall: wall.elapsed().as_secs_f64(), cpu: process_seconds() - cpu }))
}

/// Does the work `runs` times and gives the last result and the best time.
pub fn best_of<T>(runs: usize, mut work: impl FnMut() -> Result<T>) -> Result<(T, Took)> {
    let (mut result, mut best) = timed(&mut work)?;
    for _ in 1..runs {
        let (again, took) = timed(&mut work)?;
        (result, best) = (again, best.best(took));
    }
    Ok((result, best))
}

/// The processor time of this process so far, of all threads together.
pub fn process_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
