//! The batches of a session on their way: bounded, and what is dropped is counted.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jouletree_model::sampling::{Batch, Ending, Flags, Sample, mark_gaps};

use super::session::Next;

/// So many anchors, incidents and shares of dropped batches are kept, the newest.
const MOST_KEPT: usize = 1024;

/// Batches from the station to one session.
#[derive(Debug)]
pub(super) struct Queue {
    most_waiting: usize,
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    batches: VecDeque<Batch>,
    /// The samples in them.
    waiting: usize,
    /// Samples that were dropped and not reported yet.
    lost: u64,
    /// Sensors of which a dropped sample said that nothing is known before it.
    torn: BTreeSet<u16>,
    is_over: bool,
    has_ended: bool,
    ending: Ending,
}

impl Queue {
    pub fn new(most_waiting: usize, ending: Ending) -> Queue {
        let state = State { ending, ..State::default() };
        Queue { most_waiting, state: Mutex::new(state), news: Condvar::new() }
    }

    pub fn push(&self, mut batch: Batch) {
        let mut state = self.lock();
        let state = &mut *state;
        mark_gaps(&mut state.torn, &mut batch.samples);
        state.waiting += batch.samples.len();
        state.batches.push_back(batch);
        while state.waiting > self.most_waiting && state.batches.len() > 1 {
            let Some(dropped) = state.batches.pop_front() else { break };
            state.waiting -= dropped.samples.len();
            state.lost += dropped.samples.len() as u64 + dropped.lost;
            let is_torn = |sample: &&Sample| sample.flags.has(Flags::GAP) || sample.flags.has(Flags::APART);
            state.torn.extend(dropped.samples.iter().filter(is_torn).map(|sample| sample.sensor));
            for batch in &mut state.batches {
                mark_gaps(&mut state.torn, &mut batch.samples);
            }
            if let Some(next) = state.batches.front_mut() {
                prepend(&mut next.anchors, dropped.anchors);
                prepend(&mut next.incidents, dropped.incidents);
                // The next count has the energy of a lost stretch, and shares say whose it was.
                prepend(&mut next.shares, dropped.shares);
                prepend(&mut next.gpus, dropped.gpus);
            }
        }
        self.news.notify_all();
    }

    pub fn pop(&self, wait: Duration) -> Next {
        let nothing = |state: &mut State| state.batches.is_empty() && !state.has_ended;
        let waited = self.news.wait_timeout_while(self.lock(), wait, nothing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match state.batches.pop_front() {
            Some(mut batch) => {
                state.waiting -= batch.samples.len();
                batch.lost += std::mem::take(&mut state.lost);
                Next::Batch(batch)
            }
            None if state.has_ended => Next::Ended,
            None => Next::NothingYet,
        }
    }

    pub fn set_over(&self, is_over: bool) {
        self.lock().is_over = is_over;
    }

    pub fn is_over(&self) -> bool {
        self.lock().is_over
    }

    pub fn update(&self, change: impl FnOnce(&mut Ending)) {
        change(&mut self.lock().ending);
    }

    pub fn end(&self) {
        self.lock().has_ended = true;
        self.news.notify_all();
    }

    pub fn ending(&self) -> Ending {
        self.lock().ending.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts what is older before what is there, and keeps the newest of all.
fn prepend<T>(items: &mut Vec<T>, mut older: Vec<T>) {
    older.append(items);
    let surplus = older.len().saturating_sub(MOST_KEPT);
    older.drain(..surplus);
    *items = older;
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::Nanos;
    use jouletree_model::sampling::{Anchor, Mono, ShareSample};

    fn batch(number: u64, samples: impl IntoIterator<Item = (u16, Flags)>) -> Batch {
        let at = Mono(i64::try_from(number).unwrap());
        let sample = |(sensor, flags)| Sample { sensor, flags, at, count: number };
        let anchors = vec![Anchor { mono: at, wall: Nanos(0), boot: Nanos(0) }];
        let share =
            ShareSample { from: at, at: Mono(at.0 + 1), socket: 0, ours: 1.0, others: 0.0, idle: 0.0, own: 0.0 };
        let (samples, shares) = (samples.into_iter().map(sample).collect(), vec![share]);
        Batch { number, samples, shares, anchors, ..Batch::default() }
    }

    fn popped(queue: &Queue) -> Batch {
        match queue.pop(Duration::ZERO) {
            Next::Batch(batch) => batch,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_nobody_takes_is_dropped_and_told() {
        let queue = Queue::new(4, Ending::default());
        let well = Flags::default();
        queue.push(batch(0, [(0, Flags::GAP), (1, well)]));
        queue.push(batch(1, [(1, well), (1, well)]));
        queue.push(batch(2, [(0, well), (1, well)]));
        let first = popped(&queue);
        assert_eq!((first.number, first.lost, first.anchors.len()), (1, 2, 2));
        assert_eq!(first.shares.len(), 2, "the next count has the energy, and shares say whose it was");
        assert!(first.samples.iter().all(|sample| sample.flags == well));
        let second = popped(&queue);
        assert_eq!((second.number, second.lost), (2, 0));
        assert!(second.samples[0].flags.has(Flags::APART), "the gap is not forgotten");
        assert_eq!(second.samples[1].flags, well);
        assert_eq!(queue.pop(Duration::ZERO), Next::NothingYet);
        queue.end();
        assert_eq!(queue.pop(Duration::from_secs(60)), Next::Ended);
    }

    #[test]
    fn a_gap_waits_for_the_next_sample_of_its_sensor() {
        let queue = Queue::new(1, Ending::default());
        let well = Flags::default();
        queue.push(batch(0, [(7, Flags::GAP)]));
        queue.push(batch(1, [(1, well)]));
        queue.push(batch(2, [(7, well)]));
        let only = popped(&queue);
        assert_eq!((only.number, only.lost), (2, 2));
        assert!(only.samples[0].flags.has(Flags::APART));
    }
}
