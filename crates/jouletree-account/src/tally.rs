//! Tallies: what the sweep adds up. Tallies of two time ranges add to the tally of both.

use rustc_hash::FxHashMap;

use jouletree_model::{Event, Joules, Nanos, Step};

/// What one device used in some stretch of time.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// What each operation used, by its number.
    pub ops: Vec<OpTally>,
    /// What each step used.
    pub steps: FxHashMap<Step, StepTally>,
    /// The energy used while no lane was active.
    pub unattributed: Joules,
    /// How long at least one lane was active.
    pub busy: Nanos,
}

/// What one operation used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OpTally {
    /// The energy it was charged with.
    pub energy: Joules,
    /// How long it was active, summed over lanes.
    pub busy: Nanos,
    /// How often it began.
    pub count: u64,
}

/// What one step used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepTally {
    /// The energy its operations were charged with.
    pub energy: Joules,
    /// How long its operations were active, summed over lanes.
    pub busy: Nanos,
}

impl Tally {
    /// An empty tally for operations numbered below `ops`.
    pub fn new(ops: usize) -> Tally {
        Tally { ops: vec![OpTally::default(); ops], ..Tally::default() }
    }

    /// The energy charged to operations.
    pub fn attributed(&self) -> Joules {
        self.ops.iter().map(|op| op.energy).sum()
    }

    /// Adds the tally of another stretch of time.
    pub fn add(&mut self, other: &Tally) {
        if self.ops.len() < other.ops.len() {
            self.ops.resize(other.ops.len(), OpTally::default());
        }
        for (mine, theirs) in self.ops.iter_mut().zip(&other.ops) {
            mine.energy += theirs.energy;
            mine.busy += theirs.busy;
            mine.count += theirs.count;
        }
        for (step, theirs) in &other.steps {
            let mine = self.steps.entry(*step).or_default();
            mine.energy += theirs.energy;
            mine.busy += theirs.busy;
        }
        self.unattributed += other.unattributed;
        self.busy += other.busy;
    }

    /// Counts events as they begin.
    pub(crate) fn count(&mut self, begun: &[Event]) {
        for event in begun {
            self.ops[event.op.index()].count += 1;
        }
    }

    /// Charges a finished segment, remembering the step in `step` so that a run of segments of one step costs one
    /// look-up.
    #[inline]
    pub(crate) fn charge(&mut self, segment: &Event, energy: f64, busy: i64, step: &mut RunningStep) {
        let op = &mut self.ops[segment.op.index()];
        op.energy.0 += energy;
        op.busy += Nanos(busy);
        if segment.step != step.step {
            self.flush(step);
            step.step = segment.step;
        }
        step.tally.energy.0 += energy;
        step.tally.busy += Nanos(busy);
    }

    /// Books what a run of segments of one step has gathered.
    pub(crate) fn flush(&mut self, step: &mut RunningStep) {
        if step.step != Step::NONE {
            let tally = self.steps.entry(step.step).or_default();
            tally.energy += step.tally.energy;
            tally.busy += step.tally.busy;
        }
        step.tally = StepTally::default();
    }
}

/// The step of the segments being charged and what they have gathered since it was entered.
pub(crate) struct RunningStep {
    step: Step,
    tally: StepTally,
}

impl Default for RunningStep {
    fn default() -> RunningStep {
        RunningStep { step: Step::NONE, tally: StepTally::default() }
    }
}
