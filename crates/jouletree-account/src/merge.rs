//! Merging sorted runs of keys.
//!
//! A branch that picks the smaller of two keys is mispredicted half of the time, and a pick without a branch waits for
//! the one before it. So each merge is cut into a few parts that are known to be independent, and the parts advance
//! in step: the processor works on all of them at once.

/// Sentinel after every run: larger than any key, so that a run that is used up never gives the next key.
pub(crate) const SENTINEL: u64 = u64::MAX;

/// How many parts of a merge advance in step.
const PARTS: usize = 4;

/// Merges runs, and keeps its memory between merges.
pub(crate) struct Merger {
    spare: Vec<u64>,
    starts: Vec<usize>,
}

impl Merger {
    /// A merger for at most `length` keys, sentinels included.
    pub(crate) fn new(length: usize) -> Merger {
        Merger { spare: vec![SENTINEL; length], starts: Vec::new() }
    }

    /// Merges sorted runs. Run `i` lies in `keys` from `starts[i]` on and ends with a [`SENTINEL`] right before
    /// `starts[i + 1]`; what lies beyond the last entry of `starts` is left alone. Afterwards `keys` begins with one
    /// run of the length returned.
    pub(crate) fn merge(&mut self, keys: &mut Vec<u64>, starts: &[usize]) -> usize {
        self.starts.clear();
        self.starts.extend_from_slice(starts);
        while self.starts.len() > 2 {
            self.merge_pairs(keys);
            std::mem::swap(keys, &mut self.spare);
        }
        self.starts.last().map_or(0, |end| end.saturating_sub(1))
    }

    /// Merges every two neighbouring runs of `keys` into `spare`, an odd one is moved. Two runs need one sentinel
    /// less than before, so everything moves up.
    fn merge_pairs(&mut self, keys: &[u64]) {
        let runs = self.starts.len() - 1;
        let mut written = 0;
        for first in (0..runs).step_by(2) {
            let (from, middle) = (self.starts[first], self.starts[first + 1]);
            let end = self.starts[(first + 2).min(runs)];
            let length = end - from - usize::from(end > middle);
            let place = &mut self.spare[written..written + length];
            if end > middle {
                merge_two(&keys[from..middle], &keys[middle..end], place);
            } else {
                place.copy_from_slice(&keys[from..middle]);
            }
            self.starts[first / 2] = written;
            written += length;
        }
        let runs = runs.div_ceil(2);
        self.starts[runs] = written;
        self.starts.truncate(runs + 1);
    }
}

/// Merges two runs with their sentinels into one with its sentinel.
fn merge_two(a: &[u64], b: &[u64], merged: &mut [u64]) {
    let Some((sentinel, merged)) = merged.split_last_mut() else { return };
    *sentinel = SENTINEL;
    let length = merged.len() / PARTS;
    // How many keys of `a` come before each part.
    let from_a = |part: usize| split(&a[..a.len() - 1], &b[..b.len() - 1], part * length);
    let (mut i, mut j, mut k, mut l) = (0, from_a(1), from_a(2), from_a(3));
    let pick = |taken: &mut usize, place: usize| {
        let (x, y) = (a[*taken], b[place - *taken]);
        *taken += usize::from(x <= y);
        x.min(y)
    };
    let (first, rest) = merged.split_at_mut(length);
    let (second, rest) = rest.split_at_mut(length);
    let (third, fourth) = rest.split_at_mut(length);
    let (fourth, tail) = fourth.split_at_mut(length);
    let places = first.iter_mut().zip(second).zip(third).zip(fourth).enumerate();
    for (place, (((w, x), y), z)) in places {
        *w = pick(&mut i, place);
        *x = pick(&mut j, place + length);
        *y = pick(&mut k, place + 2 * length);
        *z = pick(&mut l, place + 3 * length);
    }
    for (place, key) in tail.iter_mut().enumerate() {
        *key = pick(&mut l, place + PARTS * length);
    }
}

/// How many of the first `count` keys of the merge come from `a`.
fn split(a: &[u64], b: &[u64], count: usize) -> usize {
    let (mut low, mut high) = (count.saturating_sub(b.len()), count.min(a.len()));
    while low < high {
        let middle = (low + high) / 2;
        // `a[middle]` belongs to the first `count` keys if it is not larger than the key of `b` it would displace.
        if a[middle] <= b[count - middle - 1] {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_merged_as_sorting_would(runs in prop::collection::vec(prop::collection::vec(0..500_u64, 0..60), 0..9)) {
            let mut keys = Vec::new();
            let mut starts = Vec::new();
            let mut sorted = Vec::new();
            for mut run in runs {
                run.sort();
                starts.push(keys.len());
                sorted.extend_from_slice(&run);
                keys.extend(run);
                keys.push(SENTINEL);
            }
            starts.push(keys.len());
            sorted.sort();
            let length = Merger::new(keys.len()).merge(&mut keys, &starts);
            prop_assert_eq!(&keys[..length], &sorted);
        }
    }
}
