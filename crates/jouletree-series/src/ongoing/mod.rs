//! The energy of windows of a recording while it goes on: a program asks about a stretch of its own time and is answered
//! as soon as the meters have reached the end of it.
//!
//! [`OngoingEnergy`] takes the batches of a session beside the recorder. It keeps ten seconds in full and sums of all before, and
//! of a window that is open it keeps the value of those sums at its beginning: a window of days takes no more memory than
//! one of milliseconds. Its energies, intervals and parts are those of the recording itself.

mod answer;
mod course;
mod edge;
#[cfg(test)]
mod tests;
mod total;
mod window;

use std::collections::{BTreeMap, HashSet};

use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Anchors, Batch, Mono, SensorInfo, was_set};

use crate::share::{Cut, Retention, ShareBook};
use crate::still_after;
pub use answer::{Answer, DeviceEnergy};
use course::Course;
pub use total::DeviceTotal;
use window::Window;

/// For so long a window can still be opened after it began.
pub const KEPT: Nanos = Nanos(10_000_000_000);
/// A sensor may be late by this beyond what its period explains; then it is answered without.
const REPORTING_SLACK: Nanos = Nanos(300_000_000);
/// A sensor of which nothing was heard by then is lost.
const BEGINNING: Nanos = Nanos(1_000_000_000);
/// A share that is late by this is taken as missing.
const SHARES_LATE: Nanos = Nanos(1_000_000_000);

/// Answers questions about windows of time, by the time of day.
#[derive(Debug)]
pub struct OngoingEnergy {
    courses: Vec<Course>,
    /// The place among them of each sensor by its number in the samples.
    places: Vec<Option<usize>>,
    sockets: ShareBook,
    gpus: ShareBook,
    anchors: Anchors,
    /// The first and the newest instant of which there is a sample.
    seen: Option<(Mono, Mono)>,
    shares_kept: Retention,
    windows: BTreeMap<u64, Window>,
    /// Windows whose beginning is not settled.
    beginning: Vec<u64>,
    /// Windows that have ended and are not answered.
    ended: Vec<u64>,
    answers: Vec<Answer>,
}

