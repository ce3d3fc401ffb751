//! A session as the station sees it: what it is due, collected until the next batch.

use std::sync::Arc;

use jouletree_host::{Roots, process_time};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Batch, Ending, Flags, GpuSample, Incident, Mono, Sample};

use super::queue::Queue;
use super::{SessionError, Watch};
use crate::resources::ResourceLog;
use crate::share::ShareMeter;

/// A little less than what is promised, as the station looks at fixed instants.
const RESOURCES: Nanos = Nanos(120_000_000);

/// Ticks of the processors are 10 ms long: shares over a shorter time than this say too little.
const SHORTEST_SHARE: Nanos = Nanos(50_000_000);

/// So many processes are named in a batch.
const MOST_PROCESSES: usize = 1000;

/// One session of a station.
pub(super) struct Member {
    pub id: u64,
    pub period: Nanos,
    queue: Arc<Queue>,
    tree: Option<(ShareMeter, Option<ResourceLog>)>,
    grid: Option<Nanos>,
    /// By sensor.
    due: Vec<Due>,
    batch: Batch,
    remarks: Vec<String>,
    own_time: Nanos,
}

/// What is due of a sensor.
#[derive(Debug, Clone, Copy)]
struct Due {
    /// Nothing before this instant.
    from: Mono,
    /// What came nevertheless.
    early: Option<Sample>,
    /// The stretch of the grid of which a reading was seen.
    seen: i64,
}

impl Member {
    /// Begins a session at the instant of an anchor.
    pub fn begin(
        id: u64,
        watch: Watch,
        roots: &Roots,
        queue: Arc<Queue>,
        anchor: Anchor,
        sensors: usize,
    ) -> Result<Member, SessionError> {
        let tree = watch.pid.map(|pid| ShareMeter::start(roots, pid)).transpose()?;
        // A machine that does not report resources has power all the same.
        let tree = tree.map(|share| (share, ResourceLog::start(roots, RESOURCES).ok()));
        Ok(Member {
            id,
            period: watch.period,
            queue,
            tree,
            grid: watch.grid,
            // Of the stretch in which it begins it is shown nothing.
            due: vec![Due { from: anchor.mono, early: None, seen: stretch(watch.grid, anchor.mono) }; sensors],
            batch: Batch { anchors: vec![anchor], ..Batch::default() },
            remarks: Vec::new(),
            own_time: process_time(),
        })
    }

    /// Takes a sample if one is due, where sensors are read once in `period`. What is due is decided at `round`, the
    /// instant of the sample's round: a round is shown with all its sensors, or not at all.
    pub fn take(&mut self, sample: Sample, round: Mono, period: Nanos) {
        let Some(due) = self.due.get_mut(usize::from(sample.sensor)) else { return };
        due.early = None;
        if sample.flags.has(Flags::GAP) || sample.flags.has(Flags::APART) {
            return self.batch.samples.push(sample);
        }
        let stretch = stretch(self.grid, round);
        if self.grid.is_some() && stretch <= due.seen {
            return;
        }
        due.seen = stretch;
        // Where no other session reads more often, every reading is meant for this session, on time or not.
        let slack = if self.period <= period { self.period.0 / 2 } else { 0 };
        if round.0.saturating_add(slack) < due.from.0 {
            due.early = Some(sample);
            return;
        }
        // Regular, so that one late reading does not delay all that follow.
        due.from = Mono(due.from.0.saturating_add(self.period.0));
        if due.from <= round {
            due.from = Mono(round.0.saturating_add(self.period.0));
        }
        self.batch.samples.push(sample);
    }

    /// What is known at the very end is due, too.
    pub fn take_last(&mut self) {
        self.batch.samples.extend(self.due.iter_mut().filter_map(|due| due.early.take()));
    }

    pub fn hear(&mut self, anchors: &[Anchor], incidents: &[Incident], gpus: &[GpuSample]) {
        self.batch.anchors.extend_from_slice(anchors);
        self.batch.incidents.extend_from_slice(incidents);
        self.batch.gpus.extend_from_slice(gpus);
    }

    /// Where the processor time of the tree comes from.
    pub fn share_source(&self) -> Option<String> {
        self.tree.as_ref().map(|(share, _)| share.time().source().to_string())
    }

    /// The processes that are watched.
    pub fn processes(&self) -> Option<impl Iterator<Item = u32>> {
        self.tree.as_ref().map(|(share, _)| share.time().tree().processes())
    }

