//! Calls of a run come back as they were written, and damage is reported rather than believed.

use crate::sample;

use jouletree_model::{Call, CallSite, CallStability, Calls, Nanos, TimeRange};
use jouletree_run::RunFolder;
use proptest::prelude::*;

fn call(site: usize, number: u64, start: i64, end: i64, parent: Option<usize>) -> Call {
    Call {
        site,
        number,
        thread: 7,
        parent,
        range: TimeRange { start: Nanos(start), end: Nanos(end) },
        argument_bytes: Some(47_040_000),
        shapes: "(60000, 28, 28) uint8".into(),
        result_bytes: None,
        waited: Nanos(3),
        stability: CallStability::Unstable("host/gpu:0: 68.0 W".into()),
    }
}

fn calls() -> Calls {
    let mut calls = Calls::default();
    for (line, name) in [(3, "tensorflow.keras.Sequential.fit"), (9, "tensorflow.data.Dataset.map")] {
        calls.push_site(CallSite { file: "a \"train\".py".into(), line, column: 4, name: name.into() });
    }
    calls.push(call(0, 1, 100, 900, None)).unwrap();
    calls.push(Call { stability: CallStability::Stable, ..call(1, 1, 200, 300, Some(0)) }).unwrap();
    let last = Call { stability: CallStability::NotAsked, argument_bytes: None, ..call(1, 2, 300, 300, Some(0)) };
    calls.push(Call { result_bytes: Some(u64::MAX), shapes: "".into(), ..last }).unwrap();
    calls
}

fn run(folder: &tempfile::TempDir) -> RunFolder {
    RunFolder::create(&folder.path().join("run"), &sample::run().contents()).unwrap()
}

#[test]
fn calls_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(&folder);
    assert!(run.read_calls().unwrap().is_empty());
    run.write_calls(&calls()).unwrap();
    let opened = RunFolder::open(run.path()).unwrap();
    assert_eq!(opened.read_calls().unwrap(), calls());
    // Written again, they are replaced, and nothing is left lying about.
    let mut fewer = Calls::default();
    fewer.push_site(calls().sites()[0].clone());
    run.write_calls(&fewer).unwrap();
    assert_eq!(run.read_calls().unwrap(), fewer);
    let names = std::fs::read_dir(run.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!names.into_iter().any(|name| name.to_string_lossy().starts_with('.')));
}

#[test]
fn damage_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(&folder);
    run.write_calls(&calls()).unwrap();
    // The sites of another run: calls name one that is not there.
    let other = tempfile::tempdir().unwrap();
    let other = self::run(&other);
    other.write_calls(&Calls::default()).unwrap();
    std::fs::copy(other.path().join("sites.parquet"), run.path().join("sites.parquet")).unwrap();
    let error = run.read_calls().unwrap_err().to_string();
    assert!(error.contains("calls.parquet: row 0: site 0 is not one of the 0"), "{error}");
    std::fs::remove_file(run.path().join("sites.parquet")).unwrap();
    assert!(run.read_calls().unwrap_err().to_string().contains("sites.parquet"));
    std::fs::write(run.path().join("sites.parquet"), b"PAR1 and no more").unwrap();
    assert!(run.read_calls().unwrap_err().to_string().contains("not a whole Parquet file"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_calls_come_back(
        made in proptest::collection::vec((any::<u64>(), 0..1_000_i64, 0..1_000_i64, any::<Option<u64>>(), ".*"), 0..50),
    ) {
        let mut calls = Calls::default();
        calls.push_site(CallSite { file: "f".into(), line: u32::MAX, column: 0, name: "n".into() });
        let mut start = i64::MIN / 2;
        for (number, step, length, bytes, shapes) in made {
            start += step;
            let parent = calls.calls().len().checked_sub(1).filter(|_| number % 2 == 0);
            let made = Call { argument_bytes: bytes, shapes: shapes.into(), ..call(0, number, start, start + length, parent) };
            calls.push(made).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let run = run(&folder);
        run.write_calls(&calls).unwrap();
        prop_assert_eq!(run.read_calls().unwrap(), calls);
    }
}
