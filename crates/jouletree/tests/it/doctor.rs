//! `jouletree doctor` on machines made of files: the real command, the real sensors, fakes of the hardware.

use crate::common;

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use common::*;
use fake_powercap::{Fake, Layout, Player, Script};
use serde_json::Value;
use tempfile::TempDir;

/// A machine below a folder of its own, whose processes are real.
struct Machine(TempDir);

impl Machine {
    fn new() -> Machine {
        let folder = tempfile::tempdir().expect("a folder");
        // Others are to look at it, too.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("our folder");
        Machine(folder)
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn powercap(&self, layout: Layout, script: &str) -> Fake {
        let script: Script = script.parse().expect("a script");
        Fake::new(self.root(), layout, &script).expect("a tree")
    }

    /// Performance events of energy, played by the kernel's own events.
    fn perf(&self, event: &str) {
        let folder = self.root().join("bus/event_source/devices/power");
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        file("type", "1\n");
        file("format/event", "config:0-7\n");
        file("cpumask", "0\n");
        file("events/energy-pkg", event);
        file("events/energy-pkg.scale", "2e-8\n");
        file("events/energy-pkg.unit", "Joules\n");
    }

    fn command(&self) -> Command {
        let mut command = jouletree();
        // No library of NVIDIA's that this machine may have.
        command.arg("doctor").arg("--sys-root").arg(self.root());
        command.arg("--nvml-library").arg(self.root().join("libnvidia-ml.so.1"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        ended(self.command().args(arguments).output().expect("the command starts"))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[&["--format", "json"], arguments].concat()).json()
    }

    /// As a user who may do nothing; `None` with a message where that cannot be.
    fn as_nobody(&self, arguments: &[&str]) -> Option<Ran> {
        let mut command = self.command();
        command.args(arguments).current_dir("/").uid(65_534).gid(65_534);
        match command.output() {
            Ok(output) => Some(ended(output)),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                println!("skipped: who is not root cannot become nobody, or nobody may not run the command");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// The sensor of a device and domain that comes first.
fn sensor<'v>(result: &'v Value, device: &str, domain: Option<&str>) -> &'v Value {
    let is_it = |row: &&Value| row["device"] == device && row["domain"].as_str() == domain;
    list(result, "sensors").iter().find(is_it).unwrap_or_else(|| panic!("no {device} {domain:?} in {result}"))
}

fn says(value: &Value, part: &str) {
    assert!(value.as_str().is_some_and(|text| text.contains(part)), "`{part}` is not in {value}");
}

#[test]
fn living_counters_are_measured() {
    let machine = Machine::new();
    let _player = Player::start(machine.powercap(Layout::TwoSockets, "package-0: 50W"));
    let result = machine.json(&["--require", "measured"]);
    for (device, domain) in [("host/cpu:0", None), ("host/cpu:1", None), ("host/dram:0", None)] {
        let row = sensor(&result, device, domain);
        assert!(row["usable"] == true && row["kind"] == "measured" && row["reason"].is_null(), "{row}");
        assert!(row["power_w"].as_f64().is_some_and(|watts| watts > 0.0), "{row}");
    }
    says(&result["summary"], "cpu:0, cpu:1, dram:0, dram:1 measured.");
    let model = list(&result, "sensors").iter().find(|row| row["kind"] == "estimated").expect("the model");
    says(&model["reason"], "not needed: cpu:0 is metered by package-0");
    let devices: Vec<&Value> = list(&result, "devices").iter().map(|row| &row["device"]).collect();
    assert_eq!(devices, ["host/cpu:0", "host/cpu:1", "host/dram:0", "host/dram:1"]);
}

#[test]
fn counters_that_only_root_may_read_come_with_the_commands() {
    let machine = Machine::new();
    let _player = Player::start(machine.powercap(Layout::OneSocket, ""));
    machine.perf("event=0x00");
    let Some(ran) = machine.as_nobody(&["--format", "json"]) else { return };
    let result = ran.json();
    let package = sensor(&result, "host/cpu:0", None);
    // The estimate is what is left.
    assert!(package["usable"] == true && package["kind"] == "estimated", "{package}");
    let dram = sensor(&result, "host/dram:0", None);
    says(&dram["reason"], "only root may read it");
    let rules = "udevadm trigger --subsystem-match=powercap --action=add";
    for part in ["cap_dac_read_search,cap_perfmon,cap_sys_nice+ep", "chmod g+r", rules, "PLATYPUS"] {
        says(&dram["remedy"], part);
    }
    let events = list(&result, "sensors").iter().find(|row| row["source"].to_string().contains("perf energy-pkg"));
    let events = events.expect("events");
    if fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").is_ok_and(|level| level.trim() > "0") {
        says(&events["remedy"], "sysctl kernel.perf_event_paranoid=0");
    }
    assert_eq!(result["realtime"]["permitted"], false, "nobody has a limit of rtprio");
    says(&result["realtime"]["remedy"], "limits.d");
    says(&result["summary"], "cpu:0 estimated by a model");

    let refused = machine.as_nobody(&["--require", "measured"]).expect("it could be run before");
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("only root may read") && refused.stderr.contains("sudo setcap"),
        "{refused:?}"
    );
    // People get the commands in lines of their own, and those of all zones once.
    let command = "\n        sudo udevadm control --reload && ";
    assert_eq!(refused.stdout.matches(command).count(), 1, "{}", refused.stdout);
}

#[test]
fn dead_and_broken_zones_are_named() {
    let machine = Machine::new();
    // Nothing plays: all stay the same.
    let _fake = machine.powercap(Layout::TwoSockets, "");
    let zone = machine.root().join("devices/virtual/powercap/intel-rapl/intel-rapl:1");
    fs::remove_file(zone.join("max_energy_range_uj")).expect("it was there");
    let result = machine.json(&[]);
    let rows: Vec<&Value> = list(&result, "sensors").iter().filter(|row| row["usable"] == false).collect();
    assert_eq!(rows.len(), 6, "{rows:?}");
    says(&sensor(&result, "host/dram:0", None)["reason"], "so it is dead");
    let package = sensor(&result, "host/cpu:1", None);
    says(&package["reason"], "without it a wrap would be counted wrongly");
    says(&package["remedy"], "cat ");
    assert!(sensor(&result, "host/cpu:0", None)["kind"] == "estimated");
    assert_eq!(machine.run(&["--require", "measured"]).code, 1);
    assert_eq!(machine.run(&[]).code, 0);
}

#[test]
fn events_that_stand_still_are_dead() {
    let machine = Machine::new();
    machine.perf("event=0x09");
    let result = machine.json(&[]);
    let row = list(&result, "sensors").iter().find(|row| row["source"].to_string().contains("perf energy-pkg"));
    let row = row.expect("the event");
    if row["reason"].to_string().contains("only the privileged") {
        println!("skipped: events of a whole CPU may not be counted here");
        return;
    }
    says(&row["reason"], "it opens but has not moved in ");
}

#[test]
fn a_machine_with_nothing_says_what_it_lacks() {
    let machine = Machine::new();
    let result = machine.json(&[]);
    let absent: Vec<&Value> = list(&result, "absent").iter().map(|row| &row["source"]).collect();
    assert_eq!(absent, ["powercap", "perf", "NVML", "hwmon"]);
    let card = &list(&result, "absent")[2];
    says(&card["reason"], "NVIDIA's management library is not there");
    says(&card["remedy"], "docker run --gpus all");
    assert!(list(&result, "sensors").len() == 1 && result["process_share"]["source"].is_string(), "{result}");
    let text = machine.run(&[]).ok();
    assert!(text.contains("\nEnergy: cpu:0 estimated by a model. To improve: --idle-watts"), "{text}");
    let refused = machine.run(&["--require", "measured"]);
    assert!(refused.code == 1 && refused.stderr.contains("nothing here measures the processor"), "{refused:?}");
    assert!(refused.stdout.contains("Sensors\n"), "it says what there is all the same");
}

#[test]
fn cards_and_the_roots_come_from_the_environment_too() {
    let machine = Machine::new();
    let script = fake_nvml::Script { gpu: vec![fake_nvml::Gpu::default()], ..fake_nvml::Script::default() };
    let library = fake_nvml::install(machine.root(), &script).expect("the test double");
    let mut command = jouletree();
    command.args(["doctor", "--format", "json"]);
    command.env("JOULETREE_SYS_ROOT", machine.root()).env("JOULETREE_NVML_LIBRARY", library);
    let result = ended(command.output().expect("the command starts")).json();
    let card = sensor(&result, "host/gpu:0", None);
    assert!(card["usable"] == true && card["kind"] == "measured", "{card}");
    says(&card["source"], "NVML: ");
    assert!(list(&result, "absent").iter().all(|row| row["source"] != "NVML"));
    // A card is no processor.
    assert_eq!(ended(command.args(["--require", "measured"]).output().expect("it starts")).code, 1);
}

#[test]
fn a_meter_of_ones_own_is_heard() {
    let machine = Machine::new();
    let path = machine.root().join("meter.csv");
    fs::write(&path, "watts\n").expect("a file");
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, file) = (stop.clone(), path.clone());
    let (begun, begins) = mpsc::channel();
    let writer = std::thread::spawn(move || {
        let mut file = fs::OpenOptions::new().append(true).open(file).expect("the file");
        begun.send(()).expect("the test waits");
        while !stopped.load(Ordering::Relaxed) {
            file.write_all(b"73.5\n").expect("the file can be written");
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    begins.recv().expect("the meter runs");
    let result = machine.json(&["--require", "measured", "--meter", &format!("cpu:0={}", path.display())]);
    stop.store(true, Ordering::Relaxed);
    writer.join().expect("the meter ends");
    let row = sensor(&result, "host/cpu:0", None);
    assert!(row["usable"] == true && row["kind"] == "derived", "{row}");
    let watts = row["power_w"].as_f64().expect("a power");
    assert!((watts - 73.5).abs() < 0.1, "constant power, however late its lines come: {watts}");
    says(&result["summary"], "cpu:0 derived from measured power");
}

#[test]
fn powers_for_the_model_are_checked() {
    let machine = Machine::new();
    assert_eq!(machine.run(&["--idle-watts", "40"]).code, 2);
    assert_eq!(machine.run(&["--idle-watts", "-4", "--full-watts", "100"]).code, 2);
    let result = machine.json(&["--idle-watts", "40", "--full-watts", "140"]);
    says(&sensor(&result, "host/cpu:0", None)["source"], "between --idle-watts and --full-watts");
    let result = machine.json(&["--idle-watts", "140", "--full-watts", "40"]);
    says(&sensor(&result, "host/cpu:0", None)["reason"], "make no sense");
    says(&result["summary"], "No energy here");
}

#[test]
fn processes_that_cannot_be_seen_are_said() {
    let machine = Machine::new();
    let result = machine.json(&["--proc-root", "/no/such/folder"]);
    assert!(result["process_share"]["source"].is_null());
    says(&list(&result["process_share"], "refused")[0]["reason"], "mount");
    says(&sensor(&result, "host/cpu:0", None)["reason"], "/no/such/folder/stat");
}

#[test]
fn help_has_examples() {
    let help = run(["doctor", "--help"]).ok();
    assert!(
        help.contains("Examples:") && help.contains("JOULETREE_SYS_ROOT") && help.contains("--require"),
        "{help}"
    );
}
