//! Tallies: what the sweep adds up. Tallies of two time ranges add to the tally of both.

use rustc_hash::FxHashMap;

use jouletree_model::{Event, Joules, Nanos, Step, standard_error_of_same};

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

/// What one operation used, and how uncertain that is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Charged {
    pub(crate) tally: OpTally,
    pub(crate) standard_error: Option<Joules>,
}

impl Charged {
    /// Adds what the same operation used elsewhere: the errors go together.
    pub(crate) fn add(&mut self, other: &Charged) {
        let (mine, more) = ((self.tally.energy, self.standard_error), (other.tally.energy, other.standard_error));
        self.standard_error = standard_error_of_same(mine, more);
        self.tally.add(&other.tally);
    }

    /// Whether the operation ran or was charged with anything.
    pub(crate) fn has_run(&self) -> bool {
        self.tally.count > 0 || self.tally.energy > Joules::ZERO
    }
}

/// What one step used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepTally {
    /// The energy its operations were charged with.
    pub energy: Joules,
    /// How long its operations were active, summed over lanes.
    pub busy: Nanos,
}

impl OpTally {
    /// Adds what it used elsewhere.
    pub(crate) fn add(&mut self, other: &OpTally) {
        self.energy += other.energy;
        self.busy += other.busy;
        self.count += other.count;
    }
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
            mine.add(theirs);
        }
        for (step, theirs) in &other.steps {
            let mine = self.steps.entry(*step).or_default();
            mine.energy += theirs.energy;
            mine.busy += theirs.busy;
        }
        self.unattributed += other.unattributed;
        self.busy += other.busy;
    }

    /// Keeps energies alone.
    pub(crate) fn forget_times(&mut self) {
        for op in &mut self.ops {
            (op.busy, op.count) = (Nanos(0), 0);
        }
        for step in self.steps.values_mut() {
            step.busy = Nanos(0);
        }
    }

    /// Counts events as they begin.
    pub(crate) fn count(&mut self, begun: &[Event]) {
        for event in begun {
            self.ops[event.op.index()].count += 1;
        }
    }

    /// Charges segments one after the other.
    pub(crate) fn charger(&mut self) -> Charger<'_> {
        Charger { ops: &mut self.ops, steps: &mut self.steps, step: Step::NONE, in_step: StepTally::default() }
    }
}

/// Charges segments to their operations and steps. A run of segments of one step costs one look-up of it.
pub(crate) struct Charger<'a> {
    ops: &'a mut [OpTally],
    steps: &'a mut FxHashMap<Step, StepTally>,
    step: Step,
    in_step: StepTally,
}

impl Charger<'_> {
    /// Charges a finished segment that represents `count` events.
    #[inline]
    pub(crate) fn charge(&mut self, segment: &Event, energy: f64, count: u64) {
        // A segment does not end before it begins.
        let busy = segment.end.0.wrapping_sub(segment.start.0) as u64;
        let op = &mut self.ops[segment.op.index()];
        op.energy.0 += energy;
        op.busy = longer(op.busy, busy);
        op.count += count;
        if segment.step != self.step {
            self.leave_step();
            self.step = segment.step;
        }
        self.in_step.energy.0 += energy;
        self.in_step.busy = longer(self.in_step.busy, busy);
    }

    fn leave_step(&mut self) {
        if self.step != Step::NONE {
            let tally = self.steps.entry(self.step).or_default();
            tally.energy += self.in_step.energy;
            tally.busy += self.in_step.busy;
        }
        self.in_step = StepTally::default();
    }
}

/// `total` and `more` nanoseconds, at most what can be written. Both are at least zero, which saves a few instructions
/// where they count.
#[inline]
fn longer(total: Nanos, more: u64) -> Nanos {
    Nanos((total.0 as u64).wrapping_add(more).min(i64::MAX as u64) as i64)
}

impl Drop for Charger<'_> {
    fn drop(&mut self) {
        self.leave_step();
    }
}
