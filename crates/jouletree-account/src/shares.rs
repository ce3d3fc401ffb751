//! Energy split by something: by pass, by device. A sorted vector, for a tree has two of them in each of its nodes.

use jouletree_model::Joules;
use serde::{Serialize, Serializer};

/// The energy of each key that occurs, by key.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares<K>(Vec<(K, Joules)>);

impl<K> Default for Shares<K> {
    fn default() -> Shares<K> {
        Shares(Vec::new())
    }
}

impl<K: Ord + Clone> Shares<K> {
    /// The energy of `key`; zero when it does not occur.
    pub fn get(&self, key: &K) -> Joules {
        self.place(key).map_or(Joules::ZERO, |place| self.0[place].1)
    }

    /// Every key with its energy, by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&K, Joules)> {
        self.0.iter().map(|(key, energy)| (key, *energy))
    }

    /// The energy of all keys.
    pub fn total(&self) -> Joules {
        self.0.iter().map(|(_, energy)| *energy).sum()
    }

    fn place(&self, key: &K) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(key))
    }

    pub(crate) fn add(&mut self, key: &K, energy: Joules) {
        match self.place(key) {
            Ok(place) => self.0[place].1 += energy,
            // Most nodes of a tree are leaves with one pass and one device: no memory for more is reserved.
            Err(place) => {
                self.0.reserve_exact(1);
                self.0.insert(place, (key.clone(), energy));
            }
        }
    }

    pub(crate) fn add_all(&mut self, other: &Shares<K>) {
        for (key, energy) in other.iter() {
            self.add(key, energy);
        }
    }
}

impl<K: Serialize> Serialize for Shares<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, energy)| (key, energy)))
    }
}
