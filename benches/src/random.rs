//! A small seeded generator, so that every run measures the same work.

/// A linear congruential generator (Knuth's constants).
pub struct Random(u64);

impl Random {
    /// The generator that begins at `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    /// The next number of nanoseconds in `range`.
    pub fn nanos(&mut self, range: std::ops::Range<i64>) -> i64 {
        range.start + self.below(range.end.abs_diff(range.start)) as i64
    }
}
