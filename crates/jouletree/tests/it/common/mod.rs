//! The built command, run from outside, and the files it is run on.

// Each test file uses its part of this.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

/// How a run of the command ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The command, ready for arguments.
pub fn jouletree() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jouletree"));
    // A wide table is not folded, wherever the tests run.
    command.env("COLUMNS", "400").env_remove("JOULETREE_LOG");
    command
}

/// Runs the command with these arguments. Whatever they are, it must not panic.
pub fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    ended(jouletree().args(arguments).output().expect("the command starts"))
}

/// How a finished command ended.
pub fn ended(output: Output) -> Ran {
    let ran = Ran {
        code: output.status.code().expect("the command ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    };
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

impl Ran {
    /// Its standard output, after it ended well.
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    /// Its standard output as JSON, after it ended well.
    pub fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("standard output is JSON and nothing else")
    }
}

/// `jouletree account … --format json`.
pub fn account<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Value {
    let mut command = jouletree();
    command.arg("account").args(arguments).args(["--format", "json"]);
    ended(command.output().expect("the command starts")).json()
}

/// The workspace.
pub fn root() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/");
    crates.parent().expect("the workspace")
}

/// A file of the sample data.
pub fn sample(name: &str) -> String {
    root().join("examples/sample").join(name).display().to_string()
}

/// The sample's TensorFlow step, accounted once.
pub fn timeline() -> &'static Value {
    static TIMELINE: LazyLock<Value> =
        LazyLock::new(|| account([&sample("timeline-5.json.gz"), "--power", &sample("power.csv")]));
    &TIMELINE
}

/// The sample's two PyTorch ranks, accounted once.
pub fn ranks() -> &'static Value {
    static RANKS: LazyLock<Value> = LazyLock::new(|| {
        account([&sample("rank0.json.gz"), &sample("rank1.json.gz"), "--power", &sample("power-ranks.csv")])
    });
    &RANKS
}

pub use test_support::development::{development_data as development, trace_data as development_data};

/// A JSON file.
pub fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

/// A list in a result.
pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_else(|| panic!("no list `{key}`"))
}

/// A number in a result.
pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number `{key}` in {value}"))
}

/// A string in a result.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no string `{key}` in {value}"))
}

/// The balance of a device.
pub fn device<'a>(result: &'a Value, name: &str) -> &'a Value {
    let mut devices = list(result, "devices").iter();
    devices.find(|row| row["device"] == name).unwrap_or_else(|| panic!("no device {name}"))
}

/// The text of every warning.
pub fn warnings(result: &Value) -> Vec<&str> {
    list(result, "warnings").iter().map(|warning| text(warning, "message")).collect()
}

/// Fails unless the numbers are equal but for a relative error.
#[track_caller]
pub fn assert_close(found: f64, wanted: f64, relative: f64, what: &str) {
    let off = (found - wanted).abs();
    assert!(off <= relative * wanted.abs().max(f64::MIN_POSITIVE), "{what}: found {found}, wanted {wanted}");
}

/// Fails unless attributed and unattributed make up what was measured, and operations and the tree what was
/// attributed.
#[track_caller]
pub fn assert_conserved(result: &Value) {
    let mut attributed = 0.0;
    for row in list(result, "devices").iter().filter(|row| !row["measured_j"].is_null()) {
        let name = text(row, "device");
        let sum = number(row, "attributed_j") + number(row, "unattributed_j");
        assert_close(sum, number(row, "measured_j"), 1e-9, name);
        let on_device = |key| list(result, key).iter().filter(|entry| entry["device"] == name);
        for key in ["ops", "summary"] {
            let sum: f64 = on_device(key).map(|entry| number(entry, "energy_j")).sum();
            assert_close(sum, number(row, "attributed_j"), 1e-9, &format!("{key} of {name}"));
        }
        attributed += number(row, "attributed_j");
    }
    assert_close(number(&result["tree"], "energy_j"), attributed, 1e-9, "the tree");
}

/// A folder of files made for one test.
pub struct Files(TempDir);

impl Files {
    pub fn new() -> Files {
        Files(tempfile::tempdir().expect("a folder"))
    }

    /// The path of a file that may not be there.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Writes a file and gives its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.0.path().join(name), content).expect("the file is written");
        self.path(name)
    }
}

/// The content as gzip.
pub fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

/// A power file with a few readings of each device over a stretch of time.
pub fn power_over(start: i64, end: i64, devices: &[&str]) -> String {
    const READINGS: i64 = 12;
    let mut rows = String::from("epoch_ns,device,watts\n");
    for device in devices {
        for reading in 0..=READINGS {
            let time = start + (end - start) / READINGS * reading + if reading == READINGS { READINGS } else { 0 };
            rows.push_str(&format!("{time},{device},{}\n", 50 + reading % 5));
        }
    }
    rows
}
