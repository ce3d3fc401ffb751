//! What hardware would use that runs for some hours: the sum behind the ML CO2 calculator, without its rounding.

use jouletree_model::{Joules, Watts};

use crate::suggest::question;
use crate::tables::Accelerator;

const SECONDS_PER_HOUR: f64 = 3600.0;
/// More than a century, or more watts than a power station has, is a slip of the keyboard.
const MOST_HOURS: f64 = 1e6;
const MOST_WATTS: f64 = 1e9;

/// Accelerators and processors that run for a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Hardware {
    /// What one accelerator draws at most.
    pub watts: Watts,
    /// How many of them there are.
    pub count: u32,
    /// The part of their power that they draw on average. At 1 the sum is an upper bound.
    pub utilization: f64,
    /// What everything else in the machines draws.
    pub others: Watts,
    /// For how long.
    pub hours: f64,
}

/// Hardware that is not known or cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HardwareError {
    /// Not an accelerator that we know.
    #[error("`{given}` is no accelerator that has figures (its power can be given, too: --watts){}", question(.nearest))]
    Unknown {
        /// What was given.
        given: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// No power.
    #[error("a power of {0} W cannot be; give a number of watts from 0 to 1e9")]
    Watts(f64),
    /// No accelerators.
    #[error("{0} accelerators use nothing; give 1 or more")]
    Count(u32),
    /// No part of a power.
    #[error("a utilisation of {0} cannot be; give a part from 0 to 1")]
    Utilization(f64),
    /// No time.
    #[error("{0} hours cannot be; give a number from 0 to 1e6")]
    Hours(f64),
}

impl Hardware {
    /// Hardware that can be.
    pub fn new(
        watts: Watts,
        count: u32,
        utilization: f64,
        others: Watts,
        hours: f64,
    ) -> Result<Hardware, HardwareError> {
        let is_power = |watts: Watts| (0.0..=MOST_WATTS).contains(&watts.0);
        match () {
            () if !is_power(watts) => Err(HardwareError::Watts(watts.0)),
            () if !is_power(others) => Err(HardwareError::Watts(others.0)),
            () if count == 0 => Err(HardwareError::Count(count)),
            () if !(0.0..=1.0).contains(&utilization) => Err(HardwareError::Utilization(utilization)),
            () if !(0.0..=MOST_HOURS).contains(&hours) => Err(HardwareError::Hours(hours)),
            () => Ok(Hardware { watts, count, utilization, others, hours }),
        }
    }

    /// What all of it draws on average.
    pub fn power(&self) -> Watts {
        Watts(self.watts.0 * f64::from(self.count) * self.utilization + self.others.0)
    }

    /// What it uses in its time.
    pub fn energy(&self) -> Joules {
        Joules(self.power().0 * self.hours * SECONDS_PER_HOUR)
    }
}

/// The accelerator that the user means.
pub fn accelerator(text: &str) -> Result<&'static Accelerator, HardwareError> {
    Accelerator::find(text).ok_or_else(|| HardwareError::Unknown {
        given: text.to_owned(),
        nearest: Accelerator::nearest(text).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hardware(watts: f64, count: u32, utilization: f64, hours: f64) -> Result<Hardware, HardwareError> {
        Hardware::new(Watts(watts), count, utilization, Watts(0.0), hours)
    }

    /// The calculator's own example: 100 hours of one A100 PCIe, 250 W, is 25 kWh.
    #[test]
    fn watts_times_hours() {
        let energy = |found: Result<Hardware, HardwareError>| found.map(|found| found.energy().kilowatt_hours().0);
        assert_eq!(energy(hardware(250.0, 1, 1.0, 100.0)), Ok(25.0));
        assert_eq!(energy(hardware(250.0, 8, 0.5, 100.0)), Ok(100.0));
        let with_processor = Hardware::new(Watts(250.0), 2, 0.5, Watts(50.0), 10.0);
        assert_eq!(energy(with_processor), Ok(3.0));
    }

    #[test]
    fn what_cannot_be_is_told() {
        assert!(matches!(hardware(-1.0, 1, 1.0, 1.0), Err(HardwareError::Watts(_))));
        assert!(matches!(hardware(f64::NAN, 1, 1.0, 1.0), Err(HardwareError::Watts(_))));
        assert!(matches!(hardware(1.0, 0, 1.0, 1.0), Err(HardwareError::Count(0))));
        assert!(matches!(hardware(1.0, 1, 1.1, 1.0), Err(HardwareError::Utilization(_))));
        assert!(matches!(hardware(1.0, 1, 1.0, f64::INFINITY), Err(HardwareError::Hours(_))));
        let error = accelerator("RTX 4900").map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("did you mean `RTX 4090`?")));
    }
}
