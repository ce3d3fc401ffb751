//! `jouletree show` as people see it: Markdown that nothing breaks, colours only where they are wanted, tables as wide as
//! the terminal, and how sure numbers are.

use crate::common;
use crate::terminal;
use test_support::recordings;

use std::process::Command;

use common::*;
use serde_json::{Value, json};

/// The sample's TensorFlow step as a run.
fn sample_run(files: &Files) -> String {
    let folder = files.path("sample");
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &folder]).ok();
    folder
}

/// A trace that fits a recording, with one operation of each name.
fn trace_for(files: &Files, recording: &jouletree_run::RunFolder, names: &[&str]) -> String {
    let power = recording.read_power().expect("power");
    let cpu = power.iter().find(|series| series.device.to_string() == "host/cpu:0" && series.is_whole());
    let start = cpu.expect("a processor").series.extent().expect("some time").start.0 / 1000;
    let event = |(number, name): (usize, &&str)| json!({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start + 100_000 * (1 + number as i64), "dur": 90_000});
    let events: Vec<Value> = names.iter().enumerate().map(event).collect();
    files.write("trace.json", json!({"schemaVersion": 1, "traceEvents": events}).to_string())
}

/// The tables of a Markdown text, each with its rows, cut at bars that are not escaped.
fn tables(text: &str) -> Vec<Vec<Vec<String>>> {
    let cells = |line: &str| -> Vec<String> {
        let inside = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")).expect(line);
        inside.replace("\\|", "\0").split('|').map(|cell| cell.trim_matches(' ').replace('\0', "|")).collect()
    };
    let mut tables = vec![Vec::new()];
    for line in text.lines() {
        match tables.last_mut() {
            Some(rows) if line.starts_with('|') => rows.push(cells(line)),
            _ => tables.push(Vec::new()),
        }
    }
    tables.retain(|rows| !rows.is_empty());
    tables
}

/// Fails unless tables have a header, marks below it, and rows as long.
#[track_caller]
fn assert_well_formed(text: &str) -> Vec<Vec<Vec<String>>> {
    let tables = tables(text);
    assert!(!tables.is_empty(), "{text}");
    for rows in &tables {
        assert!(rows[1].iter().all(|mark| mark == "---" || mark == "---:"), "{text}");
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
        for (title, mark) in rows[0].iter().zip(&rows[1]) {
            let is_number = ["energy", "95 %", "of run", "of trace", "op power", "time, summed", "count"]
                .contains(&title.as_str());
            assert_eq!(is_number, is_number && mark == "---:", "{title}: {text}");
        }
    }
    tables
}

#[test]
fn every_view_is_written_as_markdown() {
    let files = Files::new();
    let folder = sample_run(&files);
    for by in ["layer", "op", "pass", "device", "step"] {
        let text = run(["show", &folder, "--by", by, "--format", "markdown"]).ok();
        assert_eq!(assert_well_formed(&text).len(), 1, "{text}");
    }
    let tree = run(["show", &folder, "--format", "markdown", "--depth", "2"]).ok();
    assert!(tree.contains("| `│\u{a0}\u{a0}├─\u{a0}encoder` |"), "{tree}");
    assert!(!tree.contains('█') && tree.contains("\n\ntrust: estimated; not fit for publication\n"), "{tree}");

    let (trace, power) = (sample("timeline-5.json.gz"), sample("power.csv"));
    let report = run(["account", &trace, "--power", &power, "--format", "markdown"]).ok();
    assert_eq!(assert_well_formed(&report).len(), 4, "{report}");
    assert!(
        report.contains("\n\n### by layer\n\n| layer |") && report.contains("### top 10 operations"),
        "{report}"
    );

    let recorded = files.path("recorded");
    recordings::record(recorded.as_ref(), 1, 20);
    let text = run(["show", &recorded, "--format", "markdown"]).ok();
    let rows = &assert_well_formed(&text)[0];
    assert!(rows.iter().any(|row| row[0] == "`\u{a0}\u{a0}core of host/cpu:0`"), "{text}");
}

