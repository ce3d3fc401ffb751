//! Columns of numbers: as differences where neighbours are alike, and with a mark where a value is not known.

use super::WireError;

/// The difference of each to the one before; the first counts from zero.
pub(super) fn deltas(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut before = 0_i64;
    values.map(|value| value.wrapping_sub(std::mem::replace(&mut before, value))).collect()
}

/// Back from [`deltas`].
pub(super) fn sums(deltas: &[i64]) -> impl Iterator<Item = i64> {
    deltas.iter().scan(0_i64, |sum, delta| {
        *sum = sum.wrapping_add(*delta);
        Some(*sum)
    })
}

/// A number that may be unknown, as one that is not: known ones are one larger.
pub(super) fn known_plus_one(value: Option<u64>) -> u64 {
    value.map_or(0, |value| value.saturating_add(1))
}

/// Back from [`known_plus_one`].
pub(super) fn known(value: u64) -> Option<u64> {
    value.checked_sub(1)
}

/// The same in 32 bits.
pub(super) fn known_u32(value: u64, name: &'static str) -> Result<Option<u32>, WireError> {
    known(value).map(|value| u32::try_from(value).map_err(|_| WireError::Value(name))).transpose()
}

/// A real number that may be unknown.
pub(super) fn or_nan(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

/// Back from [`or_nan`].
pub(super) fn not_nan(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

/// Refuses columns that are not all of one length.
pub(super) fn all_of(length: usize, others: &[usize], name: &'static str) -> Result<(), WireError> {
    others.iter().all(|other| *other == length).then_some(()).ok_or(WireError::Columns(name))
}

/// The value in a row; rows were counted by [`all_of`].
pub(super) fn at<T: Copy>(column: &[T], row: usize, name: &'static str) -> Result<T, WireError> {
    column.get(row).copied().ok_or(WireError::Columns(name))
}
