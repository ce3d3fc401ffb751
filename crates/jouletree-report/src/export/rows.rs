//! The rows of a timeline: lanes of the same name are one row however many steps were traced, and what the program noted
//! (stages, steps, windows, compilation) has rows of its own.

use std::collections::BTreeMap;

use jouletree_account::numbered;
use jouletree_model::{Nanos, ProgramSpan, SpanKind, Step, TimeRange, Trace};

/// Lanes that are shown in one row: they have the same name and never run at the same time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub name: String,
    /// The indices of its lanes in the trace, in order of time.
    pub lanes: Vec<usize>,
}

/// A row of what the program noted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NoteRow {
    pub name: String,
    /// In order of time; none overlaps the next.
    pub notes: Vec<Note>,
}

/// Something that the program noted, such as a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Note {
    pub name: String,
    pub range: TimeRange,
    pub kind: SpanKind,
    pub samples: Option<u64>,
    /// Whether its operations were recorded, of a step.
    pub is_recorded: Option<bool>,
    pub function: String,
}

/// The rows of some lanes of a trace, by name. Each traced step has lanes of its own, which follow those of the step before.
pub(super) fn rows(trace: &Trace, lanes: &[usize]) -> Vec<Row> {
    let extent = |lane: usize| trace.lanes.get(lane)?.extent();
    let mut by_time: Vec<usize> = lanes.to_vec();
    by_time.sort_by_key(|lane| extent(*lane).map(|extent| extent.start));
    let mut by_name: BTreeMap<(String, u64), Vec<(Nanos, Row)>> = BTreeMap::new();
    for lane in by_time {
        let name = short(trace.lanes.get(lane).map_or("", |lane| lane.label()));
        let key = numbered(&name).map_or((name.clone(), 0), |(stem, number)| (stem.to_owned(), number));
        let rows = by_name.entry(key).or_default();
        let extent = extent(lane).unwrap_or(TimeRange { start: Nanos::MIN, end: Nanos::MIN });
        match rows.iter_mut().find(|(until, _)| *until <= extent.start) {
            Some((until, row)) => {
                *until = extent.end;
                row.lanes.push(lane);
            }
            None => rows.push((extent.end, Row { name: again(&name, rows.len()), lanes: vec![lane] })),
        }
    }
    by_name.into_values().flatten().map(|(_, row)| row).collect()
}

/// The name of a lane without the device in TensorFlow's words: `/job:localhost/…/device:CPU:0 lane 0` is `CPU:0 lane 0`.
fn short(label: &str) -> String {
    let own = match label.rsplit_once("/device:") {
        Some((_, own)) if label.starts_with("/job:") => own,
        _ => label,
    };
    if own.is_empty() { "lane".to_owned() } else { own.to_owned() }
}

/// The name of one more row with the same name.
fn again(name: &str, before: usize) -> String {
    if before == 0 { name.to_owned() } else { format!("{name} ({})", before + 1) }
}

/// The rows of what the program noted, within the time that is shown. Without notes of steps, those of the trace are shown.
pub(super) fn note_rows(trace: &Trace, whole: TimeRange) -> Vec<NoteRow> {
    let program = &trace.program;
    let mut stages: Vec<Note> = program
        .stages()
        .iter()
        .filter(|stage| !stage.name.is_empty())
        .flat_map(|stage| stage.ranges.iter().map(|range| (stage.name.to_string(), range.intersection(whole))))
        .filter(|(_, range)| !range.is_empty())
        .map(|(name, range)| Note::new(SpanKind::Stage, name, range))
        .collect();
    stages.sort_by_key(|stage| stage.range.start);
    let mut rows = in_rows("stages", stages);
    let mut steps: Vec<(usize, Note)> = program.steps().map(|step| (step.process, step_note(step))).collect();
    if steps.is_empty() {
        steps = traced_steps(trace).map(|note| (0, note)).collect();
    }
    rows.extend(of_processes("steps", trace, steps));
    for (kind, name) in [
        (SpanKind::Window, "windows"),
        (SpanKind::Compilation, "compilation"),
        (SpanKind::Overhead, "recording overhead"),
    ] {
        let spans = program.spans.iter().filter(|span| span.kind == kind && !span.range.is_empty());
        let notes = spans.map(|span| (span.process, Note::new(kind, span.name.to_string(), span.range)));
        rows.extend(of_processes(name, trace, notes.collect()));
    }
    rows
}

