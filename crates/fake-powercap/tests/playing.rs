//! The fake from outside: what stands in the files is what the script says.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fake_powercap::{Fake, FakeError, LONGEST_TICK, Layout, Script};
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

fn script(text: &str) -> Script {
    text.parse().unwrap()
}

fn text(root: &Path, zone: &str) -> String {
    fs::read_to_string(root.join("class/powercap").join(zone).join("energy_uj")).unwrap()
}

fn count(root: &Path, zone: &str) -> u64 {
    text(root, zone).trim_end().parse().unwrap()
}

#[test]
fn counts_follow_the_script_within_a_tick() {
    let root = tempfile::tempdir().unwrap();
    let script =
        script("seed 3\nstart 5J\npackage-0: 100W for 1s, ramp 100W to 200W for 1s, square 10W to 90W every 3ms");
    let mut fake = Fake::new(root.path(), Layout::OneSocket, &script).unwrap();
    assert_eq!(count(root.path(), "intel-rapl:0"), 4_999_987, "5 J in whole steps of 61.035 µJ");
    for _ in 0..300 {
        fake.advance(10 * MS).unwrap();
        let shown = (count(root.path(), "intel-rapl:0") as f64) * 1e-6 - 5.0;
        let truth = fake.oracle().energy("package-0", Duration::ZERO, fake.now()).unwrap().0;
        let bound = 200.0 * LONGEST_TICK.as_secs_f64() + 1e-4;
        assert!(shown <= truth + 1e-4 && shown >= truth - bound, "{shown} {truth}");
        assert_eq!(text(root.path(), "intel-rapl:0").len(), 16);
    }
}

#[test]
fn a_counter_wraps_when_it_is_told_to() {
    let root = tempfile::tempdir().unwrap();
    let mut fake = Fake::new(root.path(), Layout::Amd, &script("start 0.2s before wrap")).unwrap();
    let start = count(root.path(), "intel-rapl:0");
    assert!(start > 65_532_610_987 - 8_100_000, "{start}");
    fake.advance(199 * MS).unwrap();
    assert!(count(root.path(), "intel-rapl:0") > start);
    fake.advance(20 * MS).unwrap();
    assert!(count(root.path(), "intel-rapl:0") < 1_000_000);
}

#[test]
fn faults_come_and_go() {
    let root = tempfile::tempdir().unwrap();
    let faults = "start 100J\nat 100ms package-0 garbage for 50ms\nat 200ms package-0 empty for 50ms\n\
        at 300ms package-0 beyond for 50ms\nat 400ms package-0 refuse for 50ms\nat 500ms package-0 back 50J\n\
        at 600ms package-0 freeze for 50ms\nat 700ms jump 100s\nat 800ms package-0 vanish";
    let mut fake = Fake::new(root.path(), Layout::OneSocket, &script(faults)).unwrap();
    let mut at = |ms: u32| {
        fake.advance((ms * MS).saturating_sub(fake.now())).unwrap();
        let path = root.path().join("class/powercap/intel-rapl:0/energy_uj");
        fs::read_to_string(path)
            .map(|text| text.trim_end().to_owned())
            .map_err(|error| error.raw_os_error().unwrap())
    };
    let joules = |text: Result<String, i32>| text.unwrap().parse::<f64>().unwrap() * 1e-6;
    assert_eq!(at(130).as_deref(), Ok("not a number"));
    assert!((joules(at(180)) - 107.2).abs() < 0.5);
    assert_eq!(at(230).as_deref(), Ok(""));
    assert_eq!(at(330).as_deref(), Ok("262143328851"));
    let io_error = 5;
    assert_eq!(at(430), Err(io_error));
    assert!((joules(at(480)) - 119.2).abs() < 0.5);
    assert!((joules(at(550)) - 72.0).abs() < 0.5);
    let frozen = joules(at(620));
    assert_eq!(joules(at(640)), frozen);
    assert!(joules(at(680)) > frozen);
    assert!((joules(at(750)) - 4080.0).abs() < 0.5);
    assert!(at(850).is_err());
    assert!(!root.path().join("class/powercap/intel-rapl:0:1").exists(), "what is below it is gone, too");
}

#[test]
fn equal_seeds_play_equally() {
    let play = |seed: u64| {
        let root = tempfile::tempdir().unwrap();
        let mut fake = Fake::new(root.path(), Layout::Client, &script(&format!("seed {seed}"))).unwrap();
        (0..50)
            .flat_map(|_| {
                fake.advance(3 * MS).unwrap();
                ["intel-rapl:0", "intel-rapl:0:2", "intel-rapl:1"].map(|zone| count(root.path(), zone))
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(play(1), play(1));
    assert_ne!(play(1), play(2));
}

#[test]
fn what_cannot_be_played_is_said() {
    let root = tempfile::tempdir().unwrap();
    let wrong = Fake::new(root.path(), Layout::Amd, &script("package-7: 5W")).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "there is no zone `package-7` in this layout; there are package-0, package-0/core"
    );
    Fake::new(root.path(), Layout::Amd, &Script::default()).unwrap();
    let again = Fake::new(root.path(), Layout::Amd, &Script::default());
    assert!(matches!(again, Err(FakeError::Taken(_))));
}

#[test]
fn the_program_plays_and_says_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let (root, script) = (folder.path().join("sys"), folder.path().join("script"));
    fs::write(&script, "start 0J\npackage-0: 100W\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fake-powercap"))
        .args(["--layout", "mmio-twin", "--for", "0.2", "--root"])
        .arg(&root)
        .arg("--script")
        .arg(&script)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let truth: f64 = said.lines().find_map(|line| line.strip_prefix("package-0\t")).unwrap().parse().unwrap();
    let shown = count(&root, "intel-rapl:0") as f64 * 1e-6;
    assert!(
        truth >= 20.0 && (truth - shown).abs() <= 100.0 * LONGEST_TICK.as_secs_f64() + 1e-3,
        "{truth} {shown}"
    );
    assert_eq!(count(&root, "intel-rapl-mmio:0"), count(&root, "intel-rapl:0"));
}

proptest! {
    /// Any text is a script or an error with a line.
    #[test]
    fn nonsense_is_refused(text in "([a-z0-9:,. -]{0,40}\n){0,4}") {
        let _ = text.parse::<Script>();
    }
}
