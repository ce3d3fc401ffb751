//! What a program reports about itself while it runs: its processes, steps, windows and stages.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Nanos, Step, TimeRange};

/// What a program reported about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Program {
    /// The processes that reported something.
    pub processes: Vec<Process>,
    /// Their steps, windows and stages.
    pub spans: Vec<ProgramSpan>,
}

/// A process of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The number of the process that started it.
    #[serde(default)]
    pub parent: u32,
    /// Its command line.
    #[serde(default)]
    pub command: Vec<String>,
    /// The version of Python.
    #[serde(default)]
    pub python: String,
    /// Its rank in a distributed job.
    #[serde(default)]
    pub rank: Option<String>,
    /// The frameworks that were recorded, with their versions.
    #[serde(default)]
    pub frameworks: std::collections::BTreeMap<String, String>,
}

/// A stretch of time that has a meaning to the program.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramSpan {
    /// What it is.
    pub kind: SpanKind,
    /// Its name: that of a window or a stage, or what a step does (`train`, `evaluate`, `predict`).
    pub name: Box<str>,
    /// The index of its process in [`Program::processes`].
    pub process: usize,
    /// When it was. A stage that was not ended lasts until the next.
    pub range: TimeRange,
    /// The number of a step.
    pub step: Step,
    /// Whether the operations of a step were recorded.
    pub is_recorded: bool,
    /// How many samples a step worked on.
    pub samples: Option<u64>,
    /// What distinguishes steps of one phase that do different work: a model, a compiled function. May be empty.
    pub function: Box<str>,
}

/// What a [`ProgramSpan`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanKind {
    /// A training step, a batch of an evaluation, an inference.
    Step,
    /// Something the program wanted measured.
    Window,
    /// A stage of the program, such as pre-training, from its beginning to the beginning of the next.
    Stage,
    /// A framework traced or compiled something. No part of a step, even when it happened within one.
    Compilation,
    /// The program waited for its recorder, which wrote a trace. No part of a step either.
    Overhead,
}

/// A kind of span that is not one of [`SpanKind::ALL`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of span; kinds are step, window, stage, compilation and overhead")]
pub struct UnknownSpanKind(String);

/// When a stage was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageTime {
    /// Its name; empty for the time before the first stage.
    pub name: Box<str>,
    /// When it was, in order.
    pub ranges: Vec<TimeRange>,
}

impl SpanKind {
    /// Every kind.
    pub const ALL: [SpanKind; 5] =
        [SpanKind::Step, SpanKind::Window, SpanKind::Stage, SpanKind::Compilation, SpanKind::Overhead];

    /// Its name as it is written in files.
    pub fn as_str(self) -> &'static str {
        match self {
            SpanKind::Step => "step",
            SpanKind::Window => "window",
            SpanKind::Stage => "stage",
            SpanKind::Compilation => "compilation",
            SpanKind::Overhead => "overhead",
        }
    }
}

impl fmt::Display for SpanKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for SpanKind {
    type Err = UnknownSpanKind;
    fn from_str(text: &str) -> Result<SpanKind, UnknownSpanKind> {
        SpanKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownSpanKind(text.to_owned()))
    }
}

impl Program {
    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The steps of all processes.
    pub fn steps(&self) -> impl Iterator<Item = &ProgramSpan> {
        self.spans.iter().filter(|span| span.kind == SpanKind::Step)
    }

    /// When each stage was, in the order of their beginnings; none when the program marked none. All time belongs to one
    /// of them.
    pub fn stages(&self) -> Vec<StageTime> {
        let mut marks: Vec<(Nanos, &str)> = (self.spans.iter())
            .filter(|span| span.kind == SpanKind::Stage)
            .map(|span| (span.range.start, &*span.name))
            .collect();
        marks.sort_unstable();
        // Every rank of a job reports the same.
        marks.dedup_by_key(|(_, name)| *name);
        if marks.is_empty() {
            return Vec::new();
        }
        marks.insert(0, (Nanos::MIN, ""));
        let ends = marks.iter().skip(1).map(|(start, _)| *start).chain([Nanos::MAX]).collect::<Vec<_>>();
        let mut stages: Vec<StageTime> = Vec::new();
        for ((start, name), end) in marks.into_iter().zip(ends) {
            let range = TimeRange { start, end };
            match stages.iter_mut().find(|stage| &*stage.name == name) {
                Some(stage) => stage.ranges.push(range),
                None => stages.push(StageTime { name: name.into(), ranges: vec![range] }),
            }
        }
        stages
    }

    /// Adds what other processes reported.
    pub fn merge(&mut self, other: Program) {
        let first = self.processes.len();
        self.processes.extend(other.processes);
        let moved = |span: ProgramSpan| ProgramSpan { process: span.process + first, ..span };
        self.spans.extend(other.spans.into_iter().map(moved));
    }
}

/// Ranges in order, those that overlap or touch made one.
pub fn united(ranges: impl Iterator<Item = TimeRange>) -> Vec<TimeRange> {
    let mut ranges: Vec<TimeRange> = ranges.filter(|range| !range.is_empty()).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut united: Vec<TimeRange> = Vec::new();
    for range in ranges {
        match united.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => united.push(range),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange { start: Nanos(start), end: Nanos(end) }
    }

    fn span(kind: SpanKind, name: &str, start: i64, end: i64) -> ProgramSpan {
        let (range, step) = (range(start, end), Step::NONE);
        let (is_recorded, samples, function) = (false, None, "".into());
        ProgramSpan { kind, name: name.into(), process: 0, range, step, is_recorded, samples, function }
    }

    #[test]
    fn ranges_that_overlap_or_touch_are_united() {
        let ranges = [(30, 40), (40, 50), (45, 60), (90, 90), (70, 80)].map(|(start, end)| range(start, end));
        assert_eq!(united(ranges.into_iter()), [range(30, 60), range(70, 80)]);
    }

    #[test]
    fn every_kind_of_span_has_a_name_that_is_read_back() {
        for kind in SpanKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("steps".parse::<SpanKind>().is_err());
    }

    #[test]
    fn stages_take_all_time() {
        let marks = [("pre-training", 10), ("fine-tuning", 20), ("fine-tuning", 21), ("pre-training", 30)];
        let spans = marks.map(|(name, start)| span(SpanKind::Stage, name, start, start)).to_vec();
        let stages = Program { spans, ..Program::default() }.stages();
        let expected = [
            ("", vec![range(i64::MIN, 10)]),
            ("pre-training", vec![range(10, 20), range(30, i64::MAX)]),
            ("fine-tuning", vec![range(20, 30)]),
        ];
        let expected = expected.map(|(name, ranges)| StageTime { name: name.into(), ranges });
        assert_eq!(stages, expected);
        assert_eq!(Program::default().stages(), []);
    }
}
