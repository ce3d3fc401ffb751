//! Where the data is: files distinguished by their content, and folders of them.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::{FecomData, FecomError, FecomKind, FecomProblem, read_experiment, read_fecom_rows, read_raw_trace};

/// Nothing that the study published is a hundredth of this.
const MOST: u64 = 1 << 31;
/// How gzip begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Tables that belong together.
const TABLES: [&str; 3] = ["method_level", "project_level", "data_size"];
/// How deep a folder of experiments is: kind, category, script.
const DEEP: usize = 4;

/// Whether this may be data of FECoM, rather than a run.
pub fn is_fecom(path: &Path) -> bool {
    path.is_file() || !files_in(path).is_empty()
}

/// Reads a file, or what belongs together in a folder.
pub fn read_fecom(path: &Path) -> Result<FecomData, FecomError> {
    let mut data = FecomData::default();
    if !path.is_dir() {
        read_file(path, &mut data)?;
        return Ok(data);
    }
    let files = files_in(path);
    if files.is_empty() {
        return Err(FecomError::whole(&path.display().to_string(), FecomProblem::EmptyFolder));
    }
    files.iter().try_for_each(|file| read_file(file, &mut data))?;
    Ok(data)
}

fn read_file(path: &Path, data: &mut FecomData) -> Result<(), FecomError> {
    let source = path.display().to_string();
    let bytes = content(path)?;
    let kind = kind_of(path);
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let header = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let header = String::from_utf8_lossy(header);
    let has = |columns: &[&str]| columns.iter().all(|column| header.trim().split(',').any(|name| name == *column));
    match first {
        Some(b'[') => {
            let (project, experiment) = (project_of(path), number_of(path));
            data.records.extend(read_experiment(&source, &bytes, &project, experiment, kind)?);
        }
        _ if has(&["project", "function", "device", "net_j"]) => {
            data.rows.extend(read_fecom_rows(&source, &bytes, kind)?);
        }
        _ if has(&["device", "time_s", "value"]) => {
            let times = times_beside(path);
            let name = times.display().to_string();
            if !times.is_file() {
                return Err(FecomError::whole(&source, FecomProblem::NoTimes(name)));
            }
            let times = content(&times)?;
            data.records.extend(read_raw_trace(&source, &bytes, &name, &times, &stem(path))?);
        }
        _ => return Err(FecomError::whole(&source, FecomProblem::Unknown)),
    }
    Ok(())
}

/// A file's bytes, unpacked.
fn content(path: &Path) -> Result<Vec<u8>, FecomError> {
    let wrong = |problem: FecomProblem| FecomError::whole(&path.display().to_string(), problem);
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes));
    read.map_err(|error| wrong(error.into()))?;
    if bytes.starts_with(&GZIP) {
        let mut plain = Vec::new();
        let unpacked = MultiGzDecoder::new(bytes.as_slice()).take(MOST + 1).read_to_end(&mut plain);
        unpacked.map_err(|error| wrong(error.into()))?;
        bytes = plain;
    }
    if bytes.len() as u64 > MOST {
        return Err(wrong(FecomProblem::TooLarge(MOST)));
    }
    Ok(bytes)
}

/// What a folder holds: the tables that belong together, or experiments in FECoM's layout.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let table = |name: &str| [".csv", ".csv.gz"].map(|end| folder.join(format!("{name}{end}")));
    let tables: Vec<PathBuf> = TABLES.into_iter().flat_map(table).filter(|file| file.is_file()).collect();
    if !tables.is_empty() {
        return tables;
    }
    let mut files = Vec::new();
    experiments(folder, DEEP, &mut files);
    files.sort_by_key(|file| (file.parent().map(Path::to_owned), number_of(file)));
    files
}

fn experiments(folder: &Path, deep: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && deep > 0 {
            experiments(&path, deep - 1, found);
        } else if name.starts_with("experiment-") && name.ends_with(".json") {
            found.push(path);
        }
    }
}

/// The layout shows only by names what calls are part of.
fn kind_of(path: &Path) -> FecomKind {
    let names = path.iter().rev().take(DEEP).map(|name| name.to_string_lossy().replace('-', "_"));
    let kind = |name: String| match name.split('.').next() {
        Some("data_size") => Some(FecomKind::Size),
        Some("project_level") => Some(FecomKind::Project),
        Some("method_level") => Some(FecomKind::Method),
        _ => None,
    };
    names.filter_map(kind).next().unwrap_or(FecomKind::Method)
}

/// `category/script`, from the folders around an experiment.
fn project_of(path: &Path) -> String {
    let parents: Vec<String> =
        path.iter().rev().skip(1).take(2).map(|name| name.to_string_lossy().into_owned()).collect();
    match parents.as_slice() {
        [script, category] => format!("{category}/{script}"),
        _ => stem(path),
    }
}

/// The number in `experiment-7.json`.
fn number_of(path: &Path) -> u32 {
    let stem = stem(path);
    let digits = stem.rsplit(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(1)
}

/// A file's name without its endings.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

fn times_beside(path: &Path) -> PathBuf {
    path.with_file_name(format!("{}.json", stem(path)))
}
