//! The generator that the published split draws from: the Mersenne Twister (Matsumoto and Nishimura, 1998) with 32 bits, as
//! NumPy's `RandomState` seeds and uses it.

const SIZE: usize = 624;
const MIDDLE: usize = 397;

/// Numbers that follow from a seed alone.
pub(super) struct MersenneTwister {
    state: [u32; SIZE],
    next: usize,
}

impl MersenneTwister {
    pub(super) fn new(seed: u32) -> MersenneTwister {
        let mut state = [seed; SIZE];
        for index in 1..SIZE {
            let before = state[index - 1];
            state[index] = 1_812_433_253_u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(index as u32);
        }
        MersenneTwister { state, next: SIZE }
    }

    fn next_bits(&mut self) -> u32 {
        if self.next == SIZE {
            self.twist();
        }
        let mut bits = self.state[self.next];
        self.next += 1;
        bits ^= bits >> 11;
        bits ^= (bits << 7) & 0x9d2c_5680;
        bits ^= (bits << 15) & 0xefc6_0000;
        bits ^ (bits >> 18)
    }

    fn twist(&mut self) {
        for index in 0..SIZE {
            let mixed = (self.state[index] & 0x8000_0000) | (self.state[(index + 1) % SIZE] & 0x7fff_ffff);
            let odd = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[index] = self.state[(index + MIDDLE) % SIZE] ^ (mixed >> 1) ^ odd;
        }
        self.next = 0;
    }

    /// A number from zero to `most`: as many bits as it needs, drawn again while they are too large.
    pub(super) fn at_most(&mut self, most: u32) -> u32 {
        let mask = u32::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
        loop {
            let drawn = self.next_bits() & mask;
            if drawn <= most {
                return drawn;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' reference for the seed that C++ takes by default, and the ten thousandth, which the
    /// standard of C++ demands.
    #[test]
    fn the_bits_are_those_of_the_published_sequence() {
        let mut twister = MersenneTwister::new(5489);
        assert_eq!([twister.next_bits(), twister.next_bits()], [3_499_211_612, 581_869_302]);
        let ten_thousandth = (2..10_000).map(|_| twister.next_bits()).last();
        assert_eq!(ten_thousandth, Some(4_123_659_995));
    }

    #[test]
    fn numbers_stay_within_their_bound_and_reach_it() {
        let mut twister = MersenneTwister::new(1);
        let drawn: Vec<u32> = (0..200).map(|_| twister.at_most(4)).collect();
        assert!(drawn.iter().all(|number| *number <= 4) && (0..=4).all(|number| drawn.contains(&number)));
        assert_eq!(twister.at_most(0), 0);
    }
}
