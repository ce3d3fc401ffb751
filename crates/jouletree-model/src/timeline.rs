//! Which part of a program each instant belongs to: a step, compilation, recording itself, or the time around them.
//!
//! Every instant belongs to exactly one part, so that the energies of the parts sum up to the energy of the program. Within a
//! process, compilation and recording are no part of the step around them. Of several processes, one that is in a step
//! decides: the others wait for it or take the same step.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Nanos, Program, ProgramSpan, SpanKind, Step, TimeRange};

/// A part of a program's time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// What its steps do; empty when it is not made of steps.
    #[serde(default)]
    pub phase: Box<str>,
    /// The function of its steps; may be empty.
    #[serde(default)]
    pub function: Box<str>,
}

/// What a [`Part`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Steps whose operations were recorded.
    RecordedSteps,
    /// From the first operation to the last of a program that has no recorded step.
    Operations,
    /// Steps whose operations were not recorded.
    UnrecordedSteps,
    /// A framework traced or compiled something.
    Compilation,
    /// The program waited for its recorder.
    Recording,
    /// Before the first step.
    BeforeSteps,
    /// Between steps.
    BetweenSteps,
    /// After the last step.
    AfterSteps,
    /// The rest of a program that has no steps.
    NoSteps,
}

/// All time, cut into parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// The parts that occur.
    pub parts: Vec<Part>,
    /// All time, in order and without a gap.
    pub stretches: Vec<Stretch>,
}

/// A stretch of time that belongs to one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// When it was.
    pub range: TimeRange,
    /// The index of its part in [`Timeline::parts`].
    pub part: usize,
    /// The number of the step that it belongs to.
    pub step: Step,
}

impl PartKind {
    /// Its name as it is written in files.
    pub fn as_str(self) -> &'static str {
        match self {
            PartKind::RecordedSteps => "recorded_steps",
            PartKind::Operations => "operations",
            PartKind::UnrecordedSteps => "unrecorded_steps",
            PartKind::Compilation => "compilation",
            PartKind::Recording => "recording",
            PartKind::BeforeSteps => "before_steps",
            PartKind::BetweenSteps => "between_steps",
            PartKind::AfterSteps => "after_steps",
            PartKind::NoSteps => "no_steps",
        }
    }
}

impl Part {
    /// A part that is not made of steps.
    pub fn new(kind: PartKind) -> Part {
        Part { kind, phase: "".into(), function: "".into() }
    }

    /// Whether its operations were recorded.
    pub fn is_recorded(&self) -> bool {
        matches!(self.kind, PartKind::RecordedSteps | PartKind::Operations)
    }

    /// Whether it is made of steps.
    pub fn is_steps(&self) -> bool {
        matches!(self.kind, PartKind::RecordedSteps | PartKind::UnrecordedSteps)
    }

    fn of_step(step: &ProgramSpan) -> Part {
        let kind = if step.is_recorded { PartKind::RecordedSteps } else { PartKind::UnrecordedSteps };
        Part { kind, phase: step.name.clone(), function: step.function.clone() }
    }
}

impl Timeline {
    /// The parts of `program`; `None` when it has neither steps nor anything that is no part of one.
    ///
    /// `operations` is when operations ran. A program with operations and without a recorded step was recorded throughout.
    pub fn of(program: &Program, operations: Option<TimeRange>) -> Option<Timeline> {
        let is_part = |span: &&ProgramSpan| !matches!(span.kind, SpanKind::Window | SpanKind::Stage);
        let mut spans: Vec<ProgramSpan> = program.spans.iter().filter(is_part).cloned().collect();
        spans.retain(|span| !span.range.is_empty());
        if spans.is_empty() {
            return None;
        }
        let has_recorded = spans.iter().any(|span| span.kind == SpanKind::Step && span.is_recorded);
        let has_steps = spans.iter().any(|span| span.kind == SpanKind::Step);
        if let Some(range) = operations.filter(|range| !has_recorded && !range.is_empty()) {
            spans.push(ProgramSpan {
                kind: SpanKind::Step,
                name: "".into(),
                process: NO_PROCESS,
                range,
                step: Step::NONE,
                is_recorded: true,
                samples: None,
                function: "".into(),
            });
        }
        Some(Sweep::over(&spans, has_steps))
    }

    /// When operations were recorded, in order; ranges may touch.
    pub fn recorded(&self) -> Vec<TimeRange> {
        let is_recorded = |stretch: &&Stretch| self.parts.get(stretch.part).is_some_and(Part::is_recorded);
        self.stretches.iter().filter(is_recorded).map(|stretch| stretch.range).collect()
    }

    /// When each part was, in the order of [`Timeline::parts`].
    pub fn ranges(&self) -> Vec<Vec<TimeRange>> {
        let mut ranges = vec![Vec::new(); self.parts.len()];
        for stretch in &self.stretches {
            if let Some(ranges) = ranges.get_mut(stretch.part) {
                ranges.push(stretch.range);
            }
        }
        ranges
    }

