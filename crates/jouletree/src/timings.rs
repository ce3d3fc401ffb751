//! How long each stage of a command took.

use std::time::{Duration, Instant};

/// Stages and their durations, in order.
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

    /// Writes the stages to standard error.
    pub fn print(&self) {
        for (name, duration, note) in &self.stages {
            let note = note.as_ref().map(|note| format!("  ({note})")).unwrap_or_default();
            writeln_stderr!("{name:<10} {:>9.3} ms{note}", duration.as_secs_f64() * 1e3);
        }
    }
}
