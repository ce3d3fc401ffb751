//! Every verb of the command, with arguments that make it do its work, and how it is expected to end.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use test_support::made_trees as made;

use crate::calibrated::calibration;
use crate::called::called_run;
use crate::common::*;

/// What a verb does with its time and its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// It writes a result to standard output and ends.
    Answers,
    /// It writes files, reports them on standard error and ends.
    Writes,
    /// It finds nothing to answer about, and says so on standard error.
    Fails,
    /// It goes on until it is ended.
    GoesOn(Service),
    /// It runs a command and ends with its status; this shows that the command has begun.
    PassesOn(&'static str),
}

/// How a verb that goes on is ended, and what shows that it has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    pub sign: &'static str,
    /// Whether it ends in order when it is sent SIGHUP, as when its terminal is closed.
    pub hangup: Hangup,
    /// What becomes of it when nothing can be written to standard output.
    pub unread: Unread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hangup {
    EndsInOrder,
    /// The system ends it: there is nothing to keep.
    IsKilled,
    Ignores,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Its output is what it is for.
    Ends,
    /// It works on: the output is a message, and a reader that is gone has read enough of it.
    GoesOn,
    /// It writes nothing there.
    WritesNothing,
}

/// A verb with its arguments and its input.
pub struct Verb {
    /// Its words, as in `jouletree --help`.
    pub name: &'static str,
    pub nature: Nature,
    pub arguments: Vec<String>,
    pub input: Option<String>,
}

impl Verb {
    pub fn words(&self) -> Vec<&str> {
        self.name.split(' ').chain(self.arguments.iter().map(String::as_str)).collect()
    }
}

/// What `PassesOn` runs: it ends with this status when a signal asks it to.
pub const STATUS: i32 = 7;
/// What it writes to standard error when it has begun.
const BEGUN: &str = "it has begun";
const COMMAND: &str =
    "trap '' PIPE; trap 'exit 7' HUP INT TERM; echo 'it has' begun >&2; while :; do sleep 0.1; done";

/// A request of the Python package; no row is written for it.
const REQUEST: &str = r#"{"version": 1, "settings": {"country_iso_code": "ITA"},
    "run": {"run_id": "r1", "start_ns": 1000000000, "end_ns": 11000000000, "python_version": "3.11.7"},
    "devices": [{"device": "host/cpu:0", "kind": "measured", "energy_j": 360.0, "low_j": 350.0, "high_j": 370.0, "ours_j": 180.0,
    "others_j": 60.0, "idle_j": 120.0, "unknown_j": 0.0, "coverage": 1.0}], "write": []}"#;

/// What the verbs work on: made once for a test, in a folder that is the current one of all of them.
pub fn prepared(files: &Files) {
    let folder = files.path("run");
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &folder]).ok();
    called_run(files.path("called").as_ref());
    fs::create_dir(files.path("calibration")).expect("a folder");
    files.write("calibration/calibration.json", calibration().to_string());
    run(["train", &files.path("calibration"), "-o", &files.path("profile.json")]).ok();
    files.write("program.py", "import torch\nx = torch.ones(2)\n");
    files.write("models.csv", "name,accuracy,energy_j,sd_j,kind\ntiny,82.1,1.2,0.1,measured\n");
    files.write("trees.jsonl", made::jsonl(&made::calls()));
    fs::create_dir(files.path("layers")).expect("a folder");
    let row = |index: u64| format!("{},{},{},{:e}\n", 1 + index % 7, 1 + index * 131 % 199, 2 + index, 1e-9);
    let table: String = (0..40).map(row).collect();
    files.write("layers/linear.csv", "batch_size,input_size,output_size,cpu_energy\n".to_owned() + &table);
    run(["estimate", "layers", "train", &files.path("layers"), "-o", &files.path("predictor.json")]).ok();
    files
        .write("model.toml", "[[operator]]\nname = \"fc\"\nkind = \"dense\"\nrows = 3\ninputs = 5\noutputs = 2\n");
    // Stands in for a Python with PyTorch.
    let python = files.write("python", format!("#!/bin/sh\n{COMMAND}\n"));
    fs::set_permissions(python, fs::Permissions::from_mode(0o755)).expect("it can be run");
    for folder in ["machine", "home"] {
        fs::create_dir(files.path(folder)).expect("a folder");
    }
}

