//! A small generator of random numbers of our own (splitmix64), so that a seed gives the same result everywhere and for
//! ever.

/// Numbers that follow from a seed alone.
#[derive(Debug, Clone)]
pub struct SeededGenerator {
    state: u64,
}

impl SeededGenerator {
    /// A generator; each `stream` of the same seed is independent of the others.
    pub fn new(seed: u64, stream: u64) -> SeededGenerator {
        let mut generator = SeededGenerator { state: seed };
        let first = generator.next_bits();
        SeededGenerator { state: first ^ stream.wrapping_mul(0xd134_2543_de82_ef95) }
    }

    fn next_bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// The next number, uniform in `[-bound, bound)`.
    pub fn uniform(&mut self, bound: f64) -> f64 {
        let unit = (self.next_bits() >> 11) as f64 / (1u64 << 53) as f64;
        bound * (2.0 * unit - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_are_those_of_the_published_sequence() {
        let mut generator = SeededGenerator { state: 1_234_567 };
        assert_eq!(generator.next_bits(), 6_457_827_717_110_365_317);
        assert_eq!(generator.next_bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn seeds_and_streams_differ_and_repeat() {
        let draw = |seed, stream| SeededGenerator::new(seed, stream).uniform(1.0);
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn numbers_fill_the_range_evenly() {
        let mut generator = SeededGenerator::new(7, 0);
        let draws: Vec<f64> = (0..100_000).map(|_| generator.uniform(0.5)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let square = draws.iter().map(|draw| draw * draw).sum::<f64>() / 1e5;
        // Four standard errors of the mean and of the mean square of a uniform variable.
        assert!(mean.abs() < 4.0 * (1.0 / 12.0f64 / 1e5).sqrt());
        assert!((square - 1.0 / 12.0).abs() < 4.0 * (1.0 / 180.0f64 / 1e5).sqrt());
        assert!(draws.iter().all(|draw| (-0.5..0.5).contains(draw)));
    }
}