impl OngoingEnergy {
    /// For the batches of a session that reads these sensors once in a period.
    pub fn new(sensors: &[SensorInfo], period: Nanos) -> OngoingEnergy {
        let (mut courses, mut places, mut known) = (Vec::new(), Vec::new(), HashSet::new());
        for info in sensors {
            // One that meters what another does is left out, as the recorder does.
            let is_used = info.domain.is_none() && known.insert(info.device.clone());
            places.push(is_used.then_some(courses.len()));
            if is_used {
                courses.push(Course::new(info.clone(), period));
            }
        }
        let shares_kept = Retention::new(KEPT, period, courses.iter().map(|course| &course.info));
        OngoingEnergy {
            courses,
            places,
            sockets: ShareBook::default(),
            gpus: ShareBook::default(),
            anchors: Anchors::default(),
            seen: None,
            shares_kept,
            windows: BTreeMap::new(),
            beginning: Vec::new(),
            ended: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Begins a window. One that began more than [`KEPT`] ago is known from then on only.
    pub fn open(&mut self, id: u64, start: Nanos) {
        let mut window = Window::new(start, self.courses.len());
        if !window.begin(&self.courses, [&self.sockets, &self.gpus]) {
            self.beginning.push(id);
        }
        self.windows.insert(id, window);
    }

    /// Ends a window; it is answered when its end is known. Says whether there is such a window.
    pub fn close(&mut self, id: u64, end: Nanos) -> bool {
        match self.windows.get_mut(&id) {
            Some(window) if window.end.is_none() => {
                window.end = Some(end);
                if !self.answer(id, false) {
                    self.ended.push(id);
                }
                true
            }
            _ => false,
        }
    }

    /// Forgets a window, which is not answered.
    pub fn forget(&mut self, id: u64) {
        self.windows.remove(&id);
    }

    /// How many windows are open, or have ended and are not answered.
    pub fn windows(&self) -> usize {
        self.windows.len()
    }

    /// Whether a window has ended and is not answered.
    pub fn owes(&self) -> bool {
        !self.ended.is_empty()
    }

    /// What was answered since this was last asked.
    pub fn answers(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.answers)
    }

    /// Takes the next batch.
    pub fn take(&mut self, batch: &Batch) {
        self.take_anchors(batch);
        for sample in &batch.samples {
            let (first, newest) = self.seen.unwrap_or((sample.at, sample.at));
            self.seen = Some((first, newest.max(sample.at)));
            if let Some(Some(place)) = self.places.get(usize::from(sample.sensor)) {
                self.courses[*place].take(*sample);
            }
        }
        batch.shares.iter().for_each(|share| self.sockets.note(share));
        batch.gpus.iter().for_each(|gpu| self.gpus.note(gpu));
        let Some((_, newest)) = self.seen else { return };
        for place in 0..self.courses.len() {
            let reported = self.shares_reported(self.courses[place].cut);
            self.courses[place].advance(&self.anchors, [&self.sockets, &self.gpus], reported, newest);
        }
        self.settle_beginnings();
        self.answer_ended(false);
        self.forget_the_past(newest);
    }

    /// Answers all windows that have ended, with what is known: nothing more will come.
    pub fn finish(&mut self) -> Vec<Answer> {
        self.answer_ended(true);
        self.answers()
    }

    /// What every device used so far, as far as nothing will change it any more: a total never shrinks. It is a little
    /// behind the meters.
    pub fn totals(&self) -> Vec<DeviceTotal> {
        self.courses.iter().map(|course| course.total(self.seen, false)).collect()
    }

    /// What every device used in all: nothing more will come.
    pub fn last_totals(&self) -> Vec<DeviceTotal> {
        self.courses.iter().map(|course| course.total(self.seen, true)).collect()
    }

    fn take_anchors(&mut self, batch: &Batch) {
        for anchor in &batch.anchors {
            let before = self.anchors.as_slice().last().copied();
            if before.is_some_and(|before| anchor.mono <= before.mono) {
                continue;
            }
            self.anchors.push(*anchor);
            let is_ahead = |anchor: Anchor| anchor.wall - Nanos(anchor.mono.0);
            let is_set_back = |before: Anchor| {
                let back = is_ahead(before) - is_ahead(*anchor);
                back > Nanos(0) && was_set(back, anchor.mono - before.mono)
            };
            if before.is_some_and(is_set_back) {
                self.courses.iter_mut().for_each(|course| course.restart(anchor.mono));
                self.windows.values_mut().for_each(|window| window.is_whole = false);
            }
        }
    }

    /// When a share of a sensor was last reported; the first one is expected from the first sample on. `None` for a sensor
    /// that has none.
    fn shares_reported(&self, cut: Cut) -> Option<Mono> {
        let (book, number) = cut.book(&self.sockets, &self.gpus)?;
        book.heard(number).or(self.seen.map(|(first, _)| first))
    }

    fn settle_beginnings(&mut self) {
        let books = [&self.sockets, &self.gpus];
        let (windows, courses) = (&mut self.windows, &self.courses);
        self.beginning.retain(|id| windows.get_mut(id).is_some_and(|window| !window.begin(courses, books)));
    }

    fn answer_ended(&mut self, is_over: bool) {
        let ended = std::mem::take(&mut self.ended);
        self.ended = ended.into_iter().filter(|id| !self.answer(*id, is_over)).collect();
    }

    /// Answers a window that has ended, if its end is known or nothing more will be; says whether that is done with.
    fn answer(&mut self, id: u64, is_over: bool) -> bool {
        let Some(end) = self.windows.get(&id).and_then(|window| window.end) else { return true };
        let reach = self.courses.iter().map(|course| self.reach(course, end)).min().unwrap_or(Reach::Known);
        if reach == Reach::NotYet && !is_over {
            return false;
        }
        if let Some(window) = self.windows.remove(&id) {
            let (is_whole, devices) = window.energies(&self.courses, [&self.sockets, &self.gpus], end);
            self.answers.push(Answer { id, complete: is_whole && reach == Reach::Known, devices });
        }
        true
    }

    /// Whether what is known of a sensor reaches an instant.
    fn reach(&self, course: &Course, end: Nanos) -> Reach {
        let Some((first, newest)) = self.seen else { return Reach::NotYet };
        let Some(now) = self.anchors.wall(newest) else { return Reach::NotYet };
        let own = course.info.period + course.info.quality.lag;
        // What follows on a stall is waited for from its end on.
        let awaited = course.unsettled().map_or(end, |after_stall| end.max(after_stall));
        let is_late = |by: Nanos| now - awaited > by;
        let (last, is_gap) = course.known_until();
        if last.is_none_or(|last| last.time < end) {
            return match () {
                // What comes next is after the end, and nothing is known until then.
                () if is_gap && is_late(own) && (last.is_some() || newest - first > BEGINNING) => Reach::Known,
                () if is_late(still_after(&course.info) + own + REPORTING_SLACK) => Reach::Late,
                () => Reach::NotYet,
            };
        }
        let shares_until = course.shares_until(self.shares_reported(course.cut), newest);
        match (shares_until, course.mono(end)) {
            (Some(until), Some(end)) if until < end => Reach::NotYet,
            _ => Reach::Known,
        }
    }

    fn forget_the_past(&mut self, newest: Mono) {
        // The shares of a stall are needed when it is over.
        let oldest = self.shares_kept.oldest(newest, self.courses.iter().filter_map(Course::open_since).min());
        self.sockets.forget_before(oldest);
        self.gpus.forget_before(oldest);
        if let Some(now) = self.anchors.wall(newest) {
            self.courses.iter_mut().for_each(|course| course.forget_before(now - KEPT));
        }
        self.anchors.forget_before(oldest);
    }
}

/// How far what is known of a sensor reaches, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    NotYet,
    /// It was waited for long enough.
    Late,
    Known,
}
