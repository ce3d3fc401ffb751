//! Every verb ends quietly, soon, with the right status and without spinning when its reader, its terminal or its disk is gone,
//! or when a signal asks it to.

mod verbs;
mod watched;

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;

use rustix::process::Signal;

use crate::common::*;
use crate::terminal::{self, Terminal};
use verbs::{Hangup, Nature, STATUS, Unread, Verb, listed, prepared, verbs};
use watched::Watched;

const SIGNALS: [Signal; 3] = [Signal::HUP, Signal::INT, Signal::TERM];

/// The command in the folder of prepared files, on a machine without meters and without settings. Where tests run in the
/// background, signals may be ignored at first; `before` are words before those of the command.
fn command(files: &Files, verb: &Verb, before: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,TERM").args(before).arg(jouletree().get_program()).args(verb.words());
    command.current_dir(files.path("")).env("COLUMNS", "400").env_remove("JOULETREE_LOG").stdin(Stdio::null());
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR", "JOULETREE_CLOUD_METADATA"] {
        command.env(variable, files.path("home"));
    }
    command.env("JOULETREE_SYS_ROOT", files.path("machine"));
    command.env("JOULETREE_NVML_LIBRARY", files.path("machine/none"));
    command
}

/// What it reads, if it reads anything.
fn input(files: &Files, verb: &Verb) -> Stdio {
    verb.input.as_ref().map_or_else(Stdio::null, |text| {
        File::open(files.write(&format!("{}.input", verb.name), text)).expect("a file").into()
    })
}

/// The verbs that end by themselves.
fn finite(tag: &str) -> impl Iterator<Item = Verb> {
    verbs(tag).into_iter().filter(|verb| matches!(verb.nature, Nature::Answers | Nature::Writes | Nature::Fails))
}

/// Does something with each of the verbs that go on until they are ended, at the same time: they mostly wait.
fn with_each_that_goes_on(tag: &str, test: impl Fn(&Verb) + Sync) {
    thread::scope(|scope| {
        for verb in verbs(tag) {
            if matches!(verb.nature, Nature::GoesOn(_) | Nature::PassesOn(_)) {
                let test = &test;
                scope.spawn(move || test(&verb));
            }
        }
    });
}

#[test]
fn every_verb_has_a_row() {
    let known: Vec<&str> = verbs("").iter().map(|verb| verb.name).collect();
    let mut waiting = listed("");
    assert!(waiting.len() > 20, "{waiting:?}");
    while let Some(verb) = waiting.pop() {
        let below = listed(&verb);
        assert!(!below.is_empty() || known.contains(&verb.as_str()), "no ending of `{verb}` is tested");
        waiting.extend(below);
    }
}

#[test]
fn verbs_that_answer_end_whatever_becomes_of_their_output() {
    let files = Files::new();
    prepared(&files);
    // A reader that is gone.
    for verb in finite("read") {
        let mut command = command(&files, &verb, &[]);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let messages = files.path("messages");
        let child = command
            .stdin(input(&files, &verb))
            .stdout(writer)
            .stderr(File::create(&messages).expect("a file"))
            .spawn()
            .expect("the command starts");
        let what = format!("without a reader: {}", verb.words().join(" "));
        Watched::new(child, what.clone()).end().with(i32::from(verb.nature == Nature::Fails));
        let said = fs::read_to_string(messages).expect("messages");
        assert!(verb.nature == Nature::Fails || !said.contains("error"), "{what}: {said}");
    }
    // A terminal that is gone, for results and messages.
    for verb in finite("terminal") {
        let gone = terminal::gone();
        let side = || Stdio::from(gone.try_clone().expect("a copy"));
        let mut command = command(&files, &verb, &[]);
        let child = command.stdin(input(&files, &verb)).stdout(side()).stderr(side()).spawn().expect("it starts");
        let what = format!("terminal gone: {}", verb.words().join(" "));
        Watched::new(child, what).end().with(i32::from(verb.nature != Nature::Writes));
    }
    // A disk that is full.
    if let Ok(full) = File::options().write(true).open("/dev/full") {
        for verb in finite("full") {
            let messages = files.path("messages");
            let child = command(&files, &verb, &[])
                .stdin(input(&files, &verb))
                .stdout(full.try_clone().expect("a copy"))
                .stderr(File::create(&messages).expect("a file"))
                .spawn()
                .expect("the command starts");
            let what = format!("disk full: {}", verb.words().join(" "));
            Watched::new(child, what.clone()).end().with(i32::from(verb.nature != Nature::Writes));
            let said = fs::read_to_string(messages).expect("messages");
            assert!(
                verb.nature != Nature::Answers || said.contains("error: ") && said.contains("space"),
                "{what}: {said}"
            );
        }
    }
    // Signals end them as they end any program, or come too late.
    for (number, signal) in SIGNALS.into_iter().enumerate() {
        for verb in finite(&format!("signal-{number}")) {
            let mut command = command(&files, &verb, &[]);
            let child = command.stdin(input(&files, &verb)).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let what = format!("{signal:?}: {}", verb.words().join(" "));
            let watched = Watched::new(child.expect("the command starts"), what.clone());
            watched.is_itself();
            watched.signal(signal);
            let status = watched.end().status;
            let is_late = status.code() == Some(i32::from(verb.nature == Nature::Fails));
            assert!(status.signal() == Some(signal.as_raw()) || is_late, "{what}: {status}");
        }
    }
}

