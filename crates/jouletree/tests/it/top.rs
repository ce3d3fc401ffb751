//! `jouletree top` from outside: on a fake powercap tree (which measures nothing but knows its energy), on the estimate,
//! and in a terminal of the test's own.

use crate::common;
use crate::terminal;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use common::*;
use fake_powercap::{Fake, Layout, Player};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A machine whose zones draw constant powers, played by the clock.
fn fake() -> (TempDir, Player) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "package-0: 40W\npackage-1: 20W\npackage-0/dram: 5W\n".parse().expect("a script");
    let fake = Fake::new(folder.path(), Layout::TwoSockets, &script).expect("a tree");
    (folder, Player::start(fake))
}

/// The command on a tree of sensors.
fn top(sys: &TempDir) -> Command {
    let mut command = jouletree();
    command.arg("top").env("JOULETREE_SYS_ROOT", sys.path()).stdin(Stdio::null());
    // A GPU of the machine that tests run on is none of theirs.
    command.env("JOULETREE_NVML_LIBRARY", sys.path().join("none"));
    command
}

/// A machine without any meter.
fn nothing() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn lines(ran: Ran) -> Vec<Value> {
    ran.ok().lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Waits for an end that must come by itself.
fn end_of(child: &mut Child) -> i32 {
    status_of(child).code().expect("it ends by itself")
}

/// Waits for an end, by itself or by a signal.
fn status_of(child: &mut Child) -> ExitStatus {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match child.try_wait().expect("a child") {
            Some(status) => return status,
            None if Instant::now() > until => {
                child.kill().expect("it can be killed");
                panic!("it has not ended for a minute");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a number");
    kill_process(pid, signal).expect("the signal is sent");
}

#[test]
fn every_line_balances_on_a_measured_machine() {
    let (folder, player) = fake();
    let begun = player.elapsed();
    let output = top(&folder).args(["--format", "json", "--count", "4", "--interval", "0.5"]).output();
    let lines = lines(ended(output.expect("the command starts")));
    let ended = player.elapsed();
    assert_eq!(lines.len(), 4);
    for line in &lines {
        assert_eq!(text(line, "kind"), "measured");
        for socket in list(line, "sockets") {
            let name = format!("host/cpu:{}", socket["socket"]);
            let parts =
                ["ours_j", "others_j", "idle_j", "unknown_j", "waiting_j"].map(|part| number(socket, part));
            let counted = number(device(line, &name), "energy_j");
            assert_close(parts.iter().sum(), counted, 1e-9, &name);
        }
        let ours: f64 = list(line, "sockets").iter().map(|socket| number(socket, "ours_j")).sum();
        let charged: f64 = list(line, "processes").iter().map(|process| number(process, "energy_j")).sum();
        assert!(
            charged + number(line, "ended_j") + number(line, "unlisted_j") <= ours * (1.0 + 1e-9) + 1e-9,
            "{line}"
        );
    }
    let last = lines.last().expect("a line");
    let whole = |line: &Value| {
        ["cpu:0", "cpu:1", "dram:0"].map(|name| number(device(line, &format!("host/{name}")), "energy_j"))
    };
    assert!(whole(last).iter().zip(whole(&lines[0])).all(|(later, earlier)| *later > earlier));
    // No counter can have gained more than its zone used meanwhile.
    let truth = player.oracle().energy("package-0", begun, ended).expect("the zone").0;
    let counted = whole(last)[0];
    assert!(counted > 0.0 && counted <= truth, "{counted} {truth}");
}

#[test]
fn a_machine_without_a_meter_is_estimated_and_says_so_in_every_line() {
    let folder = nothing();
    let ran =
        ended(top(&folder).args(["--count", "2", "--interval", "0.3"]).output().expect("the command starts"));
    let text = ran.ok();
    let shown: Vec<&str> = text.lines().filter(|line| line.contains("cpu:0 ")).collect();
    assert_eq!(shown.len(), 2, "{text}");
    assert!(shown.iter().all(|line| line.contains("estimated") && line.contains("…")), "{text}");
    assert!(text.contains("by CPU time"), "{text}");
}

#[test]
fn a_command_is_watched_its_output_kept_and_its_end_passed_on() {
    let (folder, _player) = fake();
    let script = "echo in the way; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 7";
    let ran = ended(top(&folder).args(["--", "sh", "-c", script]).output().expect("the command starts"));
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert!(!ran.stdout.contains("in the way\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains(" ours, ") && ran.stdout.contains("cpu:0: "), "{}", ran.stdout);
    let log = ran.stderr.split("output of the command is in ").nth(1).expect("the name of a file").trim();
    assert_eq!(fs::read_to_string(log).expect("the output"), "in the way\n");
    fs::remove_file(log).expect("the file");
}

#[test]
fn a_tree_is_charged_for_what_it_did() {
    let (folder, _player) = fake();
    let work = "while :; do :; done";
    let mut worker = Command::new("sh").args(["-c", work]).spawn().expect("a worker");
    let output = top(&folder)
        .args(["--format", "json", "--count", "3", "--interval", "0.5", &worker.id().to_string()])
        .output();
    worker.kill().expect("it can be killed");
    worker.wait().expect("it ends");
    let lines = lines(ended(output.expect("the command starts")));
    let last = lines.last().expect("a line");
    assert_eq!(last["tree"]["processes"], 1, "{last}");
    let [process] = list(last, "processes") else { panic!("{last}") };
    assert_eq!(process["pid"], worker.id());
    assert!(number(process, "energy_j") > 0.0 && text(process, "command").starts_with("sh -c while"), "{last}");
}

#[test]
fn who_is_told_to_end_says_what_there_was() {
    let folder = nothing();
    for which in [Signal::TERM, Signal::INT] {
        let mut child = top(&folder).stdout(Stdio::piped()).spawn().expect("the command starts");
        let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        signal(&child, which);
        assert_eq!(end_of(&mut child), 0);
        let rest: Vec<String> = reader.lines().map(|line| line.expect("a line")).collect();
        assert!(rest.iter().any(|line| line.starts_with("this machine: ")), "{rest:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_it() {
    let folder = nothing();
    let mut child = top(&folder)
        .args(["--format", "json", "--interval", "0.2"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(end_of(&mut child), 0);
}

#[test]
fn what_cannot_be_watched_is_said() {
    let folder = nothing();
    for (arguments, message) in [
        (&["4194305"][..], "there is no process 4194305"),
        (&["--", "no-such-program-anywhere"], "there is no program `no-such-program-anywhere`"),
        (&["--format", "screen"], "standard output is no terminal"),
    ] {
        let ran = ended(top(&folder).args(arguments).output().expect("the command starts"));
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    let ran = ended(top(&folder).args(["12", "--", "true"]).output().expect("the command starts"));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

/// The terminal is a screen meanwhile, and afterwards as it was.
fn assert_given_back(ending: impl FnOnce(&terminal::Terminal, &Child), code: i32, arguments: &[&str]) -> String {
    let folder = nothing();
    let terminal = terminal::Terminal::open(80, 24);
    let mut command = top(&folder);
    let mut child = terminal.run(command.args(arguments).env("TERM", "xterm-256color"));
    terminal.wait_for("estimated");
    assert!(terminal.is_raw(), "single keys are read");
    ending(&terminal, &child);
    assert_eq!(end_of(&mut child), code);
    assert!(!terminal.is_raw(), "lines are read again");
    let shown = terminal.shown();
    let (entered, left) = (shown.rfind("\x1b[?1049h"), shown.rfind("\x1b[?1049l"));
    assert!(entered.is_some() && entered < left, "{shown:?}");
    assert!(shown.rfind("\x1b[?25l") < shown.rfind("\x1b[?25h"), "the cursor is shown again");
    shown
}

#[test]
fn the_terminal_is_given_back_whoever_ends_it() {
    let shown = assert_given_back(|terminal, _| terminal.press("?sp\x1b[Bqq"), 0, &[]);
    assert!(shown.contains("this machine: "), "a summary: {shown:?}");
    assert_given_back(|terminal, _| terminal.press("\x03"), 0, &[]);
    assert_given_back(|_, child| signal(child, Signal::TERM), 0, &[]);
    assert_given_back(|_, child| signal(child, Signal::INT), 0, &[]);
    assert_given_back(|terminal, _| terminal.resize(40, 10), 0, &["--count", "3"]);
    // Ctrl-C goes to the command, whose end is the end. Where tests run in the background, SIGINT is ignored at first.
    assert_given_back(
        |terminal, _| terminal.press("\x03"),
        130,
        &["--", "env", "--default-signal=INT", "sleep", "60"],
    );
}

/// A window that is closed ends what it showed, and a command that runs in it is not ended by us.
#[test]
fn a_terminal_that_goes_away_ends_it() {
    let folder = nothing();
    for format in ["screen", "text"] {
        let terminal = terminal::Terminal::open(80, 24);
        let mut command = top(&folder);
        command.args(["--format", format, "--interval", "0.2"]).env("TERM", "xterm-256color");
        let mut child = terminal.run(&mut command);
        terminal.wait_for("estimated");
        // There is no signal: only the terminal is gone.
        terminal.close();
        assert_eq!(end_of(&mut child), 0, "{format}");
    }
    let terminal = terminal::Terminal::open(80, 24);
    let mark = folder.path().join("whole");
    let script = format!("sleep 2; echo x > {}; exit 7", mark.display());
    let mut command = top(&folder);
    let mut child = terminal.run(command.args(["--", "sh", "-c", &script]).env("TERM", "xterm-256color"));
    terminal.wait_for("estimated");
    terminal.close();
    assert_eq!(end_of(&mut child), 7);
    assert!(mark.exists());
}

/// A command that is to outlive its terminal does so under jouletree, too.
#[test]
fn what_is_ignored_when_it_starts_stays_ignored() {
    let folder = nothing();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(top(&folder).get_program());
    command.args(["top", "--format", "text", "--interval", "0.2", "--", "sh", "-c", "sleep 2; exit 7"]);
    command.env("JOULETREE_SYS_ROOT", folder.path()).env("JOULETREE_NVML_LIBRARY", folder.path().join("none"));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the command starts");
    let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
    reader.read_line(&mut String::new()).expect("a line");
    signal(&child, Signal::HUP);
    assert_eq!(end_of(&mut child), 7);
    drop(reader);
}

/// A terminal that takes nothing holds up what is written to it, but not the end.
#[test]
fn a_terminal_that_takes_nothing_does_not_keep_it_from_ending() {
    let folder = nothing();
    let terminal = terminal::Terminal::open(200, 60);
    let mut command = top(&folder);
    command.args(["--interval", "0.2"]).env("TERM", "xterm-256color");
    let mut child = terminal.run(&mut command);
    terminal.wait_for("estimated");
    terminal.stop_output();
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, Signal::TERM);
    status_of(&mut child);
}

#[test]
fn no_colour_where_none_is_wanted() {
    let folder = nothing();
    let coloured = |variable: &str, value: &str| {
        let terminal = terminal::Terminal::open(80, 24);
        let mut command = top(&folder);
        command
            .args(["--count", "2", "--interval", "0.3"])
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .env(variable, value);
        let mut child = terminal.run(&mut command);
        assert_eq!(end_of(&mut child), 0);
        // Yellow, as the estimate is: one of sixteen colours, or the same of 256.
        let shown = terminal.shown();
        shown.contains("\x1b[33m") || shown.contains("38;5;3;") || shown.contains("38;5;3m")
    };
    assert!(coloured("SOME_OTHER", "1"));
    assert!(!coloured("NO_COLOR", "1"));
}
