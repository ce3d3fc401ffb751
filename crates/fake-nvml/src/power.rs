//! Power over time with its energy in closed form: what a meter is to be compared with.

use serde::{Deserialize, Serialize};

/// The power that a GPU of a script draws; time is in seconds since the script's start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "lowercase")]
pub enum Power {
    /// Always the same.
    Constant {
        /// How much.
        watts: f64,
    },
    /// From one power to another in a straight line, and then the latter for ever.
    Ramp {
        /// The power at the start.
        from: f64,
        /// The power at the end.
        to: f64,
        /// How long the way takes.
        seconds: f64,
    },
    /// High for half a period, low for the other half.
    Square {
        /// The lower power.
        low: f64,
        /// The higher power.
        high: f64,
        /// The length of both halves together, in seconds.
        period: f64,
    },
}

impl Power {
    /// The power at an instant; before the start it is what it is at the start.
    pub fn watts(&self, at: f64) -> f64 {
        match *self {
            Power::Constant { watts } => watts,
            Power::Ramp { from, to, seconds } => from + (to - from) * (at / seconds).clamp(0.0, 1.0),
            Power::Square { low, high, period } => {
                if at < 0.0 || at.rem_euclid(period) < period / 2.0 {
                    high
                } else {
                    low
                }
            }
        }
    }

    /// The joules used between two instants.
    pub fn joules(&self, start: f64, end: f64) -> f64 {
        self.since_start(end) - self.since_start(start)
    }

    fn since_start(&self, at: f64) -> f64 {
        if at < 0.0 {
            return self.watts(0.0) * at;
        }
        match *self {
            Power::Constant { watts } => watts * at,
            Power::Ramp { from, to, seconds } => {
                let rising = at.min(seconds);
                from * rising + (to - from) * rising * rising / (2.0 * seconds) + to * (at - rising)
            }
            Power::Square { low, high, period } => {
                let rest = at.rem_euclid(period);
                let whole = (at - rest) * (low + high) / 2.0;
                whole + high * rest.min(period / 2.0) + low * (rest - period / 2.0).max(0.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_power() -> impl Strategy<Value = Power> {
        let watts = 0.0..500.0f64;
        prop_oneof![
            watts.clone().prop_map(|watts| Power::Constant { watts }),
            (watts.clone(), watts.clone(), 0.1..3.0f64).prop_map(|(from, to, seconds)| Power::Ramp {
                from,
                to,
                seconds
            }),
            (watts.clone(), watts, 0.05..1.0f64).prop_map(|(low, high, period)| Power::Square {
                low,
                high,
                period
            }),
        ]
    }

    proptest! {
        #[test]
        fn the_closed_form_is_what_summing_gives(power in any_power(), start in -0.5..2.0f64, time in 0.0..3.0f64) {
            let steps = 20_000;
            let step = time / f64::from(steps);
            let summed: f64 = (0..steps).map(|i| power.watts(start + (f64::from(i) + 0.5) * step) * step).sum();
            // A square wave's edge may fall anywhere in a step.
            let edges = 500.0 * step * (2.0 * time / 0.05 + 2.0);
            prop_assert!((summed - power.joules(start, start + time)).abs() <= 1e-6 + edges);
        }
    }

    #[test]
    fn known_energies() {
        let ramp = Power::Ramp { from: 0.0, to: 100.0, seconds: 2.0 };
        assert_eq!(ramp.joules(0.0, 2.0), 100.0);
        assert_eq!(ramp.joules(2.0, 3.0), 100.0);
        let square = Power::Square { low: 10.0, high: 110.0, period: 1.0 };
        assert_eq!(square.joules(0.0, 0.5), 55.0);
        assert_eq!(square.joules(0.0, 3.0), 180.0);
        assert_eq!(Power::Constant { watts: 7.0 }.joules(1.0, 3.0), 14.0);
    }
}
