//! `jouletree record` on machines made of files: the real command records real processes, while a fake plays the
//! hardware by the clock. No energy here comes from hardware.

use crate::common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use jouletree_host::Now;

use common::*;
use fake_powercap::{Fake, LONGEST_TICK, Layout, Player, Script};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A machine below a folder of its own, whose processes are real.
struct Machine {
    folder: TempDir,
    player: Option<Player>,
    began: SystemTime,
}

impl Machine {
    /// A machine with one socket, whose power is played from now on.
    fn playing(script: &str) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let script: Script = script.parse().unwrap();
        let fake = Fake::new(folder.path(), Layout::OneSocket, &script).unwrap();
        Machine { folder, player: Some(Player::start(fake)), began: SystemTime::now() }
    }

    /// A machine without any meter.
    fn without_meter() -> Machine {
        Machine { folder: tempfile::tempdir().unwrap(), player: None, began: SystemTime::now() }
    }

    /// The longest that a counter stood still: a tick of the script, or a busy machine that held up the player.
    fn tick(&self) -> Duration {
        self.player.as_ref().map_or(LONGEST_TICK, |player| LONGEST_TICK + player.latest())
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// `jouletree record` to the run of this machine.
    fn record(&self, arguments: &[&str]) -> Command {
        let mut command = jouletree();
        command.arg("record").arg("-o").arg(self.run()).arg("--sys-root").arg(self.folder.path());
        command.arg("--nvml-library").arg(self.folder.path().join("libnvidia-ml.so.1")).args(arguments);
        command
    }

    /// Whether a recording began soon enough to see what happens two seconds after the machine did.
    fn saw_everything(&self, shown: &Value) -> bool {
        let began = Duration::from_nanos(shown["began_ns"].as_u64().unwrap());
        began < self.began.duration_since(SystemTime::UNIX_EPOCH).unwrap() + Duration::from_millis(1800)
    }

    fn recorded(&self, arguments: &[&str]) -> Ran {
        ended(self.record(arguments).output().unwrap())
    }
}

/// What `jouletree show` says of a run.
fn shown(run: &Path) -> Value {
    ended(jouletree().arg("show").arg(run).args(["--format", "json"]).output().unwrap()).json()
}

/// The balance of a whole device.
fn balance<'a>(shown: &'a Value, device: &str) -> &'a Value {
    let rows = list(shown, "devices").iter();
    let mut of_it = rows.filter(|row| row["device"] == device && row["domain"].is_null());
    of_it.next().unwrap_or_else(|| panic!("no {device} in {shown}"))
}

/// For how many seconds something is known about a device.
fn known(row: &Value) -> f64 {
    number(row, "energy_j") / number(row, "power_w")
}

/// Nothing is lost, and what is known agrees with the script's power.
#[track_caller]
fn assert_power(row: &Value, watts: f64, seconds_at_least: f64, tick: Duration) {
    let (energy, seconds) = (number(row, "energy_j"), known(row));
    assert!(seconds >= seconds_at_least, "known for {seconds} s only: {row}");
    // A tick at either end of each stretch that is known, and nothing else.
    let bound = watts * tick.as_secs_f64() * (1.0 + number(row, "gaps")) + 1e-3;
    assert!((energy - watts * seconds).abs() < bound, "{energy} J in {seconds} s at {watts} W: {row}");
    assert!(number(row, "low_j") <= energy && energy <= number(row, "high_j"), "{row}");
    let sum: f64 = ["ours_j", "others_j", "idle_j", "unknown_j"].iter().map(|part| number(row, part)).sum();
    assert_close(sum, energy, 1e-9, "the parts");
}

/// A command that is ended with the test.
struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap(), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The same command from a shell that does something first.
fn in_shell(first: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{first}; exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args()).env("COLUMNS", "400");
    shell
}

