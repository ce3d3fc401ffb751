//! How the errors of charges go together: what the error of a sum is that follows from estimated powers.
//!
//! A policy that estimates powers knows the covariance of their logarithms. A charge follows one power and that of the idle
//! device; so the error of any sum of charges, such as that of a layer, follows from the parts of it that follow each power.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Joules, OpId};

/// The covariance of the logarithms of the estimated powers of one device; the last is that of the idle device.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorModel {
    /// The lower triangle, row by row. Half the size of what it was computed with is exact enough for an error.
    triangle: Vec<f32>,
    size: usize,
}

/// Which powers the charge of an operation follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpError {
    /// The number of its power in the [`ErrorModel`].
    pub power: u32,
    /// The part of its charge that follows it; the rest follows idle power.
    pub part: f64,
    /// The relative standard deviation of its power from the one it shares with others; zero where it has one of its own.
    pub apart: f64,
}

/// The errors of what operations were charged with on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceErrors {
    /// The index of the device in the footprint's devices.
    pub device: usize,
    /// What the charge of each operation follows.
    pub ops: BTreeMap<OpId, OpError>,
    /// How powers go together.
    pub model: Arc<ErrorModel>,
}

/// A sum of charges as far as its error goes: how many joules follow each power.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ErrorSum {
    /// For each model the joules that follow each power, by power, and the variance of what follows none.
    models: Vec<(Arc<ErrorModel>, Vec<(u32, f64)>, f64)>,
    /// The variance of charges whose errors are independent of all others.
    independent: f64,
}

impl ErrorModel {
    /// A model of `size` powers, whose covariances `covariance` knows.
    pub fn new(size: usize, covariance: impl Fn(usize, usize) -> f64) -> ErrorModel {
        let triangle = (0..size).flat_map(|row| (0..=row).map(move |column| (row, column)));
        ErrorModel { triangle: triangle.map(|(row, column)| covariance(row, column) as f32).collect(), size }
    }

    /// The number of idle power.
    pub fn idle(&self) -> u32 {
        self.size.saturating_sub(1) as u32
    }

    /// The error of a charge.
    pub fn charge(self: &Arc<ErrorModel>, op: OpError, energy: Joules) -> ErrorSum {
        let OpError { power, part, apart } = op;
        let terms = vec![(power, energy.0 * part), (self.idle(), energy.0 * (1.0 - part))];
        let alone = (energy.0 * part * apart).powi(2);
        ErrorSum { models: vec![(Arc::clone(self), terms, alone)], independent: 0.0 }
    }

    fn covariance(&self, a: u32, b: u32) -> f64 {
        let (row, column) = (a.max(b) as usize, a.min(b) as usize);
        self.triangle.get(row * (row + 1) / 2 + column).map_or(0.0, |covariance| f64::from(*covariance))
    }

    /// The variance of a sum of which so many joules follow each power.
    fn variance(&self, terms: &[(u32, f64)]) -> f64 {
        let mut variance = 0.0;
        for (place, (a, joules)) in terms.iter().enumerate() {
            let others = terms[..place].iter().map(|(b, other)| other * self.covariance(*a, *b));
            variance += joules * (joules * self.covariance(*a, *a) + 2.0 * others.sum::<f64>());
        }
        variance.max(0.0)
    }
}

impl DeviceErrors {
    /// The error of a charge of an operation; `None` where it is not known.
    pub fn of(&self, op: OpId, energy: Joules) -> Option<ErrorSum> {
        Some(self.model.charge(*self.ops.get(&op)?, energy))
    }
}

impl ErrorSum {
    /// A charge whose error is independent of all others.
    pub fn independent(error: Joules) -> ErrorSum {
        ErrorSum { models: Vec::new(), independent: error.0 * error.0 }
    }

    /// Adds other charges, of other operations or devices.
    pub fn add(&mut self, other: &ErrorSum) {
        self.independent += other.independent;
        for (model, terms, alone) in &other.models {
            match self.models.iter_mut().find(|(known, ..)| Arc::ptr_eq(known, model)) {
                Some((_, mine, mine_alone)) => {
                    *mine = merged(mine, terms);
                    *mine_alone += alone;
                }
                None => self.models.push((Arc::clone(model), merged(terms, &[]), *alone)),
            }
        }
    }

    /// The same with every charge multiplied.
    pub fn scaled(mut self, factor: f64) -> ErrorSum {
        self.independent *= factor * factor;
        for (_, terms, alone) in &mut self.models {
            terms.iter_mut().for_each(|(_, joules)| *joules *= factor);
            *alone *= factor * factor;
        }
        self
    }

    /// The standard error of the sum. Errors on different devices are independent.
    pub fn standard_error(&self) -> Joules {
        let variance = |(model, terms, alone): &(Arc<ErrorModel>, Vec<_>, f64)| model.variance(terms) + alone;
        Joules((self.independent + self.models.iter().map(variance).sum::<f64>()).sqrt())
    }
}

/// Joules by power of two sums, each in order of powers.
fn merged(a: &[(u32, f64)], b: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut sum: Vec<(u32, f64)> = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(first), Some(second)) if first.0 <= second.0 => a.next(),
            (Some(_), None) => a.next(),
            (_, Some(_)) => b.next(),
            (None, None) => return sum,
        };
        match (sum.last_mut(), next) {
            (Some(last), Some(next)) if last.0 == next.0 => last.1 += next.1,
            (_, next) => sum.extend(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_sums_follow_covariances() {
        // Two powers that are confused with each other, and an idle power that is known.
        let covariance = |a: usize, b: usize| [[0.04, -0.03, 0.0], [-0.03, 0.04, 0.0], [0.0; 3]][a][b];
        let model = Arc::new(ErrorModel::new(3, covariance));
        let op = |power, apart| OpError { power, part: 0.5, apart };
        let ops = [(OpId(0), op(0, 0.0)), (OpId(1), op(1, 0.0)), (OpId(2), op(1, 0.3))].into_iter().collect();
        let errors = DeviceErrors { device: 0, ops, model };
        let error = |op: u32, joules: f64| errors.of(OpId(op), Joules(joules)).unwrap();
        let is = |sum: &ErrorSum, wanted: f64| (sum.standard_error().0 - wanted).abs() < 1e-6;
        assert!(is(&error(0, 2.0), 0.2) && is(&error(1, 2.0), 0.2));
        let mut both = error(0, 2.0);
        both.add(&error(1, 2.0));
        assert!(is(&both, 0.02_f64.sqrt()), "{both:?}");
        let mut third = error(2, 2.0);
        assert!(is(&third, 0.13_f64.sqrt()), "{third:?}");
        third.add(&ErrorSum::independent(Joules(0.6)));
        assert!(is(&third, 0.7) && is(&third.clone().scaled(3.0), 2.1));
        assert_eq!(errors.of(OpId(9), Joules(1.0)), None);
    }
}