#[test]
fn what_a_program_told_is_written_as_markdown() {
    let files = Files::new();
    let folder = files.path("told");
    let program = "import time\nfrom jouletree import _session\nsession = _session.current()\nsession.stage('a|b')\n\
                   t = time.time_ns()\ntime.sleep(0.2)\nu = time.time_ns()\nsession.ran_step(1, t, u, 'train', True, 8)\n\
                   session.ran_window('`eval`', t, u, 'window', 1)\n";
    let arguments = ["run", "-q", "--no-daemon", "-o", &folder, "--", "python3", "-c", program];
    ended(jouletree().args(arguments).output().expect("the command starts")).ok();
    let rows = |by: &str| {
        let text = run(["show", &folder, "--by", by, "--format", "markdown"]).ok();
        assert_well_formed(&text).remove(0)
    };
    assert_eq!(rows("phase")[2][0], "`train`");
    assert_eq!(rows("part").last().expect("a sum")[0], "`all`");
    assert_eq!(rows("window")[2][0], "`` `eval` ``");
    assert_eq!(rows("stage").last().expect("a stage")[0], "`a|b`");
    // The whole report, as in the terminal.
    let text = run(["show", &folder, "--format", "markdown"]).ok();
    assert_eq!(assert_well_formed(&text).len(), 5, "{text}");
    assert!(text.contains("### by window") && !text.contains("\n\n\n"), "{text}");
}

#[test]
fn no_name_breaks_a_table() {
    let files = Files::new();
    let folder = files.path("recorded");
    let recording = recordings::record(folder.as_ref(), 2, 30);
    let trace = trace_for(&files, &recording, &["a|b", "c`d``e", "one\ntwo", "red\u{1b}[31m", "注意"]);
    for format in ["markdown", "table"] {
        let text = run(["account", &trace, "--power", &folder, "--format", format, "--min-share", "0"]).ok();
        assert!(!text.contains('\u{1b}') && text.contains("one two") && text.contains("注意"), "{text}");
        if format == "markdown" {
            assert_well_formed(&text);
            assert!(text.contains("`a\\|b`") && text.contains("```c`d``e```"), "{text}");
        }
    }
}

#[test]
fn an_operation_is_as_uncertain_as_its_device() {
    let files = Files::new();
    let folder = files.path("recorded");
    let recording = recordings::record(folder.as_ref(), 2, 30);
    let trace = trace_for(&files, &recording, &["aten::mm", "aten::add"]);
    let result = account([trace.as_str(), "--power", &folder]);
    let recorded = run(["show", &folder, "--format", "json"]).json();
    for row in
        list(&result, "ops").iter().chain(list(&result, "summary")).filter(|row| number(row, "energy_j") > 0.0)
    {
        let whole = device(&recorded, text(row, "device"));
        for key in ["low_j", "high_j"] {
            let factor = number(whole, key) / number(whole, "energy_j");
            assert_close(number(row, key), factor * number(row, "energy_j"), 1e-9, key);
        }
    }
    let tree = &result["tree"];
    assert!(number(tree, "low_j") < number(tree, "energy_j") && number(tree, "energy_j") < number(tree, "high_j"));
    let sum: f64 = list(&result, "ops").iter().map(|row| number(row, "high_j")).sum();
    assert_close(number(tree, "high_j"), sum, 1e-9, "the tree");
    let report = run(["account", &trace, "--power", &folder]).ok();
    assert!(report.contains("95 %") && report.contains(" … "), "{report}");

    // Of other power nothing is known.
    assert!(timeline()["tree"]["low_j"].is_null() && list(timeline(), "ops")[0]["high_j"].is_null());
    assert!(!run(["show", &sample_run(&files)]).ok().contains("95 %"));
}

