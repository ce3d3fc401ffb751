//! How a sensor sees a device: late, over a while, part of the time.
//!
//! One formula for every sensor: what is active during `[s, e)` adds `Q(b-s) - Q(b-e) - Q(a-s) + Q(a-e)` seconds to the reading
//! of the window `[a, b)`, Q being the twice integrated impulse response. A lag moves all executions; where the clocks drift it
//! is a line in time. Times are seconds since the first window.

/// After how many time constants a low-pass has forgotten.
const FORGOTTEN: f64 = 12.0;

/// What distinguishes sensors. At most one of `blur`, `low_pass` and `duty < 1` is in force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Kernel {
    /// By how much readings are late, at the first window.
    pub(super) lag: f64,
    /// By how much the lag grows, in seconds a second.
    pub(super) rate: f64,
    /// The period of a counter that moves at its own ticks, which are anywhere relative to readings.
    pub(super) blur: f64,
    /// The time constant of a first-order low-pass.
    pub(super) low_pass: f64,
    /// The part of each window that is seen, its last.
    pub(super) duty: f64,
}

impl Default for Kernel {
    fn default() -> Kernel {
        Kernel { lag: 0.0, rate: 0.0, blur: 0.0, low_pass: 0.0, duty: 1.0 }
    }
}

impl Kernel {
    /// When that happened which is seen at an instant.
    pub(super) fn before(&self, seen: f64) -> f64 {
        (seen - self.lag) / (1.0 + self.rate)
    }

    /// For how long an execution is still seen after it ended, low-passes left out.
    pub(super) fn tail(&self) -> f64 {
        self.blur
    }

    /// How far back a window reaches.
    pub(super) fn memory(&self) -> f64 {
        if self.low_pass > 0.0 { FORGOTTEN * self.low_pass } else { self.blur }
    }

    /// The same without what makes it differ from a meter that is merely late.
    pub(super) fn late_only(&self) -> Kernel {
        Kernel { lag: self.lag, rate: self.rate, ..Kernel::default() }
    }

    /// The same that sees all of each window.
    pub(super) fn whole(&self) -> Kernel {
        Kernel { duty: 1.0, ..*self }
    }

    /// Seconds of `[start, end)` in the window `[from, to)`; low-passes are computed by their recursion.
    #[inline]
    pub(super) fn seen(&self, (start, end): (f64, f64), (from, to): (f64, f64)) -> f64 {
        if self.blur > 0.0 {
            let q = |z: f64| match z {
                z if z <= 0.0 => 0.0,
                z if z < self.blur => z * z / (2.0 * self.blur),
                z => z - self.blur / 2.0,
            };
            q(to - start) - q(to - end) - q(from - start) + q(from - end)
        } else {
            end.min(to) - start.max(from)
        }
    }
}