/// All verbs, on files that are there, with names of `tag` for what they create.
pub fn verbs(tag: &str) -> Vec<Verb> {
    let (trace, power) = (sample("timeline-5.json.gz"), sample("power.csv"));
    let new = |name: &str| format!("{name}-{tag}");
    let verb = |name: &'static str, nature: Nature, arguments: &[&str]| Verb {
        name,
        nature,
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        input: None,
    };
    let answers = |name, arguments: &[&str]| verb(name, Nature::Answers, arguments);
    let asked = |verb: Verb, input: &str| Verb { input: Some(input.to_owned()), ..verb };
    let recorder = |sign| Service { sign, hangup: Hangup::EndsInOrder, unread: Unread::WritesNothing };
    let top = Service { sign: "cpu:0 ", hangup: Hangup::EndsInOrder, unread: Unread::Ends };
    let daemon = Service { sign: "serving at", hangup: Hangup::Ignores, unread: Unread::WritesNothing };
    let serve = Service { sign: "answers until", hangup: Hangup::IsKilled, unread: Unread::GoesOn };
    let attend = Service { sign: "period_ms", hangup: Hangup::EndsInOrder, unread: Unread::Ends };
    let passes_on = |name: &'static str, arguments: &[&str]| {
        let command = ["--", "sh", "-c", COMMAND];
        let sign = if name == "top" { top.sign } else { BEGUN };
        verb(name, Nature::PassesOn(sign), &[arguments, &command].concat())
    };
    let mut verbs = vec![
        answers("account", &[&trace, "--power", &power]),
        answers("calls", &["called"]),
        answers("carbon", &["run", "--intensity", "100"]),
        answers("card", &["run", "--intensity", "100"]),
        answers("config show", &[]),
        answers("detect", &[]),
        answers("doctor", &[]),
        answers("estimate impact", &["--gpu", "A100", "--hours", "1", "--intensity", "10"]),
        answers("estimate layers evaluate", &["layers"]),
        answers("estimate layers predict", &["model.toml", "--predictor", "predictor.json"]),
        answers("estimate layers train", &["layers", "-o", &new("predictor")]),
        answers("estimate theory", &["alexnet"]),
        answers("evaluate predictor", &["trees.jsonl", "--strategy", "measured-leaves", "--seeds", "1"]),
        answers("inspect", &[&trace]),
        answers("patch", &["program.py", "--list"]),
        answers("predict", &["bert", "--profile", "profile.json"]),
        answers("show", &["run"]),
        answers("show", &["run", "--by", "op", "--format", "csv"]),
        answers("show", &["run", "--by", "type", "--format", "markdown"]),
        answers("show", &["run", "--format", "json"]),
        answers("tradeoff", &["models.csv"]),
        answers("train", &["calibration", "-o", &new("profile")]),
        answers("--help", &[]),
        answers("run", &["--help"]),
        // Hidden: for the Python package.
        asked(answers("emissions", &[]), REQUEST),
        verb("report", Nature::Writes, &["run", "-o", &new("page")]),
        verb("daemon status", Nature::Fails, &["--socket", "no-socket"]),
        verb("daemon", Nature::GoesOn(daemon), &["--socket", &new("socket")]),
        verb("serve", Nature::GoesOn(serve), &["--port", "0"]),
        verb("record", Nature::GoesOn(recorder("recording to")), &["--no-daemon", "-o", &new("recorded")]),
        verb(
            "monitor",
            Nature::GoesOn(recorder("monitoring")),
            &["--no-daemon", "--country", "ITA", "--output-file", &new("emissions")],
        ),
        verb("top", Nature::GoesOn(top), &["--no-daemon", "--format", "text", "--interval", "0.2"]),
        asked(
            verb("attend", Nature::GoesOn(attend), &["--no-daemon", "--pid", &std::process::id().to_string()]),
            "{\"now\": true}\n",
        ),
        passes_on("run", &["--no-daemon", "-o", &new("ran")]),
        passes_on("record", &["--no-daemon", "-o", &new("recorded-command")]),
        passes_on("monitor", &["--no-daemon", "--country", "ITA", "--output-file", &new("emissions-of-command")]),
        passes_on("top", &["--no-daemon", "--format", "text", "--interval", "0.2"]),
        verb(
            "calibrate",
            Nature::PassesOn(BEGUN),
            &["--no-daemon", "--python", "./python", "-o", &new("calibration")],
        ),
    ];
    for format in ["speedscope", "collapsed", "pprof", "perfetto", "firefox", "csv", "parquet"] {
        verbs.push(answers("export", &["run", "--to", format, "-o", "-"]));
    }
    verbs
}

/// The verbs that the command lists, and below them those that verbs of their own have.
pub fn listed(verb: &str) -> Vec<String> {
    let help = run(verb.split(' ').filter(|word| !word.is_empty()).chain(["--help"])).ok();
    // Below a heading there are two blanks, a name, and what it is about.
    let (mut is_list, mut found) = (false, Vec::new());
    for line in help.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            is_list = line == "Commands:" || verb.is_empty() && line.ends_with(':') && line != "Options:";
        } else if let Some(name) = line.strip_prefix("  ").and_then(|line| line.split(' ').next())
            && is_list
            && !["", "help"].contains(&name)
        {
            found.push(format!("{verb} {name}").trim().to_owned());
        }
    }
    found
}
