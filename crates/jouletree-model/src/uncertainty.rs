//! How uncertain a charge is by itself, apart from the common factor by which all energies of a device may be off
//! ([`Spread`](crate::Spread)).
//!
//! A standard error is absent where it is not known. A sum has one only if each of its parts has one or is zero.

use crate::Joules;

/// An energy and its standard error, if that is known.
pub type WithError = (Joules, Option<Joules>);

/// The standard error of the sum of two charges of different operations, or on different devices: errors are independent and
/// add in quadrature.
pub fn standard_error_of_sum(a: WithError, b: WithError) -> Option<Joules> {
    combined(a, b, f64::hypot)
}

/// The standard error of the sum of two charges of one operation on one device, such as in two stages: both follow from the
/// same estimate, so errors add linearly.
pub fn standard_error_of_same(a: WithError, b: WithError) -> Option<Joules> {
    combined(a, b, |a, b| a + b)
}

fn combined(a: WithError, b: WithError, add: impl Fn(f64, f64) -> f64) -> Option<Joules> {
    match (a, b) {
        // What is zero does not matter, whether or not its error is known.
        ((_, a), (Joules(0.0), None)) => a,
        ((Joules(0.0), None), (_, b)) => b,
        ((_, Some(a)), (_, Some(b))) => Some(Joules(add(a.0, b.0))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_errors_add_in_quadrature_and_common_ones_linearly() {
        let (a, b) = ((Joules(10.0), Some(Joules(3.0))), (Joules(20.0), Some(Joules(4.0))));
        assert_eq!(standard_error_of_sum(a, b), Some(Joules(5.0)));
        assert_eq!(standard_error_of_same(a, b), Some(Joules(7.0)));
    }

    #[test]
    fn a_part_without_error_takes_it_from_the_sum_unless_it_is_zero() {
        let known = (Joules(10.0), Some(Joules(3.0)));
        assert_eq!(standard_error_of_sum(known, (Joules(1.0), None)), None);
        assert_eq!(standard_error_of_sum((Joules(1.0), None), known), None);
        assert_eq!(standard_error_of_sum(known, (Joules::ZERO, None)), Some(Joules(3.0)));
        assert_eq!(standard_error_of_same((Joules::ZERO, None), known), Some(Joules(3.0)));
        assert_eq!(standard_error_of_sum((Joules::ZERO, None), (Joules::ZERO, None)), None);
    }
}