    /// The index of the stretch that an instant lies in.
    pub fn place(&self, instant: Nanos) -> usize {
        self.stretches.partition_point(|stretch| stretch.range.end <= instant).min(self.stretches.len().max(1) - 1)
    }
}

/// The process of the span that holds all operations of a program without recorded steps.
const NO_PROCESS: usize = usize::MAX;

/// A step that runs: recorded ones come last in order, then those that began last.
type Running = (bool, Nanos, usize);

/// What a process does.
#[derive(Default)]
struct Doing {
    steps: BTreeSet<Running>,
    compilations: usize,
    recordings: usize,
}

impl Doing {
    /// Whether its steps count, and nothing that is no part of them goes on.
    fn is_stepping(&self) -> bool {
        self.compilations == 0 && self.recordings == 0
    }
}

/// Goes through time from one border of a span to the next.
struct Sweep<'a> {
    spans: &'a [ProgramSpan],
    has_steps: bool,
    first: Nanos,
    last: Nanos,
    processes: BTreeMap<usize, Doing>,
    /// The steps of all processes that step.
    steps: BTreeSet<Running>,
    /// How many processes compile, and how many wait for their recorder.
    compiling: usize,
    recording: usize,
    known: BTreeMap<Part, usize>,
    timeline: Timeline,
}

impl<'a> Sweep<'a> {
    fn over(spans: &'a [ProgramSpan], has_steps: bool) -> Timeline {
        let steps = || spans.iter().filter(|span| span.kind == SpanKind::Step);
        let mut borders: Vec<(Nanos, bool, usize)> = Vec::with_capacity(2 * spans.len());
        for (index, span) in spans.iter().enumerate() {
            borders.push((span.range.start, true, index));
            borders.push((span.range.end, false, index));
        }
        borders.sort_unstable();
        let mut sweep = Sweep {
            spans,
            has_steps,
            first: steps().map(|span| span.range.start).min().unwrap_or(Nanos::MAX),
            last: steps().map(|span| span.range.end).max().unwrap_or(Nanos::MIN),
            processes: BTreeMap::new(),
            steps: BTreeSet::new(),
            compiling: 0,
            recording: 0,
            known: BTreeMap::new(),
            timeline: Timeline::default(),
        };
        let mut at = Nanos::MIN;
        for borders in borders.chunk_by(|a, b| a.0 == b.0) {
            let Some((time, ..)) = borders.first() else { continue };
            sweep.stretch(TimeRange { start: at, end: *time });
            at = *time;
            borders.iter().for_each(|(_, begins, index)| sweep.turn(*begins, *index));
        }
        sweep.stretch(TimeRange { start: at, end: Nanos::MAX });
        sweep.timeline
    }

    /// A span begins or ends.
    fn turn(&mut self, begins: bool, index: usize) {
        let Some(span) = self.spans.get(index) else { return };
        let doing = self.processes.entry(span.process).or_default();
        // What the process did is taken out, and what it does now is put in.
        if doing.is_stepping() {
            self.steps.retain(|step| !doing.steps.contains(step));
        } else if doing.recordings > 0 {
            self.recording -= 1;
        } else {
            self.compiling -= 1;
        }
        let counted = |count: usize| if begins { count + 1 } else { count.saturating_sub(1) };
        match span.kind {
            SpanKind::Compilation => doing.compilations = counted(doing.compilations),
            SpanKind::Overhead => doing.recordings = counted(doing.recordings),
            _ => {
                let step = (span.is_recorded, span.range.start, index);
                if begins {
                    doing.steps.insert(step)
                } else {
                    doing.steps.remove(&step)
                };
            }
        }
        if doing.is_stepping() {
            self.steps.extend(doing.steps.iter().copied());
        } else if doing.recordings > 0 {
            self.recording += 1;
        } else {
            self.compiling += 1;
        }
    }

