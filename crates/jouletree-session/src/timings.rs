//! How long each stage of accounting took.

use std::fmt;
use std::time::{Duration, Instant};

/// Stages and their durations, in order.
#[derive(Debug, Clone)]
pub struct Timings {
    since: Instant,
    stages: Vec<(&'static str, Duration, Option<String>)>,
}

impl Timings {
    /// Starts the clock.
    pub fn start() -> Timings {
        Timings { since: Instant::now(), stages: Vec::new() }
    }

    /// Ends a stage; `note` says how much was done.
    pub fn stage(&mut self, name: &'static str, note: Option<String>) {
        let now = Instant::now();
        self.stages.push((name, now - self.since, note));
        self.since = now;
    }
}

/// A line for each stage.
impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, duration, note) in &self.stages {
            let note = note.as_ref().map(|note| format!("  ({note})")).unwrap_or_default();
            writeln!(f, "{name:<10} {:>9.3} ms{note}", duration.as_secs_f64() * 1e3)?;
        }
        Ok(())
    }
}
