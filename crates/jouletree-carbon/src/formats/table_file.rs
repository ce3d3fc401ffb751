//! Rows at the end of a table that others write to, too: under a lock, whole or not at all, and never renamed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jouletree_host::whole::PartialFile;

use super::Cell;

/// What is done with a row whose run has one already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is one more row.
    Append,
    /// It takes the place of the row with the same value in this column.
    Update(&'static str),
}

/// Where a row went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// What the user should know.
    pub warning: Option<String>,
}

/// Why a row was not written. Nothing of it is in the file.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The system refuses.
    #[error("{}: the row was not written: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file is no table.
    #[error("{}: it is no table ({why}), and nothing was added to it; move it away", path.display())]
    NoTable {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

/// Writes a row to a table, which is made if there is none.
///
/// A table with other columns stays as it is, and the row goes to one beside it, and the user gets a warning.
pub fn write_row(path: &Path, row: &[(&'static str, Cell)], mode: Mode) -> Result<Written, TableError> {
    match write_to(path, row, mode)? {
        true => Ok(Written { path: path.to_owned(), warning: None }),
        false => {
            let beside = path.with_extension("jouletree.csv");
            let warning = format!(
                "{} has other columns and was left as it is: the row is in {}",
                path.display(),
                beside.display()
            );
            match write_to(&beside, row, mode)? {
                true => Ok(Written { path: beside, warning: Some(warning) }),
                false => Err(TableError::NoTable { path: beside, why: "it has other columns, too".to_owned() }),
            }
        }
    }
}

/// The same for exactly this file; false when it has other columns.
fn write_to(path: &Path, row: &[(&'static str, Cell)], mode: Mode) -> Result<bool, TableError> {
    let refused = |error: io::Error| TableError::Io { path: path.to_owned(), error };
    let mut file = locked(path).map_err(refused)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(refused)?;
    let wrong = |error: csv::Error| TableError::NoTable { path: path.to_owned(), why: error.to_string() };
    if text.trim().is_empty() {
        let header: Vec<&str> = row.iter().map(|(column, _)| *column).collect();
        let lines = format!("{}{}", line(header), line(row.iter().map(|(_, cell)| cell.text())));
        return replace_end(&mut file, 0, &lines).map(|()| true).map_err(refused);
    }
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().map_err(wrong)?.clone();
    let columns: Option<Vec<&Cell>> =
        header.iter().map(|name| row.iter().find(|(column, _)| *column == name).map(|(_, cell)| cell)).collect();
    let Some(columns) = columns.filter(|columns| columns.len() == row.len()) else { return Ok(false) };
    let added = line(columns.iter().map(|cell| cell.text()));
    if let Mode::Update(key) = mode {
        let place = header.iter().position(|name| name == key);
        let value = row.iter().find(|(column, _)| *column == key).map(|(_, cell)| cell.text());
        let records = reader.records().collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let is_old = |record: &csv::StringRecord| place.and_then(|place| record.get(place)) == value.as_deref();
        if records.iter().any(is_old) {
            let kept = records.iter().filter(|record| !is_old(record)).map(|record| line(record.iter()));
            let whole = line(header.iter()) + &kept.collect::<String>() + &added;
            return replace_whole(path, &file, &whole).map(|()| true).map_err(refused);
        }
    }
    // Who wrote the last line may not have ended it.
    let added = if text.ends_with('\n') { added } else { format!("\n{added}") };
    replace_end(&mut file, text.len() as u64, &added).map(|()| true).map_err(refused)
}

/// A line of a table.
fn line(cells: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _ = writer.write_record(cells);
    String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
}

/// The file, which no other process may write while this lives: not one that has been replaced while its lock was waited for.
fn locked(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::other("it is no file"));
    }
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.lock()?;
        let (ours, there) = (file.metadata()?, std::fs::metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
            return Ok(file);
        }
    }
}

/// Writes at the end, all of it or nothing: a full disk must not leave half a row.
fn replace_end(file: &mut File, end: u64, text: &str) -> io::Result<()> {
    let written = file
        .seek(SeekFrom::Start(end))
        .and_then(|_| file.write_all(text.as_bytes()))
        // Of blanks that stood here, nothing is left behind it.
        .and_then(|()| file.set_len(end + text.len() as u64))
        .and_then(|()| file.sync_data());
    if written.is_err() {
        let _ = file.set_len(end);
    }
    written
}

/// Puts a new file in the place of this one.
fn replace_whole(path: &Path, old: &File, text: &str) -> io::Result<()> {
    // Of a link, what it leads to is replaced, and the link stays.
    let path = &std::fs::canonicalize(path)?;
    let partial = PartialFile::beside(path).map_err(io::Error::from)?;
    partial.write(text.as_bytes()).map_err(io::Error::from)?;
    partial.file().set_permissions(old.metadata()?.permissions())?;
    partial.become_whole().map_err(io::Error::from)
}

/// Writes a row; where it cannot be written, the warning has the row, so that nothing is lost.
pub fn write_row_or_report(
    path: &Path,
    row: &[(&'static str, Cell)],
    mode: Mode,
    warnings: &mut Vec<String>,
) -> Option<PathBuf> {
    match write_row(path, row, mode) {
        Ok(written) => {
            warnings.extend(written.warning);
            Some(written.path)
        }
        Err(error) => {
            let cells: Vec<String> = row.iter().map(|(_, cell)| cell.text()).collect();
            warnings.push(format!("{error}; the row is: {}", cells.join(",")));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn row(run: &str, energy: f64) -> Vec<(&'static str, Cell)> {
        vec![("run_id", Cell::Text(run.to_owned())), ("energy", Cell::Number(energy)), ("place", Cell::Empty)]
    }

    #[test]
    fn rows_are_appended_in_the_order_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("emissions.csv");
        std::fs::write(&path, "energy,place,run_id\n1.5,here,a").unwrap();
        assert_eq!(write_row(&path, &row("b", 2.0), Mode::Append).unwrap().warning, None);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "energy,place,run_id\n1.5,here,a\n2.0,,b\n");
    }

    #[test]
    fn a_run_has_one_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("emissions.csv");
        for (run, energy) in [("a", 1.0), ("b", 2.0), ("a", 3.0)] {
            write_row(&path, &row(run, energy), Mode::Update("run_id")).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "run_id,energy,place\nb,2.0,\na,3.0,\n");
    }

    #[test]
    fn a_link_to_a_table_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (table, link) = (folder.path().join("table.csv"), folder.path().join("emissions.csv"));
        std::os::unix::fs::symlink(&table, &link).unwrap();
        for energy in [1.0, 2.0] {
            write_row(&link, &row("a", energy), Mode::Update("run_id")).unwrap();
        }
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&table).unwrap(), "run_id,energy,place\na,2.0,\n");
    }

    #[test]
    fn a_table_with_other_columns_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("emissions.csv");
        std::fs::write(&path, "run_id,other\na,b\n").unwrap();
        let written = write_row(&path, &row("b", 2.0), Mode::Append).unwrap();
        assert_eq!(written.path, folder.path().join("emissions.jouletree.csv"));
        assert!(written.warning.is_some());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "run_id,other\na,b\n");
    }

    #[test]
    fn blanks_are_no_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("emissions.csv");
        std::fs::write(&path, "\n \n".repeat(1000)).unwrap();
        write_row(&path, &row("a", 1.0), Mode::Append).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "run_id,energy,place\na,1.0,\n");
    }

    #[test]
    fn many_write_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("emissions.csv");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..20 {
                        let run = format!("{writer}-{number}");
                        let mode = if writer % 2 == 0 { Mode::Append } else { Mode::Update("run_id") };
                        write_row(path, &row(&run, 1.0), mode).unwrap();
                        write_row(path, &row(&run, 2.0), Mode::Update("run_id")).unwrap();
                    }
                });
            }
        });
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let runs: std::collections::BTreeSet<String> =
            reader.records().map(|row| row.unwrap()[0].to_owned()).collect();
        assert_eq!(runs.len(), 160);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 161);
    }
}