impl Note {
    fn new(kind: SpanKind, name: String, range: TimeRange) -> Note {
        Note { name, range, kind, samples: None, is_recorded: None, function: String::new() }
    }
}

fn step_note(step: &ProgramSpan) -> Note {
    let number = step.step.number().map_or_else(|| "step".to_owned(), |number| format!("step {number}"));
    let name = if step.name.is_empty() { number } else { format!("{number} ({})", step.name) };
    Note {
        samples: step.samples,
        is_recorded: Some(step.is_recorded),
        function: step.function.to_string(),
        ..Note::new(SpanKind::Step, name, step.range)
    }
}

/// Steps as the events of a trace have them, of which no program noted anything.
fn traced_steps(trace: &Trace) -> impl Iterator<Item = Note> {
    let mut extents: BTreeMap<Step, TimeRange> = BTreeMap::new();
    for event in trace.lanes.iter().flat_map(|lane| lane.events()).filter(|event| event.step != Step::NONE) {
        let range = TimeRange { start: event.start, end: event.end };
        extents.entry(event.step).and_modify(|extent| *extent = extent.union(range)).or_insert(range);
    }
    extents
        .into_iter()
        .filter_map(|(step, range)| Some(Note::new(SpanKind::Step, format!("step {}", step.number()?), range)))
}

/// Rows for each process that noted something; named after its rank or number where there are several.
fn of_processes(name: &str, trace: &Trace, notes: Vec<(usize, Note)>) -> Vec<NoteRow> {
    let mut by_process: BTreeMap<usize, Vec<Note>> = BTreeMap::new();
    for (process, note) in notes {
        by_process.entry(process).or_default().push(note);
    }
    let is_alone = by_process.len() < 2;
    let title = |process: usize| match trace.program.processes.get(process) {
        _ if is_alone => name.to_owned(),
        Some(process) => match &process.rank {
            Some(rank) => format!("{name}, rank {rank}"),
            None => format!("{name}, process {}", process.pid),
        },
        None => format!("{name}, process {process}"),
    };
    by_process.into_iter().flat_map(|(process, notes)| in_rows(&title(process), notes)).collect()
}

/// As many rows as it takes for none to overlap another.
fn in_rows(name: &str, mut notes: Vec<Note>) -> Vec<NoteRow> {
    notes.sort_by_key(|note| (note.range.start, std::cmp::Reverse(note.range.end)));
    let mut rows: Vec<NoteRow> = Vec::new();
    for note in notes {
        let is_free = |row: &&mut NoteRow| row.notes.last().is_none_or(|last| last.range.end <= note.range.start);
        match rows.iter_mut().find(is_free) {
            Some(row) => row.notes.push(note),
            None => rows.push(NoteRow { name: again(name, rows.len()), notes: vec![note] }),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{Event, Lane, OpId};

    fn lane(label: &str, start: i64, end: i64) -> Lane {
        let event = Event { start: Nanos(start), end: Nanos(end), op: OpId(0), step: Step::NONE };
        Lane::new(0, label, vec![event])
    }

    #[test]
    fn lanes_of_one_name_are_one_row_unless_they_overlap() {
        let device = "/job:localhost/replica:0/task:0/device:CPU:0 lane";
        let lanes = vec![
            lane(&format!("{device} 10"), 0, 10),
            lane(&format!("{device} 2"), 0, 10),
            lane(&format!("{device} 2"), 20, 30),
            lane(&format!("{device} 2"), 5, 25),
        ];
        let trace = Trace { lanes, ..Trace::default() };
        let found = rows(&trace, &[0, 1, 2, 3]);
        let found: Vec<(&str, &[usize])> = found.iter().map(|row| (row.name.as_str(), &*row.lanes)).collect();
        let expected: [(&str, &[usize]); 3] =
            [("CPU:0 lane 2", &[1, 2]), ("CPU:0 lane 2 (2)", &[3]), ("CPU:0 lane 10", &[0])];
        assert_eq!(found, expected);
    }

    #[test]
    fn windows_that_overlap_have_rows_of_their_own() {
        let note = |start: i64, end: i64| {
            Note::new(SpanKind::Window, "w".into(), TimeRange { start: Nanos(start), end: Nanos(end) })
        };
        let rows = in_rows("windows", vec![note(2, 3), note(0, 10), note(10, 11)]);
        let found: Vec<(&str, usize)> = rows.iter().map(|row| (row.name.as_str(), row.notes.len())).collect();
        assert_eq!(found, [("windows", 2), ("windows (2)", 1)]);
    }
}
