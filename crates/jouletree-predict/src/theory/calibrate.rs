//! One measured run ties theory to a machine.
//!
//! A single total can fix a single number. Where it lies inside the bracket, that number is how much of the avoidable
//! traffic the machine really has, and the costs stay as they are; where it lies outside, all costs are scaled to the
//! end of the bracket that is nearer.

use jouletree_model::Joules;
use serde::{Deserialize, Serialize};

use super::OperatorEstimate;

/// What one measured run said about a machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How much of the traffic between the bracket's ends happens: 0 is perfect reuse, 1 none.
    pub avoidable_traffic: f64,
    /// What all costs are multiplied by.
    pub cost_factor: f64,
}

/// A measurement that fixes nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CalibrationError {
    /// Not an energy that a run could take.
    #[error("a run cannot have taken {0} J; give the measured energy of one run of the model")]
    NotAnEnergy(f64),
    /// Theory says that nothing happens.
    #[error("theory gives `{0}` no energy to scale; calibrate with a model that computes")]
    Nothing(String),
}

impl Calibration {
    /// What makes theory's energy of this model equal to the measured one.
    pub fn by(model: &OperatorEstimate, measured: Joules) -> Result<Calibration, CalibrationError> {
        if !(measured.0.is_finite() && measured.0 > 0.0) {
            return Err(CalibrationError::NotAnEnergy(measured.0));
        }
        let (once, naive) = (model.once().0, model.naive().0);
        if once <= 0.0 {
            return Err(CalibrationError::Nothing(model.name.clone()));
        }
        Ok(if measured.0 < once {
            Calibration { avoidable_traffic: 0.0, cost_factor: measured.0 / once }
        } else if measured.0 > naive {
            Calibration { avoidable_traffic: 1.0, cost_factor: measured.0 / naive }
        } else {
            let share = if naive > once { (measured.0 - once) / (naive - once) } else { 0.0 };
            Calibration { avoidable_traffic: share, cost_factor: 1.0 }
        })
    }

    /// The energy of an operator or a model on the machine of the measured run.
    pub fn energy(&self, estimate: &OperatorEstimate) -> Joules {
        let (once, naive) = (estimate.once().0, estimate.naive().0);
        Joules(self.cost_factor * (once + self.avoidable_traffic * (naive - once)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::builtin::{Choice, builtin};
    use crate::theory::{Bits, Costs, Estimate, estimate};

    fn alexnet() -> Estimate {
        let operators = builtin("alexnet", Choice::default()).unwrap();
        estimate("alexnet", &operators, Bits::ThirtyTwo, &Costs::default())
    }

    #[test]
    fn the_measured_run_is_met_inside_and_outside_the_bracket() {
        let model = alexnet();
        for measured in [0.01, 0.2, 1.42] {
            let calibration = Calibration::by(&model.total, Joules(measured)).unwrap();
            let total = calibration.energy(&model.total).0;
            let parts: f64 = model.operators.iter().map(|operator| calibration.energy(operator).0).sum();
            assert!((total / measured - 1.0).abs() < 1e-12);
            assert!((parts / measured - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn impossible_measurements_are_refused() {
        for measured in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Calibration::by(&alexnet().total, Joules(measured)).is_err());
        }
    }
}