/// Starts a verb on a terminal, which is its controlling one or not, and waits until it is at work. A terminal that does not
/// control it sends it no signals.
fn begun(files: &Files, verb: &Verb, is_controlling: bool, what: &str) -> (Terminal, Watched) {
    let before: &[&str] = if is_controlling { &["setsid", "--ctty"] } else { &[] };
    let terminal = Terminal::open(200, 50);
    let mut command = command(files, verb, before);
    let child = terminal.run(&mut command);
    terminal.press(verb.input.as_deref().unwrap_or_default());
    let (Nature::GoesOn(verbs::Service { sign, .. }) | Nature::PassesOn(sign)) = verb.nature else {
        panic!("{what} ends by itself")
    };
    terminal.wait_for(sign);
    (terminal, Watched::new(child, format!("{what}: {}", verb.words().join(" "))))
}

fn without_services() -> Files {
    let files = Files::new();
    prepared(&files);
    files
}

#[test]
fn what_goes_on_ends_with_its_terminal() {
    let files = without_services();
    with_each_that_goes_on("hangup", |verb| {
        let (terminal, mut watched) = begun(&files, verb, true, "terminal closed");
        // The system sends SIGHUP to the verb, and to no other process.
        terminal.close();
        match verb.nature {
            Nature::GoesOn(service) => match service.hangup {
                Hangup::EndsInOrder => watched.end().with(0),
                Hangup::IsKilled => assert_eq!(watched.end().status.signal(), Some(Signal::HUP.as_raw())),
                Hangup::Ignores => {
                    watched.goes_on();
                    watched.signal(Signal::TERM);
                    watched.end().with(0);
                }
            },
            _ => watched.end().with(STATUS),
        }
    });
    for folder in ["recorded-hangup", "recorded-command-hangup", "ran-hangup"] {
        run(["show", &files.path(folder)]).ok();
    }
}

#[test]
fn what_goes_on_ends_by_signals() {
    for signal in SIGNALS {
        let files = without_services();
        with_each_that_goes_on("signal", |verb| {
            let (_terminal, mut watched) = begun(&files, verb, false, &format!("{signal:?}"));
            watched.signal(signal);
            match verb.nature {
                Nature::GoesOn(service) if signal == Signal::HUP && service.hangup == Hangup::IsKilled => {
                    assert_eq!(watched.end().status.signal(), Some(signal.as_raw()));
                }
                Nature::GoesOn(service) if signal == Signal::HUP && service.hangup == Hangup::Ignores => {
                    watched.goes_on();
                    watched.signal(Signal::TERM);
                    watched.end().with(0);
                }
                Nature::GoesOn(_) => watched.end().with(0),
                _ => watched.end().with(STATUS),
            }
        });
        for folder in ["recorded-signal", "recorded-command-signal", "ran-signal"] {
            run(["show", &files.path(folder)]).ok();
        }
    }
}

#[test]
fn what_goes_on_ends_or_works_on_without_its_output() {
    let files = without_services();
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    for is_full in [false, true] {
        let tag = if is_full { "full" } else { "read" };
        with_each_that_goes_on(tag, |verb| {
            let output = || {
                let (reader, writer) = std::io::pipe().expect("a pipe");
                drop(reader);
                if is_full { Stdio::from(full.try_clone().expect("a copy")) } else { Stdio::from(writer) }
            };
            let child = command(&files, verb, &[])
                .stdin(input(&files, verb))
                .stdout(output())
                .stderr(output())
                .spawn()
                .expect("the command starts");
            let mut watched = Watched::new(child, format!("{tag}: {}", verb.words().join(" ")));
            match verb.nature {
                // A disk that is full is an error of what is written for its reader.
                Nature::GoesOn(service) if service.unread == Unread::Ends => {
                    watched.end().with(i32::from(is_full && verb.name == "top"));
                }
                Nature::GoesOn(service) if service.unread == Unread::GoesOn && is_full => watched.end().with(1),
                nature => {
                    watched.goes_on();
                    watched.signal(Signal::TERM);
                    let status = watched.end().status;
                    let expected = if matches!(nature, Nature::PassesOn(_)) { STATUS } else { 0 };
                    // Without a sign it may not have begun to listen.
                    let is_early = status.signal() == Some(Signal::TERM.as_raw()) || status.code() == Some(143);
                    assert!(status.code() == Some(expected) || is_early, "{:?}: {status}", verb.words());
                }
            }
        });
    }
}

/// A program that ignores SIGHUP outlives its terminal under jouletree, too, and is recorded to its end.
#[test]
fn a_program_that_outlives_its_terminal_is_recorded_to_its_end() {
    let files = without_services();
    let script = "trap '' HUP; echo it has begun >&2; sleep 1; exit 7";
    for verb in verbs("outlived").into_iter().filter(|verb| matches!(verb.nature, Nature::PassesOn(_))) {
        if verb.name == "calibrate" {
            continue;
        }
        let mut verb = verb;
        *verb.arguments.last_mut().expect("a script") = script.to_owned();
        let (terminal, watched) = begun(&files, &verb, true, "outlived");
        terminal.close();
        watched.end().with(STATUS);
    }
    let shown = run(["show", &files.path("ran-outlived")]).ok();
    assert!(shown.contains("ended with status 7"), "{shown}");
}
