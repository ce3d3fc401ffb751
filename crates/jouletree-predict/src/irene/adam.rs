//! The optimiser Adam (Kingma and Ba, 2015) with its published constants.

const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The running moments of a gradient.
#[derive(Debug, Clone)]
pub struct Adam {
    rate: f64,
    first: Vec<f64>,
    second: Vec<f64>,
    first_power: f64,
    second_power: f64,
}

impl Adam {
    /// An optimiser of that many unknowns.
    pub fn new(unknowns: usize, rate: f64) -> Adam {
        Adam { rate, first: vec![0.0; unknowns], second: vec![0.0; unknowns], first_power: 1.0, second_power: 1.0 }
    }

    /// One step against the gradient.
    pub fn step(&mut self, unknowns: &mut [f64], gradient: &[f64]) {
        self.first_power *= FIRST_DECAY;
        self.second_power *= SECOND_DECAY;
        let size = self.rate / (1.0 - self.first_power);
        let correction = (1.0 - self.second_power).sqrt();
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((unknown, slope), (first, second)) in unknowns.iter_mut().zip(gradient).zip(moments) {
            *first = FIRST_DECAY * *first + (1.0 - FIRST_DECAY) * slope;
            *second = SECOND_DECAY * *second + (1.0 - SECOND_DECAY) * slope * slope;
            *unknown -= size * *first / (second.sqrt() / correction + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gradients 1 and then 3 by hand: moments 0.1, 0.001 and then 0.39, 0.009999; corrected 1, 1 and then
    /// 0.39 / 0.19, 0.009999 / 0.001999.
    #[test]
    fn two_steps_follow_the_hand_computed_sequence() {
        let mut adam = Adam::new(1, 0.1);
        let mut x = [5.0];
        adam.step(&mut x, &[1.0]);
        assert!((x[0] - (5.0 - 0.1 / (1.0 + 1e-8))).abs() < 1e-12);
        adam.step(&mut x, &[3.0]);
        let second = 0.1 * (0.39 / 0.19) / ((0.009_999f64 / 0.001_999).sqrt() + 1e-8);
        assert!((x[0] - (5.0 - 0.1 / (1.0 + 1e-8) - second)).abs() < 1e-12);
    }

    #[test]
    fn a_bowl_is_descended() {
        let mut adam = Adam::new(2, 0.05);
        let mut x = [3.0, -2.0];
        for _ in 0..2000 {
            let gradient = [2.0 * (x[0] - 1.0), 8.0 * (x[1] - 0.5)];
            adam.step(&mut x, &gradient);
        }
        assert!((x[0] - 1.0).abs() < 1e-3 && (x[1] - 0.5).abs() < 1e-3);
    }
}
