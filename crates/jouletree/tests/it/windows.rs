//! Programs that ask about windows of their time, on a machine made of files whose power is played by the clock. No energy
//! here comes from hardware.

use crate::common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::*;
use fake_powercap::{Fake, LONGEST_TICK, Layout, Player};
use serde_json::Value;
use tempfile::TempDir;

/// A machine with one socket, whose power is played from now on.
fn machine(script: &str) -> (TempDir, Player) {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new(folder.path(), Layout::OneSocket, &script.parse().unwrap()).unwrap();
    (folder, Player::start(fake))
}

/// Whether there is a Python that can run the package.
fn has_python() -> bool {
    let asked = Command::new("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status();
    let has_it = asked.is_ok_and(|status| status.success());
    if !has_it {
        println!("skipped: there is no python3 of version 3.9 or newer");
    }
    has_it
}

fn in_world(command: &mut Command, machine: &Path) {
    command.env("PYTHONPATH", root().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("JOULETREE_BINARY", env!("CARGO_BIN_EXE_jouletree")).env("JOULETREE_SYS_ROOT", machine);
    command.env("JOULETREE_NVML_LIBRARY", machine.join("libnvidia-ml.so.1")).env_remove("JOULETREE_SOCKET");
}

fn program(machine: &Path) -> Vec<String> {
    let script = root().join("crates/jouletree/tests/it/windows/program.py");
    ["python3", script.to_str().unwrap(), machine.to_str().unwrap()].map(str::to_owned).to_vec()
}

/// What a program was answered is true, by the script that was played and the counter that it read itself.
fn assert_true(output: &Value, player: &Player) {
    let tick = 60.0 * (LONGEST_TICK + player.latest()).as_secs_f64();
    let windows = list(output, "windows");
    let cpu = |window: &Value, key: &str| number(&window["devices"]["host/cpu:0"], key);
    let (outer, inner) = windows.split_last().unwrap();
    for window in windows {
        assert_eq!((text(window, "kind"), &window["complete"]), ("derived", &Value::Bool(true)), "{window}");
        assert_eq!(window["devices"]["host/cpu:0"]["meter"], "measured");
        let (whole, wanted) = (cpu(window, "whole"), 60.0 * number(window, "seconds"));
        assert!((whole - wanted).abs() < 2.0 * tick, "{whole} J and not {wanted}: {window}");
        let parts: f64 = ["joules", "others", "idle", "unknown"].iter().map(|part| cpu(window, part)).sum();
        assert_close(parts, whole, 1e-9, "the parts");
        let (low, joules, high) = (number(window, "low"), number(window, "joules"), number(window, "high"));
        assert!(low <= joules && joules <= high, "{window}");
    }
    for pair in inner.chunks(2) {
        assert!(
            cpu(&pair[0], "whole") <= cpu(&pair[1], "whole")
                && cpu(&pair[0], "joules") <= cpu(&pair[1], "joules") + 1e-9
        );
    }
    // Windows one after the other make the one around them, but for the moments between them.
    for (key, unsure) in [("whole", tick), ("joules", tick)] {
        let sum: f64 = inner.chunks(2).map(|pair| cpu(&pair[1], key)).sum();
        assert!(
            sum <= cpu(outer, key) + 1e-9 && cpu(outer, key) - sum < 0.1 * cpu(outer, key) + unsure,
            "{key} {output}"
        );
    }
    assert!((number(output, "counted") - cpu(outer, "whole")).abs() < 2.0 * tick, "{output}");
    // By the time that it ran; on a machine that is stolen from, its part of what is left is larger.
    let (found, wanted) = (cpu(outer, "joules") + cpu(outer, "unknown"), 60.0 * number(output, "part"));
    assert!(found > 0.7 * wanted - 2.0 && cpu(outer, "joules") < 3.0 * wanted + 2.0, "{found} {wanted}: {output}");
}

#[test]
fn a_program_that_is_recorded_is_told_what_its_windows_take() {
    if !has_python() {
        return;
    }
    let (folder, player) = machine("package-0: 60W\npackage-0/dram: 8W");
    let run = folder.path().join("run");
    let mut command = jouletree();
    command.args(["record", "-q", "-o"]).arg(&run).arg("--").args(program(folder.path()));
    in_world(&mut command, folder.path());
    let ran = ended(command.output().unwrap());
    let output: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{} {}", ran.stdout, ran.stderr));
    assert_true(&output, &player);
    assert!(number(&output, "waited") < 1.5, "{output}");
    // The windows are parts of what the recording has.
    let shown = ended(jouletree().arg("show").arg(&run).args(["--format", "json"]).output().unwrap()).json();
    let whole =
        list(&shown, "devices").iter().find(|row| row["device"] == "host/cpu:0" && row["domain"].is_null());
    let answer = &list(&output, "windows").last().unwrap()["devices"]["host/cpu:0"];
    assert!(number(answer, "joules") <= number(whole.unwrap(), "ours_j") + 1e-9, "{shown} {answer}");
}

#[test]
fn a_program_that_nobody_records_is_told_by_a_recorder_of_its_own() {
    if !has_python() {
        return;
    }
    let (folder, player) = machine("package-0: 60W");
    let words = program(folder.path());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    in_world(&mut command, folder.path());
    let ran = ended(command.output().unwrap());
    let output: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{} {}", ran.stdout, ran.stderr));
    assert_true(&output, &player);
    assert_eq!(ran.stderr, "");
}

/// A recorder without a folder, ended with the test.
struct Attending(Child);

impl Attending {
    fn start(machine: &Path, pid: u32) -> Attending {
        let mut command = jouletree();
        command.args(["attend", "--pid", &pid.to_string()]);
        in_world(&mut command, machine);
        Attending(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

#[test]
fn attending_speaks_on_the_standard_streams_until_nobody_asks() {
    let (folder, player) = machine("package-0: 60W");
    let mut attending = Attending::start(folder.path(), std::process::id());
    let mut input = attending.0.stdin.take().unwrap();
    let mut lines = BufReader::new(attending.0.stdout.take().unwrap()).lines();
    let mut heard = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    writeln!(input, "{{\"now\": true}}").unwrap();
    let status = heard();
    assert_eq!(list(&status, "devices")[0]["device"], "host/cpu:0", "{status}");
    let start = now();
    writeln!(input, "{{\"open\": 9, \"at_ns\": {start}}}\nwhat?").unwrap();
    assert!(heard()["error"].is_string());
    std::thread::sleep(Duration::from_millis(500));
    // Who has asked everything and hangs up is still answered.
    let end = now();
    writeln!(input, "{{\"close\": 9, \"at_ns\": {end}}}\n{{\"hurry\": true}}").unwrap();
    drop(input);
    let answer = heard();
    assert_eq!((&answer["window"], &answer["complete"]), (&9.into(), &true.into()), "{answer}");
    let (found, wanted) = (number(&list(&answer, "devices")[0], "energy_j"), 60.0 * (end - start) as f64 * 1e-9);
    let bound = 120.0 * (LONGEST_TICK + player.latest()).as_secs_f64();
    assert!((found - wanted).abs() < bound, "{found} {wanted}");
    assert!(attending.0.wait().unwrap().success());
}

#[test]
fn attending_ends_with_its_process_and_says_when_there_is_none() {
    let (folder, _player) = machine("package-0: 60W");
    let mut process = Command::new("sleep").arg("60").spawn().unwrap();
    let mut attending = Attending::start(folder.path(), process.id());
    let input = attending.0.stdin.take().unwrap();
    let mut first = String::new();
    (&input).write_all(b"{\"now\": true}\n").unwrap();
    BufReader::new(attending.0.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(attending.0.wait().unwrap().success(), "it ends although its input is open");
    let unserved = Attending::start(folder.path(), process.id());
    let mut unserved = unserved;
    let (stdin, stderr) = (unserved.0.stdin.take(), unserved.0.stderr.take().unwrap());
    assert_eq!(unserved.0.wait().unwrap().code(), Some(1));
    let said: Vec<String> = BufReader::new(stderr).lines().map_while(Result::ok).collect();
    assert!(said.join(" ").contains("there is no process"), "{said:?}");
    drop(stdin);
}
