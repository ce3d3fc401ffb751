//! Every verb ends quietly and with the right status when its reader, its terminal or its disk is gone, or a signal asks it to.

use crate::common;
use crate::terminal;

use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::*;
use rustix::process::{Pid, Signal, kill_process};

/// A verb that spins or waits is found by this; those that end take a fraction of it on any machine.
const PATIENCE: Duration = Duration::from_secs(40);

fn sample_run(files: &Files) -> String {
    let folder = files.path("run");
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &folder]).ok();
    folder
}

/// Verbs that write a result and end, with their arguments.
fn verbs(folder: &str) -> Vec<Vec<String>> {
    let trace = sample("timeline-5.json.gz");
    let power = sample("power.csv");
    let lines: [&[&str]; 20] = [
        &["show", folder],
        &["show", folder, "--by", "op", "--format", "csv"],
        &["show", folder, "--by", "type"],
        &["show", folder, "--format", "json"],
        &["account", &trace, "--power", &power],
        &["inspect", &trace],
        &["carbon", folder, "--intensity", "100"],
        &["card", folder, "--intensity", "100"],
        &["doctor"],
        &["detect"],
        &["config", "show"],
        &["estimate", "impact", "--gpu", "A100", "--hours", "1", "--intensity", "10"],
        &["estimate", "theory", "alexnet"],
        &["export", folder, "--to", "csv", "-o", "-"],
        &["export", folder, "--to", "parquet", "-o", "-"],
        &["export", folder, "--to", "speedscope", "-o", "-"],
        &["export", folder, "--to", "collapsed", "-o", "-"],
        &["export", folder, "--to", "perfetto", "-o", "-"],
        &["export", folder, "--to", "firefox", "-o", "-"],
        &["export", folder, "--to", "pprof", "-o", "-"],
    ];
    lines.iter().map(|line| line.iter().map(|word| (*word).to_owned()).collect()).collect()
}

#[track_caller]
fn end_of(child: &mut Child, what: &str) -> ExitStatus {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("its status") {
            return status;
        }
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{what} does not end");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_reader_that_is_gone_is_no_error_for_any_verb() {
    let files = Files::new();
    for arguments in verbs(&sample_run(&files)) {
        let mut command = jouletree();
        command.args(&arguments).current_dir(files.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        drop(child.stdout.take());
        end_of(&mut child, &arguments.join(" "));
        let ran = ended(child.wait_with_output().expect("it has ended"));
        assert!(ran.code == 0 && !ran.stderr.contains("error"), "{arguments:?}: {} {}", ran.code, ran.stderr);
    }
}

#[test]
fn a_full_disk_is_an_error_of_every_verb() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let files = Files::new();
    for arguments in verbs(&sample_run(&files)) {
        let mut command = jouletree();
        command.args(&arguments).current_dir(files.path("")).stderr(Stdio::piped());
        command.stdout(full.try_clone().expect("a copy"));
        let mut child = command.spawn().expect("the command starts");
        end_of(&mut child, &arguments.join(" "));
        let ran = ended(child.wait_with_output().expect("it has ended"));
        assert!(ran.code == 1 && ran.stderr.contains("error: "), "{arguments:?}: {} {}", ran.code, ran.stderr);
        assert!(ran.stderr.contains("space"), "{arguments:?}: {}", ran.stderr);
    }
}

/// There is no signal: only the terminal is gone.
#[test]
fn a_terminal_that_is_closed_keeps_no_verb() {
    let files = Files::new();
    for arguments in verbs(&sample_run(&files)) {
        let terminal = terminal::Terminal::open(80, 24);
        let mut child = terminal.run(jouletree().args(&arguments).current_dir(files.path("")));
        terminal.close();
        end_of(&mut child, &arguments.join(" "));
    }
    // What runs under it goes on, and its status is passed on.
    let terminal = terminal::Terminal::open(80, 24);
    let kept = files.path("kept");
    let words = ["run", "--no-daemon", "--level", "process", "-o", &kept, "--", "sh", "-c", "sleep 0.5; exit 7"];
    let mut child = terminal.run(jouletree().args(words));
    terminal.close();
    assert_eq!(end_of(&mut child, "run").code(), Some(7));
    assert!(run(["show", &kept]).code == 0);
}

#[test]
fn signals_end_what_goes_on() {
    for number in [Signal::TERM, Signal::HUP, Signal::INT] {
        let files = Files::new();
        let record = files.path("recorded");
        let lines: [&[&str]; 3] = [
            &["record", "--no-daemon", "--duration", "600", "-o", &record],
            &["top", "--format", "text", "--interval", "0.2", "--no-daemon"],
            &["serve", "--port", "0"],
        ];
        for line in lines {
            // Where tests run in the background, signals may be ignored at first.
            let default = "--default-signal=INT,HUP,TERM";
            let mut child = Command::new("env")
                .arg(default)
                .arg(jouletree().get_program())
                .args(line)
                .env("COLUMNS", "400")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the command starts");
            // It listens once it has said something, or has made its folder.
            wait_until_it_goes(&mut child, line[0], &record);
            kill_process(Pid::from_child(&child), number).expect("it runs");
            let status = end_of(&mut child, &format!("{line:?} after {number:?}"));
            let is_known =
                status.code() == Some(0) || std::os::unix::process::ExitStatusExt::signal(&status).is_some();
            assert!(is_known, "{line:?} after {number:?}: {status}");
        }
        assert_eq!(run(["show", &record]).code, 0, "what was recorded until {number:?} is whole");
    }
}

/// Waits for a sign of a program that goes on.
fn wait_until_it_goes(child: &mut Child, verb: &str, folder: &str) {
    use std::io::Read;
    let mut byte = [0];
    match verb {
        "record" => {
            let until = Instant::now() + PATIENCE;
            while !std::path::Path::new(folder).join("recording.json").exists() && Instant::now() < until {
                thread::sleep(Duration::from_millis(20));
            }
        }
        _ => drop(child.stdout.as_mut().map(|output| output.read(&mut byte))),
    }
}
