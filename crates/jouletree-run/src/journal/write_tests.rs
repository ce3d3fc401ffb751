//! What is written is read, up to any cut and on any disk.

use std::fs::{self, OpenOptions};

use jouletree_model::sampling::{Flags, Mono, Sample};
use jouletree_model::silence_guarded_panics;

use super::super::{JOURNAL, StreamIn};
use super::*;

fn sample(number: u64) -> Sample {
    let at = Mono(1_000_000_000 + number as i64 * 4_000_000);
    Sample { sensor: (number % 3) as u16, flags: Flags((number % 16) as u16), at, count: number * number * 977 }
}

fn read(run: &Path) -> (Vec<Sample>, Option<String>) {
    let mut stream = StreamIn::<Sample>::open(run);
    let mut rows = Vec::new();
    while let Some(more) = stream.next() {
        rows.extend(more);
    }
    (rows, stream.warning(run).map(|warning| warning.to_string()))
}

/// A folder with a journal of some messages, and where each of them ends: rows and bytes.
fn journal(messages: &[u64]) -> (tempfile::TempDir, Vec<(u64, u64)>) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(JOURNAL)).unwrap();
    let mut stream = StreamOut::<Sample>::create(folder.path()).unwrap();
    let mut ends = vec![(0, stream.whole)];
    for rows in messages {
        let first = stream.written();
        stream.add((first..first + rows).map(sample));
        stream.flush().unwrap();
        ends.push((stream.written(), stream.whole));
    }
    (folder, ends)
}

#[test]
fn rows_come_back_bit_for_bit() {
    let (folder, ends) = journal(&[1, 250, 3, MOST_ROWS as u64 + 7]);
    let (rows, warning) = read(folder.path());
    let written = ends.last().unwrap().0;
    assert_eq!(rows, (0..written).map(sample).collect::<Vec<_>>());
    assert_eq!(warning, None);
}

/// At whatever byte a file ends, it gives the messages before, and the cut is reported.
#[test]
fn a_file_that_is_cut_gives_what_is_whole() {
    silence_guarded_panics();
    let (folder, ends) = journal(&[5, 40, 1]);
    let file = Sample::file(folder.path());
    let whole = fs::read(&file).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&file, &whole[..cut]).unwrap();
        let (rows, warning) = read(folder.path());
        let before = ends.iter().rfind(|(_, end)| *end <= cut as u64);
        let (wanted, start) = before.copied().unwrap_or_default();
        assert_eq!(rows, (0..wanted).map(sample).collect::<Vec<_>>(), "cut at {cut}");
        assert_eq!(warning.is_some(), start != cut as u64, "cut at {cut}: {warning:?}");
    }
}

/// A byte that changed may cost rows; it must not cost the process.
#[test]
fn a_file_that_is_damaged_does_no_harm() {
    silence_guarded_panics();
    let (folder, _) = journal(&[5, 40]);
    let file = Sample::file(folder.path());
    let whole = fs::read(&file).unwrap();
    for place in 0..whole.len() {
        for value in [0, 0xff, 0x80, whole[place] ^ 1] {
            let mut damaged = whole.clone();
            damaged[place] = value;
            fs::write(&file, &damaged).unwrap();
            assert!(read(folder.path()).0.len() <= 45, "byte {place} is {value}");
        }
    }
    fs::remove_file(&file).unwrap();
    let (rows, warning) = read(folder.path());
    assert!(rows.is_empty() && warning.unwrap().contains("no samples of this recording are known"));
}

/// Rows that a full disk refuses go on waiting.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told() {
    let full = || OpenOptions::new().append(true).open("/dev/full").unwrap();
    let error = StreamOut::<Sample>::over(full(), PathBuf::from("full")).err().unwrap();
    assert!(error.to_string().contains("full: cannot write the journal; free some space"), "{error}");

    let (folder, _) = journal(&[]);
    let mut stream =
        StreamOut::<Sample>::over(File::create(folder.path().join("other")).unwrap(), PathBuf::from("full"))
            .unwrap();
    stream.file = full();
    stream.add((0..10).map(sample));
    assert!(stream.flush().is_err());
    assert_eq!((stream.waiting(), stream.written()), (10, 0));
    assert!(stream.messages.get_ref().is_empty());
}