/// A list of texts in a result.
fn list_of(value: &Value, key: &str) -> Vec<String> {
    list(value, key).iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let timeout = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < timeout, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a recording shows that began in time. A machine that is too busy gets more chances.
fn seen(record: impl Fn() -> Machine) -> (Value, Duration) {
    for _ in 0..5 {
        let machine = record();
        let shown = shown(&machine.run());
        if machine.saw_everything(&shown) {
            return (shown, machine.tick());
        }
    }
    panic!("this machine is too busy for a test by the clock");
}

const BUSY: &str = "end=$(($(date +%s%N) + 1500000000)); while [ $(date +%s%N) -lt $end ]; do :; done";

#[test]
fn a_command_is_recorded_and_its_exit_status_passed_on() {
    let machine = Machine::playing("package-0: 60W\npackage-0/dram: 8W");
    let ran = machine.recorded(&["--", "sh", "-c", &format!("echo out; {BUSY}; exit 7")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, "out\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("measured"), "{}", ran.stderr);
    let shown = shown(&machine.run());
    assert_eq!(shown["exit"]["code"], 7);
    let source = text(&shown, "share_source");
    assert!(["perf task-clock", "schedstat", "stat"].contains(&source), "{source}");
    let cpu = balance(&shown, "host/cpu:0");
    assert_power(cpu, 60.0, 1.2, machine.tick());
    assert_power(balance(&shown, "host/dram:0"), 8.0, 1.2, machine.tick());
    assert_eq!(cpu["kind"], "measured");
    assert!(number(cpu, "ours_j") > 0.05 * number(cpu, "energy_j"), "{cpu}");
    assert!(!machine.run().join("journal").exists());
}

#[test]
fn without_a_meter_everything_says_estimated() {
    let machine = Machine::without_meter();
    let ran = machine.recorded(&["--", "sh", "-c", BUSY]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("estimated"), "{}", ran.stderr);
    let result = shown(&machine.run());
    assert_eq!(balance(&result, "host/cpu:0")["kind"], "estimated");
    let table = ended(jouletree().arg("show").arg(machine.run()).output().unwrap()).ok();
    assert!(table.contains("estimated"), "{table}");
    let csv = ended(jouletree().arg("show").arg(machine.run()).args(["--format", "csv"]).output().unwrap()).ok();
    assert!(csv.contains("estimated"), "{csv}");
}

#[test]
fn who_requires_a_meter_gets_the_reason_and_nothing_runs() {
    let machine = Machine::without_meter();
    let trace = machine.folder.path().join("it-ran");
    let ran = machine.recorded(&["--require", "measured", "--", "touch", trace.to_str().unwrap()]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("measured numbers are required"), "{}", ran.stderr);
    assert!(!trace.exists() && !machine.run().exists());
}

#[test]
fn a_program_that_is_not_there_is_said_before_anything_is_written() {
    let machine = Machine::without_meter();
    let ran = machine.recorded(&["--", "no-such-program"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("there is no program `no-such-program`"), "{}", ran.stderr);
    for (program, said) in [
        ("/etc/passwd", "`/etc/passwd` is not executable"),
        ("/etc", "`/etc` is a folder"),
        ("/nonexistent/x", "there is no program `/nonexistent/x`"),
    ] {
        let ran = machine.recorded(&["--", program]);
        assert!(ran.code == 1 && ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert!(!machine.run().exists());
}

/// Each fault ends in a marked gap, and what is known outside of it is right.
#[test]
fn faults_of_a_zone_leave_gaps_and_no_wrong_number() {
    // The probe takes some tenths of a second before the recording begins.
    for fault in [
        "at 2s package-0 garbage for 300ms",
        "at 2s package-0 empty for 300ms",
        "at 2s package-0 beyond for 300ms",
        "at 2s package-0 back 5J",
        "at 2s package-0 freeze for 600ms",
        "at 2s package-0 vanish",
    ] {
        let (shown, tick) = seen(|| {
            let machine = Machine::playing(&format!("package-0: 60W\n{fault}"));
            let ran = machine.recorded(&["--", "sleep", "3"]);
            assert_eq!(ran.code, 0, "{fault}: {}", ran.stderr);
            machine
        });
        let cpu = balance(&shown, "host/cpu:0");
        assert!(number(cpu, "coverage") < 0.999 && number(cpu, "gaps") >= 1.0, "{fault}: {cpu}");
        assert_power(cpu, 60.0, 0.5, tick);
    }
}

#[test]
fn a_zone_that_cannot_be_read_at_the_start_is_not_used() {
    let machine = Machine::playing("package-0: 60W\npackage-0/dram: 8W\nat 0s package-0 garbage");
    let ran = machine.recorded(&["--", "sleep", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let shown = shown(&machine.run());
    assert_eq!(balance(&shown, "host/cpu:0")["kind"], "estimated", "the processor is left to the model");
    assert_power(balance(&shown, "host/dram:0"), 8.0, 0.7, machine.tick());
}

/// A GPU that hangs or is lost leaves its own gap; the processor is read all the while.
#[test]
fn a_gpu_that_hangs_or_is_lost_holds_up_nobody() {
    let hangs = vec![fake_nvml::Hang { at_s: 2.0, for_ms: Some(400.0) }];
    let hang = fake_nvml::Gpu { hang: hangs, ..fake_nvml::Gpu::default() };
    let lost = fake_nvml::Gpu { lost_at_s: Some(2.0), ..fake_nvml::Gpu::default() };
    for (what, gpu) in [("hang", hang), ("lost", lost)] {
        let (shown, tick) = seen(|| {
            let machine = Machine::playing("package-0: 60W");
            let start_mono_ns = Some(jouletree_model::sampling::Mono::now().0);
            let script = fake_nvml::Script { gpu: vec![gpu.clone()], start_mono_ns, ..Default::default() };
            fake_nvml::install(machine.folder.path(), &script).unwrap();
            let ran = machine.recorded(&["--", "sleep", "3"]);
            assert_eq!(ran.code, 0, "{what}: {}", ran.stderr);
            // The page has the warnings of the terminal.
            run([Path::new("report"), &machine.run()]).ok();
            let page = fs::read_to_string(machine.run().join("report.html")).unwrap();
            let said = ran.stderr.lines().find_map(|line| line.strip_prefix("warning: host/gpu:0: after "));
            let (_, message) =
                said.and_then(|said| said.split_once(": ")).unwrap_or_else(|| panic!("{}", ran.stderr));
            assert!(page.contains(message), "{what}: `{message}` is not in the page");
            machine
        });
        assert_power(balance(&shown, "host/cpu:0"), 60.0, 2.5, tick);
        let gpu = balance(&shown, "host/gpu:0");
        assert!((number(gpu, "power_w") - 100.0).abs() < 3.0, "{what}: {gpu}");
        let incidents = list(&shown, "incidents");
        let is_told = |incident: &Value| incident["device"] == "host/gpu:0";
        assert!(incidents.iter().any(is_told), "{what}: {shown}");
        // A hang is a gap as long as itself; of a card that is lost nothing more is known.
        assert!(number(gpu, "gaps") >= 1.0, "{what}: {gpu}");
        assert_eq!(number(gpu, "coverage") < 0.7, what == "lost", "{what}: {gpu}");
    }
}

#[test]
fn who_is_told_to_end_passes_it_on_and_finishes() {
    let machine = Machine::playing("package-0: 60W");
    let command = "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = machine.record(&["--", "sh", "-c", command]);
    let mut running = Running(child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    wait_for("the recording", || machine.run().join("recording.json").exists());
    std::thread::sleep(Duration::from_millis(800));
    running.signal(Signal::TERM);
    let status = running.0.wait().unwrap();
    assert_eq!(status.code(), Some(3));
    assert_power(balance(&shown(&machine.run()), "host/cpu:0"), 60.0, 0.4, machine.tick());
}

/// The counters count on while the recorder is stopped: the energy is known, and so is whose it was.
#[test]
fn a_recorder_that_is_stopped_for_a_while_loses_nothing() {
    let machine = Machine::playing("package-0: 40W");
    let start_mono_ns = Some(jouletree_model::sampling::Mono::now().0);
    let script = fake_nvml::Script { gpu: vec![fake_nvml::Gpu::default()], start_mono_ns, ..Default::default() };
    fake_nvml::install(machine.folder.path(), &script).unwrap();
    let mut running = Running(machine.record(&["--", "sleep", "4"]).stderr(Stdio::null()).spawn().unwrap());
    wait_for("the recording", || machine.run().join("recording.json").exists());
    std::thread::sleep(Duration::from_millis(700));
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(1800));
    running.signal(Signal::CONT);
    assert_eq!(running.0.wait().unwrap().code(), Some(0));
    let shown = shown(&machine.run());
    let cpu = balance(&shown, "host/cpu:0");
    assert_power(cpu, 40.0, 3.0, machine.tick());
    // Without the stall, about half is left. A busy machine may hold up the player, too.
    assert!(number(cpu, "coverage") > 0.85, "{cpu}");
    assert!(number(cpu, "unknown_j") < 0.15 * number(cpu, "energy_j"), "{cpu}");
    let gpu = balance(&shown, "host/gpu:0");
    assert!(number(gpu, "coverage") > 0.85 && (number(gpu, "power_w") - 100.0).abs() < 3.0, "{gpu}");
}

#[test]
fn a_recorder_that_is_killed_loses_a_batch_at_most() {
    let machine = Machine::playing("package-0: 60W");
    let mut running = Running(machine.record(&["--", "sleep", "30"]).stderr(Stdio::null()).spawn().unwrap());
    wait_for("the recording", || machine.run().join("recording.json").exists());
    let begun = Instant::now();
    std::thread::sleep(Duration::from_millis(3000));
    // Another process looks while it goes on.
    let looked = ended(jouletree().arg("show").arg(machine.run()).output().unwrap());
    assert!(looked.code == 1 && looked.stderr.contains("still being recorded"), "{}", looked.stderr);
    let lasted = begun.elapsed().as_secs_f64();
    running.signal(Signal::KILL);
    assert_eq!(running.0.wait().unwrap().signal(), Some(9));
    let shown = shown(&machine.run());
    // About a second is one batch; a busy machine is late with it.
    assert_power(balance(&shown, "host/cpu:0"), 60.0, lasted - 2.0, machine.tick());
    assert_eq!(shown["complete"], false);
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_command() {
    let machine = Machine::playing("package-0: 60W");
    let command = machine.record(&["--period", "1", "--", "sh", "-c", "sleep 4; echo whole"]);
    // No file may grow beyond 80 blocks of 512 bytes. Writing beyond that is a signal, which usually ends a program.
    let ran = ended(in_shell("ulimit -f 80", &command).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "whole\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("recording ends here, the command goes on"), "{}", ran.stderr);
    assert!(ran.stderr.contains("could not be finished; free some space"), "{}", ran.stderr);
    // With space again, what was written is there.
    let shown = shown(&machine.run());
    assert_power(balance(&shown, "host/cpu:0"), 60.0, 0.1, machine.tick());
    let remarks = list(&shown, "remarks");
    let is_told = |remark: &Value| remark.as_str().unwrap().contains("recording ended before its subject did");
    assert!(remarks.iter().any(is_told), "{shown}");
}

/// The exit status is the command's, whatever becomes of its recording.
#[test]
fn a_recording_that_cannot_be_kept_leaves_the_command_its_status() {
    let machine = Machine::without_meter();
    let run = machine.run().display().to_string();
    for (options, status, expected) in [(&[][..], 0, 0), (&["--strict"], 0, 1), (&[], 7, 7), (&["--strict"], 7, 7)]
    {
        let script = format!("rm -r {run}; exit {status}");
        let ran = machine.recorded(&[options, &["--", "sh", "-c", &script]].concat());
        assert_eq!(ran.code, expected, "{options:?} {status}: {}", ran.stderr);
        let said = if expected == 1 { "error: " } else { "warning: " };
        assert!(ran.stderr.lines().any(|line| line.starts_with(said) && line.contains(&run)), "{}", ran.stderr);
        assert!(!machine.run().exists());
    }
}

/// Whatever the umask is, also while it is recorded; and nothing of it holds a secret of the command line.
#[test]
fn what_is_recorded_is_its_owners_unless_it_is_shared() {
    let modes = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    for (umask, options, expected) in [
        ("000", &[][..], ["700", "600"]),
        ("027", &["--share"], ["750", "640"]),
        ("000", &["--share"], ["755", "644"]),
    ] {
        let machine = Machine::without_meter();
        let run = machine.run().display().to_string();
        let look = format!(
            "stat -c %a {run} {run}/journal {run}/journal/* {run}/*.json; grep -r 'hunter[1-9]' {run}; exit 0"
        );
        let secrets = [
            "sh",
            "--api-key=hunter1",
            "--password",
            "hunter2",
            "https://me:hunter3@host/",
            "--tokenizer",
            "bert",
        ];
        let command = machine.record(&[options, &["--", "sh", "-c", &look], &secrets].concat());
        let ran = ended(in_shell(&format!("umask {umask}"), &command).output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let mut found = modes(&ran.stdout);
        assert!(found.len() > 8, "{}", ran.stdout);
        assert_eq!(found[..2], [expected[0], expected[0]], "{umask} {options:?}: the folders");
        found.drain(..2);
        assert!(found.iter().all(|mode| mode == expected[1]), "{umask} {options:?}: {found:?}");
        let list = Command::new("sh")
            .args(["-c", "stat -c %a $0 $0/*; grep -r 'hunter[1-9]' $0", &run])
            .output()
            .unwrap();
        let mut found = modes(&String::from_utf8(list.stdout).unwrap());
        assert_eq!(found.remove(0), expected[0]);
        assert!(
            found.len() >= 2 && found.iter().all(|mode| mode == expected[1]),
            "{umask} {options:?}: {found:?}"
        );
        let words: Vec<String> = list_of(&shown(&machine.run()), "command").into_iter().skip(3).collect();
        let kept = [
            "sh",
            "--api-key=REDACTED",
            "--password",
            "REDACTED",
            "https://me:REDACTED@host/",
            "--tokenizer",
            "bert",
        ];
        assert_eq!(words, kept);
    }
}

/// What ignores a signal without jouletree does so with it: `nohup jouletree record -- …`.
#[test]
fn an_ignored_hangup_is_ignored_by_the_command_as_well() {
    let machine = Machine::without_meter();
    let command = machine.record(&["--", "sh", "-c", "kill -HUP $$; kill -HUP $PPID; sleep 0.2; echo alive"]);
    let ran = ended(in_shell("trap '' HUP", &command).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "alive\n"), "{}", ran.stderr);
}

/// What is asked for by name is had, or it is an error before anything runs.
#[test]
fn a_meter_that_does_not_work_is_an_error() {
    let machine = Machine::without_meter();
    let silent = machine.folder.path().join("silent.csv");
    fs::write(&silent, "epoch_s,watts\n").unwrap();
    let mark = machine.folder.path().join("it-ran");
    for (options, said) in [
        (&["--meter", "tcp:127.0.0.1:9"][..], "127.0.0.1:9 cannot be used for host/machine:0"),
        (&["--meter", "cpu:0=/nonexistent/meter"], "/nonexistent/meter cannot be used for host/cpu:0"),
        (&["--meter", silent.to_str().unwrap()], "silent.csv cannot be used for host/machine:0"),
        (&["--meter", silent.to_str().unwrap(), "--daemon=/nonexistent/socket"], "leave one of them out"),
    ] {
        let ran = machine.recorded(&[options, &["--", "touch", mark.to_str().unwrap()]].concat());
        assert_eq!(ran.code, 1, "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{options:?}: {}", ran.stderr);
        assert!(!mark.exists() && !machine.run().exists(), "{options:?}");
    }
    let mut unknown = machine.record(&["--", "touch", mark.to_str().unwrap()]);
    let ran = ended(unknown.env("JOULETREE_CPU_MODEL", "mine").output().unwrap());
    assert!(ran.code == 1 && ran.stderr.contains("there is no cpu_model `mine`"), "{}", ran.stderr);
    assert!(!mark.exists());
}

#[test]
fn a_process_that_runs_already_is_recorded_until_it_ends() {
    let machine = Machine::playing("package-0: 60W");
    let mut busy = Running(Command::new("sh").args(["-c", BUSY]).spawn().unwrap());
    let pid = busy.0.id().to_string();
    let record = machine.record(&["--pid", &pid]).stderr(Stdio::piped()).spawn().unwrap();
    busy.0.wait().unwrap();
    let ran = ended(record.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(shown(&machine.run())["pid"], busy.0.id());
    // Its number belongs to no process any more.
    fs::remove_dir_all(machine.run()).unwrap();
    let ran = machine.recorded(&["--pid", &pid]);
    assert!(ran.code == 1 && ran.stderr.contains("there is no process"), "{}", ran.stderr);
    assert!(!machine.run().exists());
}

#[test]
fn a_duration_ends_the_recording_and_the_command_goes_on() {
    let machine = Machine::playing("package-0: 60W");
    let begun = Instant::now();
    let ran = machine.recorded(&["--duration", "0.8", "--", "sh", "-c", "sleep 2.5; exit 5"]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(begun.elapsed() > Duration::from_millis(2500));
    let shown = shown(&machine.run());
    assert!(known(balance(&shown, "host/cpu:0")) < 2.4, "{shown}");
    assert!(shown["exit"].is_null());
}

/// A storm of short processes: all that they use is found.
#[test]
fn short_lived_processes_count() {
    let machine = Machine::playing("package-0: 60W");
    let ran = machine.recorded(&["--", "sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let shown = shown(&machine.run());
    assert!(number(&shown, "tree_s") > 0.05, "{shown}");
}

/// The power of a recording is what accounting takes.
#[test]
fn a_recording_is_power_for_a_trace() {
    let machine = Machine::playing("package-0: 60W");
    machine.recorded(&["--", "sleep", "1"]).ok();
    let began = shown(&machine.run())["began_ns"].as_i64().unwrap();
    let files = Files::new();
    let events = files.write(
        "events.csv",
        format!(
            "start_ns,end_ns,device,lane,name\n{},{},cpu:0,main,work\n",
            began + 300_000_000,
            began + 700_000_000
        ),
    );
    let run = machine.run();
    let used = |energy: &str| {
        let result = account([events.as_str(), "--power", run.to_str().unwrap(), "--energy", energy]);
        assert_conserved(&result);
        number(&list(&result, "ops")[0], "energy_j")
    };
    assert_close(used("device"), 24.0, 0.03, "the operation");
    // A program that sleeps uses next to nothing of it.
    assert!(used("tree") < 2.4, "{} J", used("tree"));
}
