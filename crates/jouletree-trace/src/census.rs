//! Counting what a file holds: always how many events, and their extents when a census is asked for.

use std::hash::Hash;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use jouletree_model::{Census, Device, Nanos, ReadCount, Span};

/// The events of a file, by what identifies their device and category.
#[derive(Debug)]
pub(crate) struct Counter<Key> {
    takes_census: bool,
    rows: IndexMap<Key, Row, FxBuildHasher>,
}

#[derive(Debug, Default)]
struct Row {
    events: u64,
    spans: Vec<Span>,
}

impl<Key: Hash + Eq> Counter<Key> {
    pub(crate) fn new(takes_census: bool) -> Counter<Key> {
        Counter { takes_census, rows: IndexMap::default() }
    }

    /// Whether extents are wanted; if not, [`Counter::count`] is enough.
    pub(crate) fn takes_census(&self) -> bool {
        self.takes_census
    }

    /// Counts an event.
    pub(crate) fn count(&mut self, key: Key) {
        self.rows.entry(key).or_default().events += 1;
    }

    /// Counts several events at once.
    pub(crate) fn count_many(&mut self, key: Key, events: u64) {
        if events > 0 {
            self.rows.entry(key).or_default().events += events;
        }
    }

    /// Counts an event with its extent by the file's own clock.
    pub(crate) fn note(&mut self, key: Key, start: Nanos, end: Nanos, is_operation: bool) {
        let row = self.rows.entry(key).or_default();
        row.events += 1;
        if self.takes_census {
            row.spans.push(Span { start, end, is_operation });
        }
    }

    /// How many events there are of each category of each device, and the census. `name` returns the device and the
    /// category of a key; keys without are left out.
    pub(crate) fn finish(
        self,
        base: Nanos,
        name: impl Fn(&Key) -> Option<(Device, String)>,
    ) -> (Vec<ReadCount>, Census) {
        let mut counts: IndexMap<(Device, String), u64> = IndexMap::new();
        let mut census = Census::default();
        for (key, row) in self.rows {
            let Some((device, category)) = name(&key) else { continue };
            if self.takes_census {
                let moved = |span: Span| Span { start: span.start + base, end: span.end + base, ..span };
                census.add(&device, &category, row.spans.into_iter().map(moved));
            }
            *counts.entry((device, category)).or_default() += row.events;
        }
        let count = |((device, category), events)| ReadCount { device, category, events };
        let mut counts: Vec<ReadCount> = counts.into_iter().map(count).collect();
        counts.sort();
        (counts, census)
    }
}
