//! All joules of a run as one bar: each joule is in exactly one segment. Finer than slices, as passes and compilation are apart.

use jouletree_model::{Joules, PartKind};
use serde::Serialize;

use crate::parts::{BETWEEN_OPERATIONS, OPERATIONS};
use crate::{Slice, Whole};

/// A segment of the bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// Before the first step.
    StartUp,
    /// While a framework traced or compiled.
    Compilation,
    /// Operations of the forward pass in recorded steps.
    Forward,
    /// Operations of the backward pass.
    Backward,
    /// Operations of the optimizer.
    Optimizer,
    /// Recorded steps, while no operation ran.
    BetweenOperations,
    /// Steps whose operations were not recorded.
    UnrecordedSteps,
    /// Everything else.
    Rest,
}

/// What was used in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SegmentEnergy {
    /// Which.
    pub segment: Segment,
    /// What it is called.
    pub name: &'static str,
    /// What was used there.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// What operations were charged with of it.
    #[serde(rename = "operations_j")]
    pub operations: Joules,
}

impl Segment {
    /// The segment of a part of the run, by the part's name in files; `None` for operations, which are in three.
    pub(crate) fn of_part(part: &str) -> Option<Segment> {
        let is = |kind: PartKind| part == kind.as_str();
        match part {
            OPERATIONS => None,
            BETWEEN_OPERATIONS => Some(Segment::BetweenOperations),
            _ if is(PartKind::BeforeSteps) => Some(Segment::StartUp),
            _ if is(PartKind::Compilation) => Some(Segment::Compilation),
            _ if is(PartKind::UnrecordedSteps) => Some(Segment::UnrecordedSteps),
            _ => Some(Segment::Rest),
        }
    }
}

impl Whole {
    /// All its joules, in the order of the bar.
    pub fn segments(&self) -> Vec<SegmentEnergy> {
        let [forward, backward, optimizer] = self.passes;
        let start = self.at(Slice::StartUp);
        let slice = |segment, slice: Slice| {
            let known = self.at(slice);
            SegmentEnergy { segment, name: self.name(slice), energy: known.energy, operations: known.operations }
        };
        let pass = |segment, name, energy| SegmentEnergy { segment, name, energy, operations: energy };
        // Which of them operations outside of steps were in is not known: they are those of start-up.
        let start_up = SegmentEnergy {
            segment: Segment::StartUp,
            name: "start-up",
            energy: start.energy - self.compilation,
            operations: start.operations,
        };
        let compilation = SegmentEnergy {
            segment: Segment::Compilation,
            name: "compilation",
            energy: self.compilation,
            operations: Joules::ZERO,
        };
        vec![
            start_up,
            compilation,
            pass(Segment::Forward, "forward pass", forward),
            pass(Segment::Backward, "backward pass", backward),
            pass(Segment::Optimizer, "optimizer", optimizer),
            slice(Segment::BetweenOperations, Slice::BetweenOperations),
            slice(Segment::UnrecordedSteps, Slice::UnrecordedSteps),
            slice(Segment::Rest, Slice::Rest),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::Kind;

    #[test]
    fn segments_make_the_whole() {
        let mut whole = Whole::unplaced(Joules(20.0), Some(Kind::Measured), None);
        for (slice, energy) in whole.slices.iter_mut().zip([6.0, 1.0, 2.0, 8.0, 3.0]) {
            slice.energy = Joules(energy);
        }
        whole.passes = [Joules(2.0), Joules(3.5), Joules(0.5)];
        whole.compilation = Joules(5.0);
        let found: Vec<f64> = whole.segments().iter().map(|segment| segment.energy.0).collect();
        assert_eq!(found, [3.0, 5.0, 2.0, 3.5, 0.5, 1.0, 2.0, 3.0]);
        assert_eq!(found.iter().sum::<f64>(), 20.0);
    }

    #[test]
    fn every_part_is_in_a_segment() {
        assert_eq!(Segment::of_part(OPERATIONS), None);
        assert_eq!(Segment::of_part(PartKind::Compilation.as_str()), Some(Segment::Compilation));
        assert_eq!(Segment::of_part(PartKind::BetweenSteps.as_str()), Some(Segment::Rest));
    }
}