/// What a command writes to a terminal.
fn on_terminal(columns: u16, command: &mut Command) -> String {
    let terminal = terminal::Terminal::open(columns, 50);
    let status = terminal.run(command).wait().expect("it ends");
    let shown = terminal.shown();
    assert!(status.success(), "{shown}");
    shown
}

#[test]
fn colours_are_where_they_are_wanted() {
    let files = Files::new();
    let folder = sample_run(&files);
    let show = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = jouletree();
        command.args(["show", &folder]).args(arguments).env("TERM", "xterm");
        command.env_remove("NO_COLOR").env_remove("CLICOLOR").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().copied());
        command
    };
    let is_coloured = |text: &str| text.contains("\u{1b}[");
    let on_terminal = |arguments: &[&str], variables: &[(&str, &str)]| {
        is_coloured(&on_terminal(120, &mut show(arguments, variables)))
    };
    let piped = |arguments: &[&str], variables: &[(&str, &str)]| {
        is_coloured(&ended(show(arguments, variables).output().expect("the command starts")).ok())
    };
    assert!(on_terminal(&[], &[]));
    assert!(!on_terminal(&[], &[("NO_COLOR", "1")]) && !on_terminal(&[], &[("TERM", "dumb")]));
    assert!(!on_terminal(&["--color", "never"], &[]) && !on_terminal(&["--format", "markdown"], &[]));
    assert!(!piped(&[], &[]) && piped(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(piped(&["--color", "always"], &[("NO_COLOR", "1")]));
    for format in ["json", "csv", "markdown"] {
        assert!(!piped(&["--format", format, "--color", "always"], &[]), "{format}");
    }
}

#[test]
fn tables_are_no_wider_than_the_terminal() {
    let files = Files::new();
    let folder = sample_run(&files);
    for columns in [60, 80, 120] {
        for by in ["layer", "op", "pass", "device", "step"] {
            let mut command = jouletree();
            let shown = on_terminal(columns, command.args(["show", &folder, "--by", by]).env("NO_COLOR", "1"));
            let widest = shown.lines().map(|line| line.trim_end().chars().count()).max().expect("lines");
            assert!(widest <= usize::from(columns), "{by} in {columns}: {shown}");
            assert!(by != "layer" || shown.contains('█'), "{shown}");
        }
    }
}

#[test]
fn a_run_is_inspected_as_its_trace_was() {
    let files = Files::new();
    let folder = sample_run(&files);
    let inspected = |path: &str| run(["inspect", path, "--format", "json"]).json();
    let (of_run, of_trace) = (inspected(&folder), inspected(&sample("timeline-5.json.gz")));
    let (device, whole) = (&list(&of_run, "devices")[0], &list(&of_trace, "devices")[0]);
    assert_eq!(device["device"], whole["device"]);
    // A run keeps what was accounted: no operation outside of the step.
    for key in ["events", "duration_s", "busy_s"] {
        assert_close(number(device, key), number(whole, key), 1e-2, key);
    }
    let categories: Vec<&str> = list(device, "categories").iter().map(|row| text(row, "category")).collect();
    assert_eq!(categories, ["backward", "forward", "optimizer"]);
    let text = run(["inspect", &folder]).ok();
    assert!(text.contains("\nmissing    nothing\n"), "{text}");
    assert!(run(["inspect", &sample("timeline-5.json.gz")]).ok().contains("nothing but power"));
}

#[test]
fn what_a_run_does_not_have_is_said() {
    let files = Files::new();
    let folder = sample_run(&files);
    for (by, said) in
        [("window", "marked no windows"), ("stage", "named no stages"), ("phase", "this run has none")]
    {
        let ran = run(["show", &folder, "--by", by]);
        assert!(ran.code == 1 && ran.stdout.is_empty() && ran.stderr.contains(said), "{by}: {}", ran.stderr);
        assert_eq!(run(["show", &folder, "--by", by, "--format", "json"]).json(), json!([]), "{by}");
    }
}
