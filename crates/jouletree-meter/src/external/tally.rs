//! What the lines of a meter add up to.

use jouletree_model::{Nanos, PowerUnit};

use super::line::{Columns, Point};
use crate::period::Period;

/// Until it is seen how often a meter speaks.
pub(super) const ASSUMED_PERIOD: Nanos = Nanos(1_000_000_000);

/// A meter that is silent for so many of its periods, and for this long at least, is not just late.
const SILENT_PERIODS: i64 = 5;
const SHORTEST_SILENCE: Nanos = Nanos(500_000_000);

/// A clock that is further off than this is reported.
const CLOCK: Nanos = Nanos(10_000_000_000);

/// Energy, and what was wrong with the lines.
#[derive(Debug)]
pub(super) struct Tally {
    unit: PowerUnit,
    columns: Option<Columns>,
    last: Option<(Nanos, f64)>,
    joules: f64,
    period: Period,
    gaps: u64,
    lines: u64,
    unreadable: u64,
    first_unreadable: Option<String>,
    backwards: u64,
    clock_error: Nanos,
}

impl Tally {
    pub(super) fn new(unit: PowerUnit) -> Tally {
        Tally {
            unit,
            columns: None,
            last: None,
            joules: 0.0,
            period: Period::assumed(ASSUMED_PERIOD),
            gaps: 0,
            lines: 0,
            unreadable: 0,
            first_unreadable: None,
            backwards: 0,
            clock_error: Nanos(0),
        }
    }

    /// Takes the line that a file begins with, if it is a header.
    pub(super) fn header(&mut self, line: &str) -> bool {
        let Some(columns) = Columns::of_header(line) else { return false };
        self.unit = columns.unit;
        self.columns = Some(columns);
        true
    }

