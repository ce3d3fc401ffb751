//! `jouletree run` with programs of Python and without any framework: what a program leaves is accounted, and whatever the
//! program does, it runs as before. Frameworks are tried in python/tests. No energy here comes from hardware.

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use common::*;
use fake_powercap::{Fake, Layout, Player, Script, busy_clock};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

/// A program that computes for a while in layers, and marks its session.
const LAYERS: &str = r#"
import time
from jouletree import _session
session = _session.current()
def work(seconds):
    until = time.time() + seconds
    while time.time() < until:
        sum(range(1000))
for number in range(1, 7):
    step = session.next_step()
    begin = time.time_ns()
    for layer in range(3):
        start = time.time_ns()
        work(0.05)
        session.ran_module(f"net/layer_{layer}", start, time.time_ns(), 1, "Linear", "forward")
    start = time.time_ns()
    work(0.05)
    session.ran_module("net/layer_0", start, time.time_ns(), 1, "Linear", "backward")
    session.ran_step(step, begin, time.time_ns(), "train", session.plan.wants(step), 4)
    work(0.02)
"#;

/// A place for a program and its runs.
struct Workspace {
    folder: TempDir,
}

impl Workspace {
    fn new() -> Workspace {
        Workspace { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `jouletree run` of a script; without a meter, as this is not about energy.
    fn run(&self, arguments: &[&str], script: &str) -> Command {
        let file = self.path("program.py");
        fs::write(&file, script).unwrap();
        let mut command = jouletree();
        command.args(["run", "-o"]).arg(self.path("run")).arg("--sys-root").arg(self.path("nowhere"));
        command.arg("--no-daemon").args(arguments).arg("--").arg(python()).arg(file);
        command.env("XDG_CACHE_HOME", self.path("cache")).current_dir(self.folder.path());
        command
    }

    fn ran(&self, arguments: &[&str], script: &str) -> Ran {
        ended(self.run(arguments, script).output().unwrap())
    }

    fn accounted(&self) -> Value {
        account([self.path("run").to_str().unwrap()])
    }

    fn manifest(&self) -> Value {
        read_json(&self.path("run").join("manifest.json"))
    }
}

fn python() -> &'static str {
    "python3"
}

fn view(run: &Path, arguments: &[&str]) -> Value {
    ended(jouletree().arg("show").arg(run).args(["--format", "json"]).args(arguments).output().unwrap()).json()
}

/// What the process tree used of a whole device.
fn ours(manifest: &Value) -> f64 {
    let rows = list(&manifest["recording"], "balance").iter();
    rows.filter(|row| row["domain"].is_null()).map(|row| number(&row["parts"], "ours_j")).sum()
}

#[test]
fn a_program_is_accounted_to_its_layers() {
    let place = Workspace::new();
    let ran = place.ran(&["--level", "module", "--steps", "2..4", "--timings"], LAYERS);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for stage in ["power", "read", "align", "keep", "report", "print"] {
        let line = ran.stderr.lines().find(|line| line.starts_with(stage) && line.contains(" ms"));
        assert!(line.is_some(), "{stage} is not in {}", ran.stderr);
    }
    assert_eq!(ran.stdout, "", "what jouletree says goes to standard error");
    let words =
        ["by layer", "layer_1", "by pass", "backward", "3 of 6 train steps", "jouletree itself", "kept in run"];
    for said in words {
        assert!(ran.stderr.contains(said), "`{said}` is not in {}", ran.stderr);
    }
    let result = place.accounted();
    let cpu = device(&result, "host/cpu:0");
    let used = ours(&place.manifest());
    assert_close(number(cpu, "measured_j"), used, 1e-6, "the footprint is that of the process tree");
    let charged: f64 = list(&result, "ops").iter().map(|op| number(op, "energy_j")).sum();
    assert_close(charged + number(cpu, "unattributed_j"), used, 1e-6, "nothing is lost");
    // Each layer worked as long as the others, the first twice as long.
    let energy = |path: &str, pass: &str| -> f64 {
        let ops = list(&result, "ops").iter();
        ops.filter(|op| text(op, "path") == path && text(op, "pass") == pass)
            .map(|op| number(op, "energy_j"))
            .sum()
    };
    let parts = [
        energy("net/layer_0", "forward"),
        energy("net/layer_1", "forward"),
        energy("net/layer_2", "forward"),
        energy("net/layer_0", "backward"),
    ];
    let (least, most) =
        (parts.iter().copied().fold(f64::MAX, f64::min), parts.iter().copied().fold(0.0, f64::max));
    assert!(least > 0.0 && most < 3.0 * least, "{parts:?}");
    // Steps 2 to 4 were chosen, half of them; the rest of the energy was used while operations were not recorded.
    let inside = number(cpu, "measured_j") - number(cpu, "outside_trace_j");
    let phases = view(&place.path("run"), &["--by", "phase"]);
    let stepped: f64 = phases.as_array().unwrap().iter().map(|row| number(row, "energy_j")).sum();
    assert!(inside > 0.3 * stepped && inside < 0.75 * stepped, "{inside} of {stepped} in steps, {used} in all");
    // Modules of other steps were noted, too: their energy is in no sum of recorded steps.
    let steps = list(&result, "steps");
    assert_eq!(steps.len(), 3, "{steps:?}");
    let sum = |rows: &Value| rows.as_array().unwrap().iter().map(|row| number(row, "energy_j")).sum::<f64>();
    let by = |by: &str| view(&place.path("run"), &["--by", by]);
    let passes: f64 = by("pass").as_object().unwrap().values().filter_map(Value::as_f64).sum();
    let sums =
        [sum(&by("op")), sum(&by("step")), passes, number(&by("layer"), "energy_j"), number(cpu, "attributed_j")];
    for found in sums {
        assert_close(found, charged, 1e-9, "one base");
        assert!(found <= inside * (1.0 + 1e-9), "{found} of {inside}");
    }
    let outside = "operations outside of recorded steps:";
    assert!(ran.stderr.contains(outside), "`{outside}` is not in {}", ran.stderr);
    assert!(!place.path("run").join("traces").exists());
    assert!(place.path("run").join("spans.parquet").exists());
    // The page was made from memory; from the folder it is the same.
    let page = fs::read_to_string(place.path("run").join("report.html")).unwrap();
    let (folder, again) = (place.path("run"), place.path("again.html"));
    ended(jouletree().arg("report").arg(&folder).arg("-o").arg(&again).output().unwrap()).ok();
    assert!(page == fs::read_to_string(&again).unwrap(), "the pages differ: {}", again.display());
}

/// Steps of two phases and three functions, compilation, recording, and an operation outside of steps.
const PARTS: &str = r#"
import time
from jouletree import _session
session = _session.current()
def work(seconds):
    start = time.time_ns()
    while time.time_ns() < start + seconds * 1e9:
        sum(range(1000))
    return start, time.time_ns()
def step(phase, recorded, function, module):
    number = session.next_step()
    start, end = work(0.04)
    session.ran_module(module, start, end, 1, "Linear", "forward")
    session.ran_step(number, start, time.time_ns(), phase, recorded, 4, function)
work(0.05)
session.compiled("f", *work(0.05))
for number in range(6):
    step("train", number < 2, "", "net/a")
    work(0.01)
for number in range(4):
    step("evaluate", number < 1, "", "net/b")
for number in range(3):
    step("evaluate", False, "g", "net/c")
session.cost(*work(0.05))
start, end = work(0.05)
session.ran_module("loose", start, end, 1, "Linear", "forward")
"#;

#[test]
fn phases_and_functions_have_their_own_factors_and_parts_make_the_run() {
    let place = Workspace::new();
    let ran = place.ran(&["--level", "module"], PARTS);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines =
        ["the whole run", "2 of 6 train steps, 1 of 4 evaluate steps", "evaluate steps that were not recorded"];
    for line in
        lines.iter().chain(&["compilation", "recording operations", "after the last step", "none recorded"])
    {
        assert!(ran.stderr.contains(line), "`{line}` is not in {}", ran.stderr);
    }
    let run = place.path("run");

    let phases = view(&run, &["--by", "phase"]);
    let rows: Vec<(&str, &str, u64, u64)> = (phases.as_array().unwrap().iter())
        .map(|row| {
            let count = |key: &str| row[key].as_u64().unwrap();
            (text(row, "phase"), text(row, "function"), count("steps"), count("recorded"))
        })
        .collect();
    assert_eq!(rows, [("train", "", 6, 2), ("evaluate", "", 4, 1), ("evaluate", "g", 3, 0)]);
    assert!(phases[2]["factor"].is_null() && phases[0]["processes"] == 1);

    let energy = |path: &str, arguments: &[&str]| -> f64 {
        let rows = view(&run, &[&["--by", "op"], arguments].concat());
        rows.as_array()
            .unwrap()
            .iter()
            .filter(|op| text(op, "path") == path)
            .map(|op| number(op, "energy_j"))
            .sum()
    };
    for (path, row) in [("net/a", &phases[0]), ("net/b", &phases[1])] {
        let (recorded, all) = (energy(path, &[]), energy(path, &["--all-steps"]));
        assert!(recorded > 0.0);
        assert_close(all, recorded * number(row, "factor"), 1e-9, path);
        assert!(all <= number(row, "energy_j") * (1.0 + 1e-9), "{path}: {all}");
    }
    for path in ["net/c", "loose"] {
        assert_eq!([energy(path, &[]), energy(path, &["--all-steps"])], [0.0, 0.0], "{path}");
    }
    let scaled = ended(jouletree().arg("show").arg(&run).args(["--by", "pass", "--all-steps"]).output().unwrap());
    assert!(scaled.stderr.contains("--all-steps leaves out evaluate g: 3 steps"), "{}", scaled.stderr);

    let parts = view(&run, &["--by", "part"]);
    let parts = parts.as_array().unwrap();
    let sum = |key: &str| parts.iter().map(|row| number(row, key)).sum::<f64>();
    assert_close(sum("energy_j"), ours(&place.manifest()), 1e-9, "parts make the whole");
    assert_close(sum("share"), 1.0, 1e-9, "shares");
    let names: Vec<&str> = parts.iter().map(|row| text(row, "part")).collect();
    let wanted = ["operations", "operations", "between_operations", "between_operations", "unrecorded_steps"];
    let wanted =
        [wanted.as_slice(), &["unrecorded_steps", "unrecorded_steps", "compilation", "recording"]].concat();
    assert_eq!(names, [wanted.as_slice(), &["before_steps", "between_steps", "after_steps"]].concat());
    assert!(parts.iter().all(|row| number(row, "energy_j") > 0.0 || text(row, "part") == "between_operations"));
    let after = parts.last().unwrap();
    assert!(number(after, "operations_j") > 0.0, "the loose operation is in {after}");
    assert_eq!(place.accounted()["parts"], Value::Array(parts.clone()), "accounted again, they are the same");
    let windows = view(&run, &["--by", "window"]);
    assert_eq!(text(&windows[0], "window"), "f", "what was compiled has its name");
    let exported = ended(
        jouletree()
            .arg("export")
            .arg(&run)
            .args(["--to", "perfetto", "-o"])
            .arg(place.path("trace.json"))
            .output()
            .unwrap(),
    );
    assert_eq!(exported.code, 0, "{}", exported.stderr);
}

#[test]
fn figures_of_chosen_steps_are_scaled_when_asked_for() {
    let place = Workspace::new();
    assert_eq!(place.ran(&["--level", "module", "--steps", "1..3", "-q"], LAYERS).code, 0);
    let total = |arguments: &[&str]| -> f64 {
        let rows = view(&place.path("run"), &[&["--by", "op"], arguments].concat());
        rows.as_array().unwrap().iter().map(|op| number(op, "energy_j")).sum()
    };
    let (recorded, all) = (total(&[]), total(&["--all-steps"]));
    assert!(all > 1.5 * recorded && all < 2.7 * recorded, "{all} for {recorded}: half of the steps were recorded");
}

#[test]
fn stages_and_windows_are_told_apart() {
    let place = Workspace::new();
    let script = LAYERS.replace("for number in", "session.stage('pre-training')\nfor number in")
        + "session.stage('prediction')\nt = time.time_ns()\nwork(0.3)\nsession.ran_window('eval', t, time.time_ns(), 'window', 1)\n";
    let ran = place.ran(&["--level", "module"], &script);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for said in ["by stage", "pre-training", "prediction", "by window", "eval"] {
        assert!(ran.stderr.contains(said), "`{said}` is not in {}", ran.stderr);
    }
    let run = place.path("run");
    let stages = view(&run, &["--by", "stage"]);
    let names: Vec<&str> = stages.as_array().unwrap().iter().map(|row| text(row, "stage")).collect();
    assert_eq!(names, ["(before the first)", "pre-training", "prediction"]);
    let energy: f64 = stages.as_array().unwrap().iter().map(|row| number(row, "energy_j")).sum();
    assert_close(energy, ours(&place.manifest()), 1e-6, "stages make the whole");
    let of_stage = |name: &str| view(&run, &["--by", "op", "--stage", name]).as_array().unwrap().len();
    assert!(of_stage("pre-training") > 0);
    assert_eq!(of_stage("prediction"), 0);
    let windows = view(&run, &["--by", "window"]);
    assert_eq!(text(&windows[0], "window"), "eval");
    assert!(number(&windows[0], "energy_j") > 0.0);
    let unknown = ended(jouletree().arg("show").arg(&run).args(["--stage", "x"]).output().unwrap());
    assert!(unknown.code == 1 && unknown.stderr.contains("pre-training, prediction"), "{}", unknown.stderr);
}

#[test]
fn programs_run_as_before() {
    let ended_by = |script: &str| {
        let place = Workspace::new();
        let ran = ended(place.run(&["-q"], script).stdin(Stdio::null()).output().unwrap());
        (ran.code, ran.stdout, ran.stderr)
    };
    assert_eq!(ended_by("import sys; print('hello'); sys.exit(3)").0, 3);
    assert_eq!(ended_by("print('hello')").1, "hello\n");
    let (code, _, stderr) = ended_by("raise ValueError('mine')");
    assert!(code == 1 && stderr.contains("ValueError: mine") && !stderr.contains("jouletree/"), "{stderr}");
    assert_eq!(ended_by("import os; os._exit(7)").0, 7);
    assert_eq!(ended_by("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").0, 137);
    assert_eq!(ended_by("import os, sys\nif os.fork() == 0: sys.exit(5)\nsys.exit(os.wait()[1] >> 8)").0, 5);
    assert_eq!(ended_by("import os; os.chdir('/'); print(os.getcwd())").1, "/\n");
    let (code, stdout, stderr) = ended_by(
        "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n  for way in ('fork', 'spawn'):\n    \
         with m.get_context(way).Pool(2) as pool: print(pool.map(f, [1, 2, 3]))\n",
    );
    assert_eq!((code, stdout.as_str()), (0, "[1, 4, 9]\n[1, 4, 9]\n"), "{stderr}");
    let none = Workspace::new();
    let missing = ended(none.run(&["-q"], "").env("PATH", "/nonexistent").output().unwrap());
    assert!(missing.code == 1 && missing.stderr.contains("there is no program"), "{}", missing.stderr);
    assert!(!none.path("run").exists(), "nothing is left of what never ran");
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let place = Workspace::new();
    let ran = place.ran(&[], "print(1)");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\n"));
    assert!(ran.stderr.contains("no operation was recorded"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("--by op"), "there are none to show: {}", ran.stderr);
    let shown = ended(jouletree().arg("show").arg(place.path("run")).output().unwrap());
    assert!(shown.code == 0 && shown.stdout.contains("no operation was recorded"), "{}", shown.stdout);
}

/// A program that looks to the recorder as if it had loaded PyTorch, and the shell that starts it in some way.
const LIKE_TORCH: &str = "import mmap, time\nwith open('libtorch_cpu.so', 'wb+') as f:\n    f.write(b'x' * 4096); f.flush()\n    \
                          m = mmap.mmap(f.fileno(), 0)\n    time.sleep(2.5)\n";

#[test]
fn a_python_that_is_not_followed_is_reported_with_the_remedy() {
    for (start, why) in [
        ("PYTHONPATH=. python3 train.py", Some("PYTHONPATH was replaced; use PYTHONPATH=.:$PYTHONPATH")),
        ("env -i \"$(command -v python3)\" train.py", Some("its environment was cleared")),
        ("python3 -I train.py", Some("python -I ignores PYTHONPATH")),
        ("PYTHONPATH=.:$PYTHONPATH python3 train.py", None),
    ] {
        let place = Workspace::new();
        fs::write(place.path("train.py"), LIKE_TORCH).unwrap();
        let mut command = place.run(&[], "");
        let script = place.path("start.sh");
        fs::write(&script, start).unwrap();
        command = of_shell(&command, &script);
        let ran = ended(command.output().unwrap());
        assert_eq!(ran.code, 0, "{start}: {}", ran.stderr);
        assert!(!ran.stderr.contains("--summarize"), "{start}: {}", ran.stderr);
        let expected = why.unwrap_or("no step of PyTorch, TensorFlow, JAX or ONNX Runtime was seen");
        assert!(ran.stderr.contains(expected), "{start}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains("(`train.py`) used PyTorch but"), why.is_some(), "{start}: {}", ran.stderr);
    }
}

/// The same command with a shell's script in place of a Python program.
fn of_shell(command: &Command, script: &Path) -> Command {
    let mut shell = Command::new(command.get_program());
    shell.args(command.get_args().take_while(|word| *word != "--")).args(["--", "sh"]).arg(script);
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    shell.envs(variables).current_dir(command.get_current_dir().unwrap());
    shell
}

#[test]
fn processes_that_outlive_the_command_are_named() {
    let place = Workspace::new();
    let script = place.path("start.sh");
    let pid = place.path("pid");
    fs::write(&script, format!("sleep 60 > /dev/null 2>&1 &\necho $! > {}\nsleep 0.5\n", pid.display())).unwrap();
    let ran = ended(of_shell(&place.run(&[], ""), &script).output().unwrap());
    let pid: i32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("1 process of the command still runs"), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("sleep (pid {pid})")), "{}", ran.stderr);
    // Helpers that end with their program are not worth a word.
    let place = Workspace::new();
    let ran =
        place.ran(&["-q"], "import multiprocessing as m\np = m.Process(target=print)\np.start(); p.join()\n");
    assert!(!ran.stderr.contains("still run"), "{}", ran.stderr);
}

/// What another user changed or added in the package never runs in this user's name, whatever the umask was.
#[test]
fn code_that_was_planted_in_the_cache_does_not_run() {
    let place = Workspace::new();
    let again = |place: &Workspace| {
        let _ = fs::remove_dir_all(place.path("run"));
        let command = place.run(&["-q", "--level", "process"], "import os; print(os.environ['JOULETREE_BINARY'])");
        let mut shell = Command::new("sh");
        shell.args(["-c", "umask 0; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
        shell
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env_remove("JOULETREE_BINARY");
        ended(shell.current_dir(place.folder.path()).output().unwrap())
    };
    let ran = again(&place);
    assert_eq!((ran.code, ran.stdout.trim()), (0, env!("CARGO_BIN_EXE_jouletree")), "{}", ran.stderr);
    let package = fs::read_dir(place.path("cache/jouletree")).unwrap().next().unwrap().unwrap().path();
    let open = Command::new("find").arg(place.path("cache")).args(["-perm", "/022"]).output().unwrap();
    assert_eq!(String::from_utf8(open.stdout).unwrap(), "", "nothing of it can be written by others");
    let planted = place.path("planted");
    let code = format!("open({:?}, 'w')\n", planted.display().to_string());
    for name in
        ["jouletree/_auto/sitecustomize.py", "jouletree/_auto/os.py", "encodings.py", "jouletree/__init__.py"]
    {
        let file = package.join(name);
        let before = fs::read_to_string(&file).unwrap_or_default();
        fs::write(&file, code.clone() + &before).unwrap();
        let ran = again(&place);
        assert_eq!((ran.code, ran.stdout.trim()), (0, env!("CARGO_BIN_EXE_jouletree")), "{name}: {}", ran.stderr);
        assert!(!planted.exists(), "{name}");
    }
}

/// Without a cache folder the package is in a folder of this run, and without any place for it the program runs as well.
#[test]
fn a_program_runs_without_a_cache() {
    let place = Workspace::new();
    let script = "import os, sys; print(os.environ.get('PYTHONPATH', ''), 'jouletree' in sys.modules)";
    let temporary = place.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = place.run(&["-q", "--level", "process"], script);
    command
        .env_remove("HOME")
        .env_remove("XDG_CACHE_HOME")
        .env_remove("XDG_RUNTIME_DIR")
        .env("TMPDIR", &temporary);
    let ran = ended(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let path = ran.stdout.split([':', ' ']).next().unwrap();
    assert!(
        Path::new(path).starts_with(temporary.canonicalize().unwrap()) && ran.stdout.contains("True"),
        "{}",
        ran.stdout
    );
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left of it");
    fs::remove_dir_all(place.path("run")).unwrap();
    // A colon cannot be in a search path.
    let mut command = place.run(&["-q", "--level", "process"], script);
    command.env("XDG_CACHE_HOME", place.path("a:b")).env_remove("PYTHONPATH");
    let ran = ended(command.output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, " False\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no place for jouletree's Python package"), "{}", ran.stderr);
}

/// A program that ended well has ended well, also if what it left cannot be accounted.
#[test]
fn traces_that_are_gone_leave_the_program_its_status() {
    let place = Workspace::new();
    let script = "import os, shutil; shutil.rmtree(os.environ['JOULETREE_TRACES'])";
    let ran = place.ran(&["-q"], script);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: cannot read ") && ran.stderr.contains("traces"), "{}", ran.stderr);
}

/// A run with its page and its kept traces is its owner's, and holds no secret of a command line.
#[test]
fn a_run_is_its_owners_and_without_secrets() {
    let place = Workspace::new();
    let mut command = place.run(&["-q", "--keep-traces", "--level", "module"], LAYERS);
    let ran = ended(
        command.args(["--hub-token", "hunter1", "--api_key=hunter2", "--max-tokens", "512"]).output().unwrap(),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let run = place.path("run");
    let found = Command::new("grep").args(["-rl", "hunter"]).arg(&run).output().unwrap();
    assert_eq!(String::from_utf8(found.stdout).unwrap(), "");
    let manifest = place.manifest();
    let commands = [&manifest["recording"]["command"], &manifest["processes"][0]["command"], &manifest["command"]];
    for command in commands {
        let words: Vec<&str> = command.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let kept = ["--hub-token", "REDACTED", "--api_key=REDACTED", "--max-tokens", "512"];
        assert!(words.ends_with(&kept), "{words:?}");
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode(&run), mode(&run.join("traces"))], [0o700, 0o700]);
    assert_eq!([mode(&run.join("report.html")), mode(&run.join("ops.parquet"))], [0o600, 0o600]);
    // Pages elsewhere, too, unless they are shared.
    let page = place.path("page.html");
    let report = |options: &[&str]| {
        ended(jouletree().arg("report").arg(&run).arg("-o").arg(&page).args(options).output().unwrap()).ok()
    };
    report(&[]);
    assert_eq!(mode(&page), 0o600);
    fs::remove_file(&page).unwrap();
    report(&["--share"]);
    let plain = fs::File::create(place.path("plain")).unwrap().metadata().unwrap().permissions().mode();
    assert_eq!(mode(&page), plain & 0o644);
    // What was opened stays so.
    report(&[]);
    assert_eq!(mode(&page), plain & 0o644);
}

#[test]
fn the_session_of_a_program_is_given_its_input() {
    use std::io::Write;
    let place = Workspace::new();
    let mut child =
        place.run(&["-q"], "print(input())").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"given\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"given\n");
}

/// A run in a process group of its own, which is ended with the test.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Running {
        let piped = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(piped.spawn().unwrap())
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap()
    }

    fn ended(mut self) -> (Option<i32>, String) {
        use std::io::Read;
        let status = self.0.wait().unwrap();
        let mut stderr = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (status.code(), stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// A program that computes for ever, after it has recorded a step.
fn endless() -> String {
    // Tests that run in the background have SIGINT ignored, and so has what they start.
    let interruptible = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n";
    interruptible.to_owned() + &LAYERS.replace("range(1, 7)", "range(1, 100000)") + "\n"
}

fn wait_for_steps(place: &Workspace) {
    let timeout = Instant::now() + Duration::from_secs(60);
    let has_steps = || {
        let processes = fs::read_dir(place.path("run").join("traces")).into_iter().flatten();
        processes.filter_map(Result::ok).any(|process| process.path().join("spans.csv").exists())
    };
    while !has_steps() {
        assert!(Instant::now() < timeout, "no step is recorded");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_ends_the_program_and_what_was_recorded_is_accounted() {
    let place = Workspace::new();
    let running = Running::start(place.run(&["--level", "module"], &endless()));
    wait_for_steps(&place);
    kill_process_group(running.pid(), Signal::INT).unwrap();
    let (code, stderr) = running.ended();
    // Python ends by the signal, and says so.
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("KeyboardInterrupt") && stderr.contains("layer_1"), "{stderr}");
    assert!(number(device(&place.accounted(), "host/cpu:0"), "attributed_j") > 0.0);
}

#[test]
fn a_killed_recorder_leaves_what_any_verb_can_finish() {
    let place = Workspace::new();
    let running = Running::start(place.run(&["--level", "module"], &endless()));
    wait_for_steps(&place);
    thread::sleep(Duration::from_millis(1500));
    kill_process(running.pid(), Signal::KILL).unwrap();
    let _ = kill_process_group(running.pid(), Signal::KILL);
    assert_eq!(running.ended().0, None);
    let shown = ended(jouletree().arg("show").arg(place.path("run")).output().unwrap());
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.contains("layer_1") && shown.stderr.contains("cut off"),
        "{} {}",
        shown.stdout,
        shown.stderr
    );
    let result = place.accounted();
    assert!(number(device(&result, "host/cpu:0"), "attributed_j") > 0.0);
}

/// Looks at a counter again and again.
struct Log {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<(i64, f64)>>,
}

impl Log {
    fn of(counter: PathBuf) -> Log {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let mut seen = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as i64;
                if let Ok(count) = fs::read_to_string(&counter).unwrap().trim().parse::<f64>() {
                    seen.push((now, count * 1e-6));
                }
                thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        Log { stop, thread }
    }

    fn end(self) -> Vec<(i64, f64)> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// The counter at an instant.
fn count_at(log: &[(i64, f64)], instant: i64) -> f64 {
    let after = log.partition_point(|(time, _)| *time < instant);
    assert!(after > 0 && after < log.len(), "the log does not reach {instant}");
    let ((t0, c0), (t1, c1)) = (log[after - 1], log[after]);
    c0 + (c1 - c0) * (instant - t0) as f64 / (t1 - t0).max(1) as f64
}

#[test]
fn the_total_is_what_counters_that_follow_the_processors_say() {
    let place = Workspace::new();
    let script: Script = "package-0: 40W\npackage-0/dram: 10W\n".parse().unwrap();
    let machine = place.path("machine");
    fs::create_dir(&machine).unwrap();
    let fake = Fake::new(&machine, Layout::OneSocket, &script).unwrap();
    let zones = machine.join("class/powercap");
    let _player = Player::follow(fake, busy_clock());
    let log = Log::of(zones.join("intel-rapl:0/energy_uj"));
    let mut command = jouletree();
    let program = place.path("program.py");
    fs::write(&program, LAYERS.replace("range(1, 7)", "range(1, 25)")).unwrap();
    command.args(["run", "-q", "--level", "module", "-o"]).arg(place.path("run")).arg("--sys-root").arg(&machine);
    command.arg("--nvml-library").arg(place.path("none")).env("XDG_CACHE_HOME", place.path("cache"));
    let ran = ended(command.arg("--").arg(python()).arg(program).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let log = log.end();
    let manifest = place.manifest();
    let recording = &manifest["recording"];
    let balance = list(recording, "balance").iter();
    let package = balance.clone().find(|row| row["device"] == "host/cpu:0" && row["domain"].is_null()).unwrap();
    assert_eq!(text(package, "kind"), "measured");
    let began = recording["began_ns"].as_i64().unwrap();
    let until = began + recording["duration_ns"].as_i64().unwrap();
    let counted = count_at(&log, until) - count_at(&log, began);
    let found = number(package, "energy_j") / number(package, "coverage");
    assert!((found - counted).abs() <= 0.01 * counted, "{found} J recorded, {counted} J counted");
    // Memory serves the processor's operations, too, and both are conserved.
    let result = place.accounted();
    assert_conserved(&result);
    for name in ["host/cpu:0", "host/dram:0"] {
        assert!(number(device(&result, name), "attributed_j") > 0.0, "{name}");
        assert_eq!(text(device(&result, name), "kind"), "derived");
    }
    let measured: f64 = list(&result, "devices").iter().map(|row| number(row, "measured_j")).sum();
    assert_close(measured, ours(&manifest), 1e-6, "the tree's energy");
}
