//! Recordings whose recorder died: what was written is used, what was lost is reported, and no number is wrong.

use test_support::recordings;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jouletree_model::sampling::SensorInfo;
use jouletree_run::{Exit, Recording, RunError, RunFolder, Scope, recover};

use recordings::*;

const FILES: [&str; 7] = ["anchors", "batches", "gpus", "incidents", "resources", "samples", "shares"];

fn recording(run: &RunFolder) -> Recording {
    run.manifest().recording.clone().unwrap()
}

/// A journal that no process holds, and the run that it becomes.
fn journal(folder: &Path, seed: u64, tenths: u64, every: usize) -> (Vec<SensorInfo>, RunFolder) {
    let sensors = sensors();
    let header = header(&sensors);
    let writer = write(&folder.join("first"), &header, &batches(seed, tenths, anchor(&header)), every);
    copy(&folder.join("first"), &folder.join("journal"));
    (sensors.clone(), finish(writer, &sensors))
}

/// Fails unless a run says nothing that the whole run does not say.
fn assert_part_of(part: &RunFolder, whole: &RunFolder, what: &str) {
    let points = whole.read_power().unwrap();
    for metered in part.read_power().unwrap() {
        let full = points
            .iter()
            .find(|m| m.device == metered.device && m.domain == metered.domain && m.scope == metered.scope)
            .unwrap();
        let (some, all): (Vec<_>, Vec<_>) = (metered.series.points().collect(), full.series.points().collect());
        assert!(some.len() <= all.len(), "{what}");
        if metered.scope == Scope::Tree {
            // What the tree used follows from shares, and without them a GPU is taken to work for it alone.
            let device = points.iter().find(|m| m.device == metered.device && m.is_whole()).unwrap();
            assert!(metered.series.total().0 <= device.series.total().0 * (1.0 + 1e-12), "{what}");
            continue;
        }
        for (number, (some, all)) in some.iter().zip(&all).enumerate() {
            assert_eq!((some.0, some.1), (all.0, all.1), "{what}: point {number} of {}", metered.device);
        }
    }
    for (some, all) in recording(part).balance.iter().zip(&recording(whole).balance) {
        let within = |some: f64, all: f64| assert!(some <= all * (1.0 + 1e-12) + 1e-12, "{what}: {some} {all}");
        within(some.energy.0, all.energy.0);
        if let (Some(some_parts), Some(all)) = (some.parts, all.parts) {
            within(some_parts.ours.0, all.ours.0);
            within(some_parts.others.0, all.others.0);
            within(some_parts.idle.0, all.idle.0);
            let sum = some_parts.ours + some_parts.others + some_parts.idle + some_parts.unknown;
            assert!((sum.0 - some.energy.0).abs() <= 1e-9 * some.energy.0 + 1e-12, "{what}");
        }
    }
}

#[test]
fn a_journal_that_is_cut_anywhere_gives_a_part_of_the_run() {
    jouletree_model::silence_guarded_panics();
    let folder = tempfile::tempdir().unwrap();
    let (_, whole) = journal(folder.path(), 5, 6, 2);
    let run = folder.path().join("run");
    for name in FILES {
        let length = fs::metadata(folder.path().join(format!("journal/journal/{name}.arrows"))).unwrap().len();
        // The reader's own test cuts at every byte; here a prime step visits all parts of a message.
        for cut in (0..length).step_by(101).chain([length]) {
            copy(&folder.path().join("journal"), &run);
            let file =
                fs::OpenOptions::new().write(true).open(run.join(format!("journal/{name}.arrows"))).unwrap();
            file.set_len(cut).unwrap();
            drop(file);
            let what = format!("{name} cut at {cut}");
            let opened = RunFolder::open(&run).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_part_of(&opened, &whole, &what);
            assert!(!recording(&opened).complete && recording(&opened).exit.is_none());
            fs::remove_dir_all(&run).unwrap();
        }
        copy(&folder.path().join("journal"), &run);
        fs::remove_file(run.join(format!("journal/{name}.arrows"))).unwrap();
        let opened = RunFolder::open(&run).unwrap();
        assert_part_of(&opened, &whole, name);
        let is_reported = opened.manifest().warnings.iter().any(|warning| warning.source.contains(name));
        assert!(is_reported, "{name}: {:?}", opened.manifest().warnings);
        fs::remove_dir_all(&run).unwrap();
    }
}

/// The tables of a run by name.
fn tables(run: &Path) -> Vec<(String, Vec<u8>)> {
    let names = names_in(run).into_iter().filter(|name| name.ends_with(".parquet"));
    names.map(|name| (name.clone(), fs::read(run.join(name)).unwrap())).collect()
}