    /// Takes a line; says the instant of its reading, by our clock, when it has one.
    pub(super) fn line(&mut self, line: &str, arrived: Nanos) -> Option<Nanos> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || self.header(line) {
            return None;
        }
        self.lines += 1;
        let columns = self.columns.or_else(|| Columns::of_line(line, self.unit));
        let Some((columns, point)) = columns.and_then(|columns| Some((columns, columns.read(line)?))) else {
            self.unreadable += 1;
            self.first_unreadable.get_or_insert_with(|| line.chars().take(60).collect());
            return None;
        };
        self.columns = Some(columns);
        let time = point.time.unwrap_or(arrived);
        self.add(time, point);
        let error = arrived - time;
        if error.0.saturating_abs() > CLOCK.0 {
            // It is not the time here; how long things took is still right.
            self.clock_error = error;
            return Some(arrived);
        }
        Some(time)
    }

    fn add(&mut self, time: Nanos, point: Point) {
        let Some((before, value)) = self.last.replace((time, point.value)) else { return };
        let between = time - before;
        if between == Nanos(0) && point.time.is_none() {
            // Lines that arrive together count as one: the last of them counts.
            return;
        }
        let energy = match self.unit {
            PowerUnit::Watts => (value + point.value) / 2.0 * between.seconds(),
            PowerUnit::Joules => point.value - value,
        };
        if between <= Nanos(0) || energy < 0.0 {
            self.backwards += 1;
            self.gaps += 1;
        } else if between > self.timeout() && self.unit == PowerUnit::Watts {
            self.gaps += 1;
        } else {
            self.period.saw(between);
            self.joules += energy;
        }
    }

    /// What comes next does not follow what came before.
    pub(super) fn interrupt(&mut self) {
        if self.last.take().is_some() {
            self.gaps += 1;
        }
    }

    pub(super) fn unit(&self) -> PowerUnit {
        self.unit
    }

    pub(super) fn microjoules(&self) -> u64 {
        (self.joules * 1e6) as u64
    }

    pub(super) fn period(&self) -> Nanos {
        self.period.get()
    }

    /// How long it may be silent.
    pub(super) fn timeout(&self) -> Nanos {
        Nanos(self.period().0.saturating_mul(SILENT_PERIODS)).max(SHORTEST_SILENCE)
    }

    /// How many stretches of time are missing.
    pub(super) fn gaps(&self) -> u64 {
        self.gaps
    }

    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(first) = &self.first_unreadable {
            let (unreadable, lines) = (self.unreadable, self.lines);
            remarks.push(format!("{unreadable} of {lines} lines could not be read, the first of them `{first}`"));
        }
        if self.backwards > 0 {
            remarks.push(format!("time or energy ran backwards {} times; each is a gap", self.backwards));
        }
        if self.clock_error != Nanos(0) {
            let (size, side) = (Nanos(self.clock_error.0.saturating_abs()), self.clock_error.0 > 0);
            let side = if side { "behind" } else { "ahead of" };
            remarks.push(format!("its clock is {size} {side} ours: its lines count from when they arrive"));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_794_770_717_000_000_000;

    /// The energy of lines that arrive as they are written.
    fn tally(unit: PowerUnit, lines: &[(i64, f64)]) -> Tally {
        let mut tally = Tally::new(unit);
        for (milliseconds, value) in lines {
            let time = NOW + milliseconds * 1_000_000;
            assert_eq!(tally.line(&format!("{time},{value}"), Nanos(time)), Some(Nanos(time)));
        }
        tally
    }

    #[test]
    fn powers_are_joined_by_straight_lines() {
        let tally = tally(PowerUnit::Watts, &[(0, 100.0), (1000, 100.0), (2000, 200.0), (2500, 0.0)]);
        assert_eq!(tally.microjoules(), 100_000_000 + 150_000_000 + 50_000_000);
        assert_eq!((tally.gaps(), tally.remarks()), (0, Vec::new()));
    }

    #[test]
    fn energies_are_differences_and_a_silence_is_none() {
        let tally = tally(PowerUnit::Joules, &[(0, 5000.0), (1000, 5100.0), (61_000, 5700.0)]);
        assert_eq!((tally.microjoules(), tally.gaps()), (700_000_000, 0));
    }

    #[test]
    fn a_silence_of_a_power_meter_is_a_gap_and_adds_nothing() {
        let lines = [(0, 100.0), (100, 100.0), (200, 100.0), (300, 100.0), (2000, 100.0), (2100, 100.0)];
        let tally = tally(PowerUnit::Watts, &lines);
        assert_eq!((tally.microjoules(), tally.gaps(), tally.period()), (40_000_000, 1, Nanos(100_000_000)));
    }

    #[test]
    fn what_runs_backwards_is_a_gap_and_is_told() {
        let power = tally(PowerUnit::Watts, &[(0, 100.0), (1000, 100.0), (500, 100.0), (1500, 100.0)]);
        assert_eq!((power.microjoules(), power.gaps()), (200_000_000, 1));
        let energy = tally(PowerUnit::Joules, &[(0, 900.0), (1000, 10.0), (2000, 30.0)]);
        assert_eq!((energy.microjoules(), energy.gaps()), (20_000_000, 1));
        assert!(energy.remarks()[0].contains("backwards 1 times"), "{:?}", energy.remarks());
    }

    #[test]
    fn lines_without_a_time_count_from_when_they_arrive() {
        let mut tally = Tally::new(PowerUnit::Watts);
        for (second, line) in [(0, "100"), (0, "200"), (1, "200"), (2, "400")] {
            tally.line(line, Nanos(NOW + second * 1_000_000_000));
        }
        assert_eq!((tally.microjoules(), tally.gaps()), (500_000_000, 0));
    }

    #[test]
    fn lines_that_cannot_be_read_are_counted_and_shown() {
        let mut tally = Tally::new(PowerUnit::Watts);
        for line in
            ["# a comment", "", "time,watts", "1794770717,100", "oops", "12", "1794770718,100", "1794770719,-4"]
        {
            tally.line(line, Nanos(NOW));
        }
        assert_eq!(tally.microjoules(), 100_000_000);
        assert_eq!(tally.remarks(), ["3 of 5 lines could not be read, the first of them `oops`"]);
    }

    #[test]
    fn a_clock_that_is_off_is_told_and_does_no_harm() {
        let mut tally = Tally::new(PowerUnit::Watts);
        for second in 0..3 {
            let arrived = Nanos(NOW + second * 1_000_000_000);
            let said = tally.line(&format!("{},50", 1_794_770_717 - 3600 + second), arrived);
            assert_eq!(said, Some(arrived));
        }
        assert_eq!(tally.microjoules(), 100_000_000);
        assert!(tally.remarks()[0].contains("3.60 ks behind"), "{:?}", tally.remarks());
    }
}