    /// Samples the process tree; reports its shares up to now, if that is wanted.
    pub fn look(&mut self, now: Mono, closes: bool) {
        let Some((share, resources)) = &mut self.tree else { return };
        let shares = if closes { share.close(now) } else { share.poll(now) };
        match shares {
            Ok(shares) => self.batch.shares.extend_from_slice(shares),
            Err(error) => {
                let remark = format!("the activity of the processors is not known at times: {error}");
                if !self.remarks.contains(&remark) {
                    self.remarks.push(remark);
                }
            }
        }
        // Reading the CPU time of many threads is expensive.
        if let Some(resources) = resources.as_mut().filter(|resources| resources.is_due(now)) {
            let time = share.cpu_time();
            self.batch.resources.extend(resources.poll(now, share.time().tree(), time));
        }
        let tree = share.time().tree();
        self.batch.processes.clear();
        self.batch.processes.extend(tree.living().take(MOST_PROCESSES));
        self.queue.set_over(tree.is_over());
    }

    /// When shares are known next at the earliest.
    pub fn closes(&self) -> Mono {
        let began = self.tree.as_ref().and_then(|(share, _)| share.began());
        Mono(began.unwrap_or_default().0.saturating_add(SHORTEST_SHARE.0))
    }

    /// Hands over what was collected.
    pub fn hand_over(&mut self) {
        let next = Batch { number: self.batch.number + 1, ..Batch::default() };
        self.queue.push(std::mem::replace(&mut self.batch, next));
    }

    /// Publishes what is known of the session by now.
    pub fn publish(&mut self, sampler: &Ending) {
        let mut ending = sampler.clone();
        ending.remarks.append(&mut self.remarks.clone());
        if let Some((share, _)) = &mut self.tree {
            ending.tree_time = share.cpu_time();
            ending.remarks.extend(share.remarks());
        }
        ending.share_source = self.share_source();
        ending.own_time = process_time() - self.own_time;
        self.queue.update(|state| *state = ending);
    }

    /// Nothing more will come.
    pub fn end(&self) {
        self.queue.end();
    }
}

/// The stretch of a grid that an instant is in.
fn stretch(grid: Option<Nanos>, at: Mono) -> i64 {
    grid.map_or(0, |grid| at.0.div_euclid(grid.0.max(1)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::rounds::RoundClock;
    use super::super::session::Next;
    use super::*;

    const MS: i64 = 1_000_000;

    /// What a session on a grid of 10 ms is shown of rounds of two sensors that are read 40 µs apart.
    fn shown(watch: Watch, begin: i64, sampled: Nanos, rounds: impl Iterator<Item = i64>) -> Vec<(u16, i64)> {
        let queue = Arc::new(Queue::new(1 << 20, Ending::default()));
        let anchor = Anchor { mono: Mono(begin), wall: Nanos(0), boot: Nanos(0) };
        let mut member = Member::begin(1, watch, &Roots::default(), queue.clone(), anchor, 2).unwrap();
        let mut clock = RoundClock::default();
        for at in rounds {
            for (sensor, at) in [(0, at), (1, at + 40_000)] {
                let sample = Sample { sensor, flags: Flags::default(), at: Mono(at), count: 7 };
                member.take(sample, clock.instant(&sample), sampled);
            }
        }
        member.hand_over();
        let Next::Batch(batch) = queue.pop(Duration::ZERO) else { panic!("no batch") };
        batch.samples.iter().map(|sample| (sample.sensor, sample.at.0)).collect()
    }

    fn assert_whole_rounds(shown: &[(u16, i64)]) {
        for round in shown.chunks(2) {
            let [(0, first), (1, second)] = *round else { panic!("a sensor is missing: {round:?}") };
            assert_eq!(second - first, 40_000);
        }
        assert!(shown.len() > 20, "{shown:?}");
    }

    #[test]
    fn a_round_at_the_border_of_the_grid_is_shown_whole_or_not_at_all() {
        let ten = Nanos(10 * MS);
        let watch = Watch { pid: None, period: ten, grid: Some(ten) };
        // The sensors lie on both sides of the border, and readings come early and late by turns.
        let jitter = |round: i64| [-30_000, -10_000, 5_000][usize::try_from(round % 3).unwrap()];
        let rounds = (1..50).map(|round| round * ten.0 + jitter(round));
        assert_whole_rounds(&shown(watch, 5 * MS, ten, rounds));
        // Another session has the sensors read every millisecond.
        let rounds = (6..500).map(|round| round * MS - 20_000);
        assert_whole_rounds(&shown(watch, 5 * MS, Nanos(MS), rounds.clone()));
        // Without a grid, too.
        assert_whole_rounds(&shown(Watch { grid: None, ..watch }, 5 * MS, Nanos(MS), rounds));
    }

    #[test]
    fn nothing_is_shown_of_the_stretch_in_which_a_session_begins() {
        let ten = Nanos(10 * MS);
        let watch = Watch { pid: None, period: ten, grid: Some(ten) };
        // It begins in the middle of a round that lies across the border.
        let rounds = [10 * MS - 10_000, 11 * MS, 12 * MS].into_iter().chain((2..30).map(|round| round * ten.0));
        let shown = shown(watch, 10 * MS + 10_000, Nanos(MS), rounds);
        assert_eq!(shown[0], (0, 20 * MS), "{shown:?}");
        assert_whole_rounds(&shown);
    }
}
