//! When the steps, stages and other parts of a program were, for the axis of power over time.

use jouletree_model::{Nanos, Part, Program, Step, TimeRange, Timeline};

/// So many stretches of time are kept; where there are more, steps that follow each other are one.
const MOST_STRETCHES: usize = 6000;

/// When the parts of a program were.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks {
    /// The parts that occur.
    pub parts: Vec<Part>,
    /// All time, in order and without a gap, after the beginning of the recorded power.
    pub stretches: Vec<Mark>,
    /// The stages, in order, by name and beginning; a stage lasts until the next.
    pub stages: Vec<(Box<str>, Nanos)>,
}

/// A stretch of time that belongs to one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// When it begins.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
    /// The index of its part.
    pub part: usize,
    /// The number of its step.
    pub step: Step,
}

impl Marks {
    /// The parts of a program within the time that power is known of.
    pub(super) fn of(program: &Program, extent: TimeRange, operations: Option<TimeRange>) -> Marks {
        let after = |instant: Nanos| instant.clamp(extent.start, extent.end) - extent.start;
        let mut marks = Marks::default();
        for stage in program.stages() {
            for range in &stage.ranges {
                let is_inside = range.start < extent.end && range.end > extent.start;
                if is_inside && !(stage.name.is_empty() && range.end <= extent.start) {
                    marks.stages.push((stage.name.clone(), after(range.start)));
                }
            }
        }
        marks.stages.sort_by_key(|(_, start)| *start);
        let Some(timeline) = Timeline::of(program, operations) else { return marks };
        let inside = timeline
            .stretches
            .iter()
            .filter(|stretch| stretch.range.start < extent.end && stretch.range.end > extent.start);
        let mark = |stretch: &jouletree_model::Stretch| Mark {
            start: after(stretch.range.start),
            end: after(stretch.range.end),
            part: stretch.part,
            step: stretch.step,
        };
        marks.stretches = inside.map(mark).collect();
        if marks.stretches.len() > MOST_STRETCHES {
            marks.stretches = without_steps(&marks.stretches);
        }
        marks.parts = timeline.parts;
        marks
    }
}

/// The same with stretches of one part that follow each other made one.
fn without_steps(stretches: &[Mark]) -> Vec<Mark> {
    let mut joined: Vec<Mark> = Vec::new();
    for stretch in stretches {
        match joined.last_mut() {
            Some(last) if last.part == stretch.part => last.end = stretch.end,
            _ => joined.push(Mark { step: Step::NONE, ..*stretch }),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{ProgramSpan, SpanKind};

    fn span(kind: SpanKind, name: &str, start: i64, end: i64) -> ProgramSpan {
        ProgramSpan {
            kind,
            name: name.into(),
            process: 0,
            range: TimeRange { start: Nanos(start), end: Nanos(end) },
            step: Step(start as u32),
            is_recorded: true,
            samples: None,
            function: "".into(),
        }
    }

    #[test]
    fn parts_and_stages_are_cut_to_the_time_with_power() {
        let spans = vec![
            span(SpanKind::Stage, "one", 20, 20),
            span(SpanKind::Stage, "two", 60, 60),
            span(SpanKind::Step, "train", 30, 40),
            span(SpanKind::Step, "train", 40, 50),
        ];
        let program = Program { spans, ..Program::default() };
        let marks = Marks::of(&program, TimeRange { start: Nanos(10), end: Nanos(90) }, None);
        let found: Vec<(i64, i64)> = marks.stretches.iter().map(|mark| (mark.start.0, mark.end.0)).collect();
        assert_eq!(found, [(0, 20), (20, 30), (30, 40), (40, 80)]);
        let stages: Vec<(&str, i64)> = marks.stages.iter().map(|(name, start)| (&**name, start.0)).collect();
        assert_eq!(stages, [("", 0), ("one", 10), ("two", 50)]);
        assert_eq!(without_steps(&marks.stretches).len(), 3);
    }
}