    /// Time goes by in which nothing begins or ends.
    fn stretch(&mut self, range: TimeRange) {
        if range.is_empty() {
            return;
        }
        let (part, step) = match self.steps.last().and_then(|(.., index)| self.spans.get(*index)) {
            Some(span) if span.process == NO_PROCESS => (Part::new(PartKind::Operations), Step::NONE),
            Some(span) => (Part::of_step(span), span.step),
            None if self.compiling > 0 => (Part::new(PartKind::Compilation), Step::NONE),
            None if self.recording > 0 => (Part::new(PartKind::Recording), Step::NONE),
            None if !self.has_steps => (Part::new(PartKind::NoSteps), Step::NONE),
            None if range.end <= self.first => (Part::new(PartKind::BeforeSteps), Step::NONE),
            None if range.start >= self.last => (Part::new(PartKind::AfterSteps), Step::NONE),
            None => (Part::new(PartKind::BetweenSteps), Step::NONE),
        };
        let parts = &mut self.timeline.parts;
        let part = *self.known.entry(part).or_insert_with_key(|part| {
            parts.push(part.clone());
            parts.len() - 1
        });
        match self.timeline.stretches.last_mut() {
            Some(last) if (last.part, last.step) == (part, step) => last.range.end = range.end,
            _ => self.timeline.stretches.push(Stretch { range, part, step }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: SpanKind = SpanKind::Step;

    fn span(kind: SpanKind, name: &str, process: usize, start: i64, end: i64) -> ProgramSpan {
        ProgramSpan {
            kind,
            name: name.into(),
            process,
            range: TimeRange { start: Nanos(start), end: Nanos(end) },
            step: if kind == STEP { Step(start as u32) } else { Step::NONE },
            is_recorded: kind == STEP && name == "train",
            samples: None,
            function: "".into(),
        }
    }

    fn timeline(spans: Vec<ProgramSpan>) -> Timeline {
        Timeline::of(&Program { spans, ..Program::default() }, None).unwrap()
    }

    /// The kind and phase of each stretch, with its end.
    fn summary(timeline: &Timeline) -> Vec<(PartKind, &str, i64)> {
        let row = |stretch: &Stretch| {
            let part = &timeline.parts[stretch.part];
            (part.kind, &*part.phase, stretch.range.end.0)
        };
        timeline.stretches.iter().map(row).collect()
    }

    #[test]
    fn all_time_belongs_to_a_part() {
        use PartKind::*;
        let spans = vec![
            span(STEP, "train", 0, 10, 20),
            span(SpanKind::Compilation, "f", 0, 12, 14),
            span(SpanKind::Overhead, "", 0, 20, 25),
            span(STEP, "evaluate", 0, 30, 40),
            span(SpanKind::Compilation, "g", 0, 2, 5),
            span(SpanKind::Window, "w", 0, 0, 99),
            span(STEP, "train", 0, 45, 45),
        ];
        let timeline = timeline(spans);
        assert_eq!(
            summary(&timeline),
            [
                (BeforeSteps, "", 2),
                (Compilation, "", 5),
                (BeforeSteps, "", 10),
                (RecordedSteps, "train", 12),
                (Compilation, "", 14),
                (RecordedSteps, "train", 20),
                (Recording, "", 25),
                (BetweenSteps, "", 30),
                (UnrecordedSteps, "evaluate", 40),
                (AfterSteps, "", i64::MAX),
            ]
        );
        assert_eq!(timeline.stretches[0].range.start, Nanos::MIN);
        assert_eq!([9, 10, 13, 99].map(|instant| timeline.place(Nanos(instant))), [2, 3, 4, 9]);
        assert_eq!(timeline.recorded().len(), 2);
    }

    #[test]
    fn a_process_that_steps_decides_and_recorded_steps_come_first() {
        use PartKind::*;
        let spans = vec![
            span(STEP, "evaluate", 0, 0, 40),
            span(STEP, "train", 1, 10, 20),
            span(SpanKind::Overhead, "", 1, 15, 30),
            span(SpanKind::Compilation, "", 2, 30, 50),
        ];
        assert_eq!(
            summary(&timeline(spans)),
            [
                (BeforeSteps, "", 0),
                (UnrecordedSteps, "evaluate", 10),
                (RecordedSteps, "train", 15),
                (UnrecordedSteps, "evaluate", 40),
                (Compilation, "", 50),
                (AfterSteps, "", i64::MAX),
            ]
        );
    }

    #[test]
    fn steps_of_several_threads_and_functions() {
        use PartKind::*;
        let mut spans = vec![span(STEP, "train", 0, 0, 40), span(STEP, "train", 0, 10, 20)];
        assert_eq!(summary(&timeline(spans.clone())).len(), 5, "steps stay apart");
        spans[1].function = "g".into();
        let timeline = timeline(spans);
        let functions: Vec<&str> =
            timeline.stretches.iter().map(|stretch| &*timeline.parts[stretch.part].function).collect();
        assert_eq!(functions, ["", "", "g", "", ""]);
        assert_eq!(timeline.parts.len(), 4);
        assert_eq!(timeline.parts[3].kind, AfterSteps);
    }

    #[test]
    fn a_program_without_a_recorded_step_was_recorded_throughout() {
        use PartKind::*;
        let program = Program { spans: vec![span(STEP, "evaluate", 0, 10, 40)], ..Program::default() };
        let operations = TimeRange { start: Nanos(5), end: Nanos(30) };
        let timeline = Timeline::of(&program, Some(operations)).unwrap();
        assert_eq!(
            summary(&timeline),
            [
                (BeforeSteps, "", 5),
                (Operations, "", 30),
                (UnrecordedSteps, "evaluate", 40),
                (AfterSteps, "", i64::MAX)
            ]
        );
        let program = Program { spans: vec![span(SpanKind::Compilation, "", 0, 10, 40)], ..Program::default() };
        let timeline = Timeline::of(&program, None).unwrap();
        assert_eq!(summary(&timeline), [(NoSteps, "", 10), (Compilation, "", 40), (NoSteps, "", i64::MAX)]);
        assert_eq!(Timeline::of(&Program::default(), Some(operations)), None);
    }
}
