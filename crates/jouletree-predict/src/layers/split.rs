//! Which layers a model may be fitted on: by a hash of their key, so that a layer is on the same side wherever it occurs.

use super::mersenne::MersenneTwister;

/// The side of the split that a layer is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitSide {
    /// Fitted on; the number is its fold where a fit is checked inside this part.
    Train(u64),
    /// Held out.
    Test,
}

/// The number of folds that the part for fitting is split into.
pub(super) const FOLDS: u64 = 5;

/// The side of the split for a layer's key.
pub fn part_of(key: &str) -> SplitSide {
    let hash = fnv1a(key.as_bytes());
    if hash.is_multiple_of(5) { SplitSide::Test } else { SplitSide::Train(hash / 5 % FOLDS) }
}

/// FNV-1a with 64 bits: small, and the same in every language.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The numbers below `count` in the order of NumPy's `RandomState(seed).permutation(count)`, by which pandas shuffles a table.
pub(super) fn shuffled(count: usize, seed: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = MersenneTwister::new(seed);
    for last in (1..count).rev() {
        let most = u32::try_from(last).unwrap_or(u32::MAX);
        order.swap(last, random.at_most(most) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"conv2d|123,127,7,80,29,1,2"), 0x298b_cdbc_a9b5_4270);
        assert_eq!(part_of("relu|511,4964807"), SplitSide::Test);
        assert!(matches!(part_of("tanh|353,1326998"), SplitSide::Train(_)));
    }

    #[test]
    fn a_shuffle_loses_nothing() {
        let order = shuffled(100, 1234);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert_ne!(order, shuffled(100, 1235));
    }

    /// What NumPy 2 says of `RandomState(1234).permutation(20)`.
    #[test]
    fn the_shuffle_is_that_of_the_publication() {
        let numpy = [3, 13, 2, 16, 14, 5, 4, 0, 8, 18, 17, 11, 10, 9, 7, 1, 19, 12, 6, 15];
        assert_eq!(shuffled(20, 1234), numpy);
    }
}
