//! Numbers that a file gives to names, looked up once for every event.
//!
//! A number is a claim: memory goes by how many entries there are, never by how large their numbers are.

use rustc_hash::FxHashMap;

/// Entries by the number that the file gives them; the last with a number is the one that counts.
pub(super) struct IdTable<T> {
    entries: Vec<(i64, T)>,
    lookup: Lookup,
}

enum Lookup {
    /// Numbers that lie close together: the index of each entry plus one, or zero.
    Dense(Vec<u32>),
    Sparse(FxHashMap<i64, u32>),
}

impl<T> Default for IdTable<T> {
    fn default() -> IdTable<T> {
        IdTable { entries: Vec::new(), lookup: Lookup::Dense(Vec::new()) }
    }
}

impl<T> IdTable<T> {
    /// Adds an entry; it is found after [`IdTable::close`].
    pub(super) fn insert(&mut self, id: i64, entry: T) {
        self.entries.push((id, entry));
    }

    /// Makes the entries ready to be found.
    pub(super) fn close(&mut self) {
        let most = self.entries.len() * 8 + 64;
        let largest = self.entries.iter().map(|(id, _)| *id).max().unwrap_or(0);
        let smallest = self.entries.iter().map(|(id, _)| *id).min().unwrap_or(0);
        let numbered = self.entries.iter().enumerate().map(|(index, (id, _))| (*id, index as u32));
        self.lookup = match usize::try_from(largest) {
            Ok(largest) if smallest >= 0 && largest < most => {
                let mut dense = vec![0; largest + 1];
                for (id, index) in numbered {
                    if let Some(place) = dense.get_mut(id as usize) {
                        *place = index + 1;
                    }
                }
                Lookup::Dense(dense)
            }
            _ => Lookup::Sparse(numbered.collect()),
        };
    }

    /// The place of an entry among all.
    #[inline]
    pub(super) fn index(&self, id: i64) -> Option<usize> {
        match &self.lookup {
            Lookup::Dense(dense) => (*dense.get(usize::try_from(id).ok()?)?).checked_sub(1).map(|at| at as usize),
            Lookup::Sparse(sparse) => sparse.get(&id).map(|at| *at as usize),
        }
    }

    /// The entry with this number.
    pub(super) fn get(&self, id: i64) -> Option<&T> {
        self.entries.get(self.index(id)?).map(|(_, entry)| entry)
    }

    /// All entries with their numbers, in the order of the file.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (i64, &T)> {
        self.entries.iter().map(|(id, entry)| (*id, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_numbers_are_found() {
        for ids in [&[0, 3, 7][..], &[i64::MIN, -1, 5, i64::MAX], &[1 << 40]] {
            let mut table = IdTable::default();
            ids.iter().for_each(|id| table.insert(*id, *id));
            table.close();
            for id in ids {
                assert_eq!(table.get(*id), Some(id));
            }
            assert_eq!([table.get(4), table.get(-9), table.get(i64::MAX - 1)], [None; 3]);
        }
    }

    #[test]
    fn the_last_entry_with_a_number_counts() {
        let mut table = IdTable::default();
        table.insert(1, 'a');
        table.insert(1, 'b');
        table.close();
        assert_eq!(table.get(1), Some(&'b'));
        assert_eq!(IdTable::<u8>::default().get(0), None);
    }
}
