//! Damaged runs. Alone in its binary, because it silences the panic messages of the Parquet reader.

use crate::sample;

use std::fs;
use std::path::Path;

use jouletree_run::RunFolder;

/// Reads everything; errors are fine, panics and hangs are not.
fn read_all(path: &Path) -> bool {
    let Ok(run) = RunFolder::open(path) else { return false };
    let parts = [
        run.read_trace(1).map(drop),
        run.read_footprint().map(drop),
        run.read_power().map(drop),
        run.read_model().map(drop),
    ];
    parts.into_iter().all(|part| part.is_ok())
}

#[test]
fn no_damage_makes_it_panic() {
    let folder = tempfile::tempdir().unwrap();
    let (path, run) = (folder.path().join("run"), sample::run());
    RunFolder::create(&path, &run.contents()).unwrap();
    for entry in fs::read_dir(&path).unwrap() {
        let file = entry.unwrap().path();
        let name = file.display();
        let whole = fs::read(&file).unwrap();
        for end in (0..whole.len()).step_by(whole.len().div_ceil(50)) {
            fs::write(&file, &whole[..end]).unwrap();
            assert!(!read_all(&path) || end + 1 == whole.len(), "{name} cut at {end} was believed");
        }
        for position in (0..whole.len()).step_by(whole.len().div_ceil(150)) {
            let mut damaged = whole.clone();
            damaged[position] ^= 1 << (position % 8);
            fs::write(&file, &damaged).unwrap();
            read_all(&path);
            damaged[position] = 0xff;
            fs::write(&file, &damaged).unwrap();
            read_all(&path);
        }
        fs::write(&file, &whole).unwrap();
    }
    assert!(read_all(&path));
}
