//! The tables in which a process notes its steps, windows, stages, compilation and overhead. A row that was cut off is
//! passed over.

use std::path::Path;

use jouletree_model::{Nanos, ProgramSpan, SpanKind, Step, TimeRange, Warning};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A row of `steps.csv`.
#[derive(Deserialize)]
struct StepRow {
    start_ns: i64,
    end_ns: i64,
    step: u32,
    phase: String,
    recorded: u8,
    samples: Option<u64>,
    /// Absent in the folders of earlier versions.
    #[serde(default)]
    function: String,
}

/// A row of `windows.csv`.
#[derive(Deserialize)]
struct WindowRow {
    start_ns: i64,
    end_ns: i64,
    name: String,
    kind: String,
}

/// What a process noted in its folder.
pub fn spans(folder: &Path, warnings: &mut Vec<Warning>) -> Vec<ProgramSpan> {
    let steps = rows::<StepRow>(&folder.join("steps.csv"), warnings).into_iter().map(|row| ProgramSpan {
        kind: SpanKind::Step,
        name: row.phase.into(),
        process: 0,
        range: TimeRange { start: Nanos(row.start_ns), end: Nanos(row.end_ns) },
        step: Step(row.step),
        is_recorded: row.recorded != 0,
        samples: row.samples,
        function: row.function.into(),
    });
    let windows = rows::<WindowRow>(&folder.join("windows.csv"), warnings).into_iter().filter_map(|row| {
        let kind: SpanKind = row.kind.parse().ok()?;
        // A stage lasts until the next; anything else that was never ended was not measured.
        let is_open = row.end_ns <= row.start_ns;
        if kind == SpanKind::Step || (kind != SpanKind::Stage && is_open) {
            return None;
        }
        let end = if is_open { row.start_ns } else { row.end_ns };
        Some(ProgramSpan {
            kind,
            name: row.name.into(),
            process: 0,
            range: TimeRange { start: Nanos(row.start_ns), end: Nanos(end) },
            step: Step::NONE,
            is_recorded: false,
            samples: None,
            function: "".into(),
        })
    });
    steps.chain(windows).collect()
}

/// The rows of a table; those that cannot be read are left out with a warning, but for the last.
pub(crate) fn rows<R: DeserializeOwned>(file: &Path, warnings: &mut Vec<Warning>) -> Vec<R> {
    let Ok(opened) = jouletree_run::open_file(file) else { return Vec::new() };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(opened);
    let Ok(header) = reader.headers().cloned() else { return Vec::new() };
    let mut rows: Vec<R> = Vec::new();
    let (mut wrong, mut count) = (0, 0_u64);
    for record in reader.records() {
        count += 1;
        // A row that ends early may end within a number.
        let whole = record.ok().filter(|record| record.len() >= header.len());
        match whole.and_then(|record| record.deserialize(Some(&header)).ok()) {
            Some(row) => rows.push(row),
            None => wrong += 1,
        }
    }
    // The last row of a process that was killed is cut off.
    if wrong > 1 {
        let message = format!("{wrong} of {count} rows cannot be read and are left out");
        warnings.push(Warning::new(file.display().to_string(), message));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn steps_windows_and_stages_are_read_and_a_cut_row_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let steps = "start_ns,end_ns,step,phase,recorded,samples\n10,20,1,train,1,8\n20,30,2,train,0,\n30,4";
        fs::write(folder.path().join("steps.csv"), steps).unwrap();
        let windows = "start_ns,end_ns,name,kind,thread\n1,0,pre-training,stage,0\n5,9,\"a, b\",window,7\n6,0,open,window,7\n";
        fs::write(folder.path().join("windows.csv"), windows).unwrap();
        let mut warnings = Vec::new();
        let spans = spans(folder.path(), &mut warnings);
        let found: Vec<_> =
            spans.iter().map(|span| (span.kind, &*span.name, span.range.end.0, span.samples)).collect();
        assert_eq!(
            found,
            [
                (SpanKind::Step, "train", 20, Some(8)),
                (SpanKind::Step, "train", 30, None),
                (SpanKind::Stage, "pre-training", 1, None),
                (SpanKind::Window, "a, b", 9, None),
            ]
        );
        assert!(spans[0].is_recorded && !spans[1].is_recorded);
        assert_eq!(warnings, []);
    }

    #[test]
    fn functions_compilation_and_overhead_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let steps = "start_ns,end_ns,step,phase,recorded,samples,function\n10,20,1,train,1,8,\"f, g\"\n20,30,2,train,0,,\n\
                     30,40,3,train,0,,g\n40,50,4,train,1,5";
        fs::write(folder.path().join("steps.csv"), steps).unwrap();
        let windows = "start_ns,end_ns,name,kind,thread\n1,5,f,compilation,0\n5,9,recording,overhead,0\n9,0,g,compilation,0\n\
                       9,12,x,unheard-of,0\n";
        fs::write(folder.path().join("windows.csv"), windows).unwrap();
        let mut warnings = Vec::new();
        let spans = spans(folder.path(), &mut warnings);
        let rows: Vec<_> = spans.iter().map(|span| (span.kind, &*span.name, &*span.function)).collect();
        assert_eq!(
            rows,
            [
                (SpanKind::Step, "train", "f, g"),
                (SpanKind::Step, "train", ""),
                (SpanKind::Step, "train", "g"),
                (SpanKind::Compilation, "f", ""),
                (SpanKind::Overhead, "recording", ""),
            ],
            "a last row without its function was cut off"
        );
        assert_eq!(warnings, []);
    }
}
