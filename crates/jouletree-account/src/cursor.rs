//! A lane on its way through the sweep: the segments at hand and what the running one has gathered.

use std::ops::Range;

use jouletree_model::Event;

use crate::self_time::SelfTime;
use crate::tally::Tally;

/// Flat stretches shorter than this are not worth a window of their own.
const WORTH_BORROWING: usize = 64;

/// The segments of a lane, in portions. Stretches without nesting are looked at where they are; the rest is cut, and
/// the pieces are kept here.
pub(crate) struct LaneCursor<'a, C> {
    source: SelfTime<'a>,
    /// The portion looked at where it is: events that are segments as they are.
    flat: Range<usize>,
    /// The portion kept here while there is no other, of which the first `used` segments are gone.
    cut: Vec<Event>,
    used: usize,
    exhausted: bool,
    /// The segment that has begun and not ended.
    pub(crate) running: Option<Running<C>>,
}

/// A segment that has begun and not ended.
#[derive(Clone, Copy)]
pub(crate) struct Running<C> {
    pub(crate) segment: Event,
    /// How many events it represents.
    pub(crate) count: u64,
    /// What it has cost so far.
    pub(crate) gathered: C,
}

impl<'a, C> LaneCursor<'a, C> {
    pub(crate) fn new(source: SelfTime<'a>) -> LaneCursor<'a, C> {
        LaneCursor { source, flat: 0..0, cut: Vec::new(), used: 0, exhausted: false, running: None }
    }

    /// The segments at hand, and how many events each represents: those that were cut have been counted before.
    #[inline]
    pub(crate) fn segments(&self) -> (&[Event], u64) {
        if self.flat.is_empty() { (&self.cut[self.used..], 0) } else { (self.source.events(&self.flat), 1) }
    }

    /// Whether nothing will follow the segments at hand.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// Gives up the first `count` segments at hand.
    pub(crate) fn consume(&mut self, count: usize) {
        if self.flat.is_empty() {
            self.used += count;
        } else {
            self.flat.start += count;
        }
    }

    /// Sees to it that about `wanted` segments are at hand, or all there are; `false` when there is none.
    pub(crate) fn refill(&mut self, wanted: usize, tally: &mut Tally) -> bool {
        while !self.exhausted && self.segments().0.len() < wanted {
            let is_cut = self.used < self.cut.len();
            if is_cut && self.source.is_flat_ahead(WORTH_BORROWING) {
                // What is left of the cut portion comes first.
                break;
            }
            if !is_cut && self.extend_flat(wanted) {
                break;
            }
            self.keep_flat(tally);
            self.cut.drain(..self.used);
            self.used = 0;
            let before = self.cut.len();
            let begun = self.source.cut(wanted, &mut self.cut);
            tally.count(begun);
            self.exhausted = begun.is_empty() && self.cut.len() == before;
        }
        !self.segments().0.is_empty()
    }

    /// Looks further along the lane; `false` when what is flat there is too little to be looked at in place.
    fn extend_flat(&mut self, wanted: usize) -> bool {
        let more = self.source.take_flat(wanted);
        self.flat = if self.flat.is_empty() { more } else { self.flat.start..more.end.max(self.flat.end) };
        self.flat.len() >= WORTH_BORROWING
    }

    /// Keeps here what is left of the flat portion.
    fn keep_flat(&mut self, tally: &mut Tally) {
        let left = self.source.events(&self.flat);
        tally.count(left);
        self.cut.extend_from_slice(left);
        self.flat = 0..0;
    }
}
