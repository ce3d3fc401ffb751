//! The real daemon on a fake powercap tree: it starts, says how it does, and ends as it should. No energy here comes
//! from hardware.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use fake_powercap::{Fake, LONGEST_TICK, Layout, Player};
use jouletree_daemon::client::{Address, Client};
use jouletree_meter::station::{Feed, Next, Watch};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

struct Machine {
    folder: TempDir,
    player: Player,
}

impl Machine {
    fn start() -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let fake = Fake::new(folder.path(), Layout::OneSocket, &"package-0: 60W".parse().unwrap()).unwrap();
        Machine { folder, player: Player::start(fake) }
    }

    /// How far a mean of 60 W over a second may be off: a tick at either end, and what a busy machine makes the player
    /// late.
    fn slack(&self) -> f64 {
        60.0 * (LONGEST_TICK + self.player.latest()).as_secs_f64() + 0.1
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("run/daemon.sock")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jouletree"));
        command.env("JOULETREE_SYS_ROOT", self.folder.path()).env_remove("JOULETREE_LOG");
        command.arg("daemon").args(arguments);
        command.arg("--socket").arg(self.socket());
        command
    }

    fn daemon(&self) -> Daemon {
        let daemon = Daemon(self.command(&[]).stderr(Stdio::piped()).spawn().unwrap());
        let deadline = Instant::now() + TIMEOUT;
        while Client::connect(&Address::Unix(self.socket())).is_err() {
            assert!(Instant::now() < deadline, "the daemon does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        daemon
    }

    fn status(&self, arguments: &[&str]) -> Output {
        self.command(&[&["status"], arguments].concat()).output().unwrap()
    }
}

/// Killed when the test ends.
struct Daemon(Child);

impl Daemon {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    fn end(mut self) -> Output {
        let child = &mut self.0;
        let deadline = Instant::now() + TIMEOUT;
        while child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "the daemon does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut stderr = Vec::new();
        std::io::Read::read_to_end(child.stderr.as_mut().unwrap(), &mut stderr).unwrap();
        Output { status: child.wait().unwrap(), stdout: Vec::new(), stderr }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn watch(socket: &Path) -> jouletree_daemon::client::RemoteSession {
    Client::connect(&Address::Unix(socket.to_owned())).unwrap().watch(Watch::default()).unwrap()
}

#[test]
fn it_ends_properly_on_a_signal_and_its_clients_are_told() {
    for signal in [Signal::TERM, Signal::INT] {
        let machine = Machine::start();
        let daemon = machine.daemon();
        let mut session = watch(&machine.socket());
        daemon.signal(Signal::HUP);
        let mut samples = 0;
        while samples == 0 {
            if let Next::Batch(batch) = session.next(TIMEOUT).unwrap() {
                samples += batch.samples.len();
            }
        }
        daemon.signal(signal);
        while session.next(TIMEOUT).unwrap() != Next::Ended {}
        assert_eq!(session.ending().remarks.len(), 1, "{:?}", session.ending().remarks);
        let output = daemon.end();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("serving at"));
        assert!(!machine.socket().exists());
    }
}

#[test]
fn what_a_killed_daemon_leaves_is_replaced_and_a_living_one_is_not() {
    let machine = Machine::start();
    let first = machine.daemon();
    let second = machine.command(&[]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("another daemon serves"), "{}", text(&second.stderr));
    assert_eq!(machine.status(&[]).status.code(), Some(0), "the first was not disturbed");
    first.signal(Signal::KILL);
    drop(first);
    assert!(machine.socket().exists());
    let third = machine.daemon();
    assert_eq!(machine.status(&[]).status.code(), Some(0));
    third.signal(Signal::TERM);
    assert_eq!(third.end().status.code(), Some(0));
}

#[test]
fn status_says_what_there_is_and_what_to_do_when_there_is_nothing() {
    let machine = Machine::start();
    let nothing = machine.status(&[]);
    assert_eq!((nothing.status.code(), nothing.stdout), (Some(1), vec![]));
    assert!(text(&nothing.stderr).contains("jouletree daemon"), "{}", text(&nothing.stderr));
    let daemon = machine.daemon();
    let _session = watch(&machine.socket());
    let said = text(&machine.status(&[]).stdout);
    for part in [env!("CARGO_PKG_VERSION"), "cpu:0, measured", "has watched the machine every", "no samples lost"]
    {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let json: serde_json::Value = serde_json::from_slice(&machine.status(&["--format", "json"]).stdout).unwrap();
    assert_eq!(json["pid"], daemon.0.id());
    assert_eq!(json["session_count"], 1);
    assert_eq!(json["sensors"][0]["kind"], "measured");
    assert!(json["resident_bytes"].as_u64().unwrap() > 0);
}

/// What an operator needs is logged: what is served and where, who opens and closes what.
#[test]
fn it_logs_its_sessions() {
    let machine = Machine::start();
    let daemon = machine.daemon();
    let own = Watch { pid: Some(std::process::id()), ..Watch::default() };
    let client = Client::connect(&Address::Unix(machine.socket())).unwrap();
    let mut session = client.watch(own).unwrap();
    let absent = Watch { pid: Some(u32::MAX >> 1), ..own };
    assert!(client.watch(absent).is_err());
    session.stop();
    while session.next(TIMEOUT).unwrap() != Next::Ended {}
    drop((session, client));
    daemon.signal(Signal::TERM);
    let log = text(&daemon.end().stderr);
    let uid = format!("client=uid {}", rustix::process::getuid().as_raw());
    let pid = format!("pid={}", std::process::id());
    for parts in [
        &["serving", env!("CARGO_PKG_VERSION"), "daemon.sock"][..],
        &["sensor", "cpu:0", "measured"],
        &["session opened", &uid, &pid],
        &["WARN", "session refused", &uid, "there is no process"],
        &["session closed", &uid, &pid, "reason=Stopped", "dropped=0"],
        &["stopping", "SIGTERM"],
        &["stopped"],
    ] {
        let is_logged = |line: &str| line.contains(" jouletree_") && parts.iter().all(|part| line.contains(part));
        assert!(log.lines().any(is_logged), "{parts:?} is not in\n{log}");
    }
}

#[test]
fn its_log_can_be_switched_off() {
    let machine = Machine::start();
    let mut command = machine.command(&[]);
    let daemon = Daemon(command.env("JOULETREE_LOG", "off").stderr(Stdio::piped()).spawn().unwrap());
    let deadline = Instant::now() + TIMEOUT;
    while Client::connect(&Address::Unix(machine.socket())).is_err() {
        assert!(Instant::now() < deadline, "the daemon does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    daemon.signal(Signal::TERM);
    let said = text(&daemon.end().stderr);
    assert!(said.contains("serving at") && !said.contains("INFO"), "{said}");
}

#[test]
fn the_network_is_refused_without_its_secrets() {
    let machine = Machine::start();
    let output = machine.command(&["--listen", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let path = machine.folder.path().join("token");
    fs::write(&path, "short").unwrap();
    let path = path.to_str().unwrap();
    let arguments = ["--listen", "127.0.0.1:0", "--tls-cert", path, "--tls-key", path, "--token-file", path];
    let output = machine.command(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("token"), "{}", text(&output.stderr));
    let output = machine.command(&["--smaragdine", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--smaragdine-insecure"), "{}", text(&output.stderr));
}

/// Clients can enter the folder of the socket, whatever the umask of the daemon.
#[test]
fn the_folder_of_the_socket_can_be_entered() {
    let machine = Machine::start();
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 077; exec \"$0\" daemon --socket \"$1\""]);
    let folder = machine.folder.path().join("one/two");
    let socket = folder.join("daemon.sock");
    shell.arg(env!("CARGO_BIN_EXE_jouletree")).arg(&socket).env("JOULETREE_SYS_ROOT", machine.folder.path());
    let daemon = Daemon(shell.stderr(Stdio::piped()).spawn().unwrap());
    let deadline = Instant::now() + TIMEOUT;
    while Client::connect(&Address::Unix(socket.clone())).is_err() {
        assert!(Instant::now() < deadline, "the daemon does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    for (path, mode) in [(machine.folder.path().join("one"), 0o755), (folder, 0o755), (socket, 0o660)] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode, "{}", path.display());
    }
    drop(daemon);
}

/// A certificate with its key, and a token, in files of the machine.
fn secrets(machine: &Machine) -> [String; 3] {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files =
        [("cert.pem", made.cert.pem()), ("key.pem", made.signing_key.serialize_pem()), ("token", "t".repeat(32))];
    files.map(|(name, content)| {
        let path = machine.folder.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    })
}

#[test]
fn another_machine_is_asked_and_recorded_by_its_daemon() {
    let machine = Machine::start();
    let [certificate, key, token] = secrets(&machine);
    let listen =
        ["--listen", "127.0.0.1:0", "--tls-cert", &certificate, "--tls-key", &key, "--token-file", &token];
    let mut daemon = Daemon(machine.command(&listen).stderr(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(daemon.0.stderr.take().unwrap()).lines();
    let port = said.find_map(|line| {
        let line = line.unwrap();
        let address = line.split("other machines at ").nth(1)?.split(',').next()?.to_owned();
        address.rsplit(':').next().map(str::to_owned)
    });
    let address = format!("localhost:{}", port.unwrap());
    let jouletree = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jouletree"));
        command.args(words).env("JOULETREE_TLS_CA", &certificate).output().unwrap()
    };
    let status = jouletree(&["daemon", "status", "--address", &address, "--token-file", &token]);
    assert!(text(&status.stdout).contains("cpu:0, measured"), "{}", text(&status.stderr));
    let without = jouletree(&["daemon", "status", "--address", &address]);
    assert_eq!(without.status.code(), Some(1));
    assert!(text(&without.stderr).contains("--token-file"), "{}", text(&without.stderr));
    let run = machine.folder.path().join("recorded");
    let (place, output) = (format!("--daemon={address}"), run.to_str().unwrap());
    let record = ["record", "-o", output, &place, "--token-file", &token];
    let refused = jouletree(&[&record[..], &["--", "true"]].concat());
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("another machine"), "{}", text(&refused.stderr));
    let recorded = jouletree(&[&record[..], &["--duration", "1.5"]].concat());
    assert_eq!(recorded.status.code(), Some(0), "{}", text(&recorded.stderr));
    let cpu = &shown(&run)["devices"][0];
    let (energy, power) = (cpu["energy_j"].as_f64().unwrap(), cpu["power_w"].as_f64().unwrap());
    assert!((power - 60.0).abs() < machine.slack() && energy > 30.0, "{cpu}");
    let top = jouletree(&["top", "--count", "1", "--format", "text", &place, "--token-file", &token]);
    assert_eq!(top.status.code(), Some(1), "{}", text(&top.stdout));
}

/// A daemon that is asked for by name and does not answer is an error, and nothing is measured in its stead.
#[test]
fn a_daemon_that_does_not_answer_is_an_error() {
    let machine = Machine::start();
    fs::create_dir(machine.folder.path().join("run")).unwrap();
    // A socket that was left behind, and none.
    drop(std::os::unix::net::UnixListener::bind(machine.socket()).unwrap());
    for name in ["first", "second"] {
        let run = machine.folder.path().join(name);
        let ran = record(&machine, &run, &["true"]).output().unwrap();
        assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stderr));
        assert!(text(&ran.stderr).contains("no daemon runs") && !run.exists(), "{}", text(&ran.stderr));
        let _ = fs::remove_file(machine.socket());
    }
}

/// `jouletree record` by way of the daemon.
fn record(machine: &Machine, run: &Path, command: &[&str]) -> Command {
    let mut record = Command::new(env!("CARGO_BIN_EXE_jouletree"));
    record.arg("record").arg("-o").arg(run).arg(format!("--daemon={}", machine.socket().display()));
    record.args(["--require", "measured", "--"]).args(command);
    record
}

fn shown(run: &Path) -> serde_json::Value {
    let mut show = Command::new(env!("CARGO_BIN_EXE_jouletree"));
    let shown = show.arg("show").arg(run).args(["--format", "json"]).output().unwrap();
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    serde_json::from_slice(&shown.stdout).unwrap()
}

#[test]
fn a_command_is_recorded_by_way_of_the_daemon() {
    let machine = Machine::start();
    let _daemon = machine.daemon();
    let run = machine.folder.path().join("recorded");
    let ran = record(&machine, &run, &["sh", "-c", "sleep 1.2; exit 4"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(4), "{}", text(&ran.stderr));
    let shown = shown(&run);
    assert!(shown["share_source"].is_string(), "{shown}");
    let cpu = &shown["devices"][0];
    assert_eq!((&cpu["device"], &cpu["kind"]), (&"host/cpu:0".into(), &"measured".into()), "{shown}");
    let (energy, power) = (cpu["energy_j"].as_f64().unwrap(), cpu["power_w"].as_f64().unwrap());
    assert!((power - 60.0).abs() < machine.slack() && energy > 60.0, "{shown}");
}

#[test]
fn a_daemon_that_ends_does_not_take_the_command_with_it() {
    for signal in [Signal::TERM, Signal::KILL] {
        let machine = Machine::start();
        let daemon = machine.daemon();
        let run = machine.folder.path().join("recorded");
        let mut record = record(&machine, &run, &["sh", "-c", "sleep 4; echo whole"]);
        let recording = record.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let deadline = Instant::now() + TIMEOUT;
        while !run.join("recording.json").exists() {
            assert!(Instant::now() < deadline, "it does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(1500));
        daemon.signal(signal);
        let ran = recording.wait_with_output().unwrap();
        assert_eq!(
            (ran.status.code(), text(&ran.stdout)),
            (Some(0), "whole\n".to_owned()),
            "{}",
            text(&ran.stderr)
        );
        assert!(text(&ran.stderr).contains("is not whole"), "{}", text(&ran.stderr));
        let shown = shown(&run);
        let remarks = shown["remarks"].to_string();
        assert!(remarks.contains("recording ended before its subject did"), "{remarks}");
        let cpu = &shown["devices"][0];
        let (power, coverage) = (cpu["power_w"].as_f64().unwrap(), cpu["coverage"].as_f64().unwrap());
        assert!((power - 60.0).abs() < machine.slack() && coverage > 0.05 && coverage < 0.9, "{cpu}");
    }
}