#[test]
fn finishing_can_be_stopped_anywhere_and_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let (_, whole) = journal(folder.path(), 9, 20, 3);
    let wanted = tables(whole.path());
    let names: Vec<String> = wanted.iter().map(|(name, _)| name.clone()).collect();
    for stop in 0..=2 * names.len() + 2 {
        let run = folder.path().join(format!("run{stop}"));
        copy(&folder.path().join("journal"), &run);
        // Half of a table, all of it, or moved to its place already.
        for (number, (name, bytes)) in wanted.iter().enumerate() {
            if stop > number {
                fs::write(run.join("journal").join(name), &bytes[..bytes.len() / (1 + stop % 2)]).unwrap();
            }
            if stop > names.len() + number {
                fs::rename(run.join("journal").join(name), run.join(name)).unwrap();
            }
        }
        fs::write(run.join("journal/manifest.partial"), "{\"format").unwrap();
        if stop > 2 * names.len() {
            fs::copy(whole.path().join("manifest.json"), run.join("journal/manifest.json")).unwrap();
        }
        if stop > 2 * names.len() + 1 {
            fs::rename(run.join("journal/manifest.json"), run.join("manifest.json")).unwrap();
        }
        RunFolder::open(&run).unwrap();
        assert!(tables(&run) == wanted, "stopped at {stop}");
        assert_eq!(names_in(&run), names_in(whole.path()), "stopped at {stop}");
    }
}

/// Not a test of its own: the recorder that the next test kills.
#[test]
#[ignore = "it is started by a_recorder_that_is_killed_loses_at_most_a_batch"]
fn recorder() {
    let Some(run) = std::env::var_os("JOULETREE_TEST_RUN") else { return };
    let sensors = sensors();
    let header = header(&sensors);
    let batches = batches(13, 600, anchor(&header));
    let mut writer = jouletree_run::JournalWriter::create(Path::new(&run), &header).unwrap();
    for batch in &batches {
        writer.append(batch).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_recorder_that_is_killed_loses_at_most_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut recorder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "recovery::recorder", "--ignored"])
        .env("JOULETREE_TEST_RUN", &run)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let samples = run.join("journal/samples.arrows");
    let deadline = Instant::now() + Duration::from_secs(60);
    // Until two messages are there.
    let length = || fs::metadata(&samples).map_or(0, |file| file.len());
    let (mut seen, mut grown) = (length(), 0);
    while grown < 3 {
        assert!(Instant::now() < deadline, "the recorder writes nothing");
        std::thread::sleep(Duration::from_millis(20));
        grown += u32::from(length() > seen);
        seen = seen.max(length());
    }
    let error = RunFolder::open(&run).unwrap_err();
    let wanted = format!("still being recorded by process {}", recorder.id());
    assert!(error.to_string().contains(&wanted), "{error}");
    assert!(matches!(error, RunError::StillRecording { .. }) && run.join("journal").exists());
    recorder.kill().unwrap();
    // It has ended although nothing has noticed yet; its files are closed a moment later.
    let opened = loop {
        match RunFolder::open(&run) {
            Err(RunError::StillRecording { .. }) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => break opened.unwrap(),
        }
    };
    recorder.wait().unwrap();
    let recording = recording(&opened);
    assert!(recording.samples >= 125 && recording.samples.is_multiple_of(125), "{}", recording.samples);
    assert!(recording.balance[0].energy.0 > 0.0);
    let warning = &opened.manifest().warnings[0].message;
    assert!(warning.starts_with("the recorder was cut off"), "{warning}");
}

/// A disk of so many kilobytes, where this is permitted.
struct Disk(tempfile::TempDir);

impl Disk {
    fn of(size: &str) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", size, "jouletree-test"]).arg(folder.path()).stderr(Stdio::null());
        let mounted = mount.status().is_ok_and(|status| status.success());
        mounted.then_some(Disk(folder))
    }

    fn resize(&self, size: &str) {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{size}")]).arg(self.0.path());
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_folder_that_was_removed_is_not_said_to_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let sensors = sensors();
    let header = header(&sensors);
    let mut writer = jouletree_run::JournalWriter::create(&run, &header).unwrap();
    for batch in &batches(5, 3, anchor(&header)) {
        writer.append(batch).unwrap();
    }
    fs::remove_dir_all(&run).unwrap();
    let error = writer.finish(&ending(&sensors), None).unwrap_err();
    assert!(matches!(error, RunError::Gone { .. }), "{error}");
    assert!(!run.exists() && !error.to_string().contains("kept"), "{error}");
}

#[test]
fn a_full_disk_costs_what_does_not_fit_and_nothing_else() {
    let Some(disk) = Disk::of("size=160k") else {
        println!("skipped: a file system cannot be mounted here");
        return;
    };
    let run = disk.0.path().join("run");
    let sensors = sensors();
    let header = header(&sensors);
    let batches = batches(21, 2000, anchor(&header));
    let mut writer = jouletree_run::JournalWriter::create(&run, &header).unwrap();
    let mut written = 0;
    let error = batches.iter().find_map(|batch| {
        let appended = writer.append(batch).and_then(|()| writer.flush()).err();
        written += u64::from(appended.is_none());
        appended
    });
    let error = error.unwrap();
    assert!(error.to_string().contains("free some space on its disk"), "{error}");
    assert!(written > 3, "{written}");
    assert!(matches!(writer.append(&batches[0]), Err(RunError::JournalEnded(_))));
    let error = writer.finish(&ending(&sensors), Some(Exit { code: Some(1), signal: None })).unwrap_err();
    assert!(error.to_string().contains("the recording is kept") && error.to_string().contains("jouletree show"));
    assert!(matches!(recover(&run), Err(RunError::Unfinished { .. })), "there is still no space");

    disk.resize("size=4m");
    let opened = RunFolder::open(&run).unwrap();
    let found = recording(&opened).samples;
    assert!(found == written * 125 || found == (written + 1) * 125, "{found} samples of {written} batches");
    assert!(!run.join("journal").exists());
}
