//! The calls that the processes of a run recorded, and the tables of sites of the files that were patched for them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use jouletree_model::{Call, CallSite, CallStability, Calls, Nanos, TimeRange, Warning};
use jouletree_run::read_file;
use serde::Deserialize;

use super::noted::rows;

/// The table of a process.
pub const CALLS: &str = "calls.csv";
/// The folder, beside those of processes, with patched files and their sites.
pub const PATCHED: &str = "patched";

/// A row of the table: written when the call ended, so that calls inside it come above it.
#[derive(Deserialize)]
struct Row {
    call: u64,
    /// The call inside which it was made; 0 for none.
    parent: u64,
    file: String,
    site: usize,
    thread: u64,
    start_ns: i64,
    end_ns: i64,
    argument_bytes: Option<u64>,
    shapes: String,
    result_bytes: Option<u64>,
    /// Empty where it was not held back.
    waited_ns: Option<i64>,
    /// Why the machine was not stable; empty where it was.
    unstable: String,
}

/// A table of sites, as far as it is needed.
#[derive(Deserialize)]
struct Listing {
    files: Vec<PatchedFile>,
}

#[derive(Deserialize)]
struct PatchedFile {
    file: String,
    digest: String,
    sites: Vec<Site>,
}

#[derive(Deserialize)]
struct Site {
    /// Of a notebook, in which lines are those of a cell.
    #[serde(default)]
    cell: Option<u32>,
    line: u32,
    col: u32,
    name: String,
}

/// Gathers the calls of all processes below `folder`.
pub fn gather(folder: &Path) -> (Calls, Vec<Warning>) {
    let mut warnings = Vec::new();
    let files = patched_files(&folder.join(PATCHED), &mut warnings);
    let mut read: Vec<(usize, Row)> = Vec::new();
    for (process, entry) in fs::read_dir(folder).into_iter().flatten().flatten().enumerate() {
        let table = entry.path().join(CALLS);
        if table.is_file() {
            read.extend(rows::<Row>(&table, &mut warnings).into_iter().map(|row| (process, row)));
        }
    }
    // A clock that is set back must not lose a call.
    read.retain(|(_, row)| row.end_ns >= row.start_ns);
    read.sort_by_key(|(process, row)| (row.start_ns, *process, row.call));
    let mut calls = Calls::default();
    let (mut sites, mut places, mut numbers) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut unknown = 0_usize;
    for (process, row) in read {
        let Some(file) = files.get(&row.file) else {
            unknown += 1;
            continue;
        };
        let Some(site) = file.sites.get(row.site) else {
            unknown += 1;
            continue;
        };
        let place = *sites.entry((&file.file, row.site)).or_insert_with(|| {
            let cell = site.cell.map(|cell| format!(":cell {cell}")).unwrap_or_default();
            calls.push_site(CallSite {
                file: format!("{}{cell}", file.file).into(),
                line: site.line,
                column: site.col,
                name: site.name.as_str().into(),
            })
        });
        let number = numbers.entry(place).or_insert(0_u64);
        *number += 1;
        let call = Call {
            site: place,
            number: *number,
            thread: row.thread,
            parent: places.get(&(process, row.parent)).copied(),
            range: TimeRange { start: Nanos(row.start_ns), end: Nanos(row.end_ns) },
            argument_bytes: row.argument_bytes,
            shapes: row.shapes.into(),
            result_bytes: row.result_bytes,
            waited: Nanos(row.waited_ns.unwrap_or(0)),
            stability: match (row.waited_ns, row.unstable.as_str()) {
                (None, _) => CallStability::NotAsked,
                (Some(_), "") => CallStability::Stable,
                (Some(_), why) => CallStability::Unstable(why.into()),
            },
        };
        match calls.push(call) {
            Ok(index) => {
                places.insert((process, row.call), index);
            }
            Err(error) => warnings.push(Warning::new("calls", error.to_string())),
        }
    }
    if unknown > 0 {
        let message = format!("{unknown} calls are of files whose sites are not known; they are left out");
        warnings.push(Warning::new("calls", message));
    }
    (calls, warnings)
}

/// The files that were patched, by their digests.
fn patched_files(folder: &Path, warnings: &mut Vec<Warning>) -> HashMap<String, PatchedFile> {
    let mut files = HashMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(patched) = path.to_str().and_then(|path| path.strip_suffix(".sites.json")) else { continue };
        let listing = read_file(&path).ok().and_then(|text| serde_json::from_slice::<Listing>(&text).ok());
        // The table knows the name of the file, the process that loaded it where it is.
        let place = text(Path::new(&format!("{patched}.path"))).filter(|place| !place.is_empty());
        let placed = |file: PatchedFile| PatchedFile { file: place.clone().unwrap_or(file.file), ..file };
        match listing {
            Some(listing) => {
                files.extend(listing.files.into_iter().map(|file| (file.digest.clone(), placed(file))))
            }
            None => {
                warnings.push(Warning::new(path.display().to_string(), "cannot be read; its calls are left out"))
            }
        }
    }
    files
}

/// The program's files as they were when they ran, by the names that sites have: the file itself may have changed since, or
/// be on another machine.
pub fn sources(run: &Path) -> HashMap<String, String> {
    let mut sources = HashMap::new();
    for entry in fs::read_dir(run.join(PATCHED)).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(patched) = path.to_str().and_then(|path| path.strip_suffix(".path")) else { continue };
        let original = read_file(Path::new(patched)).ok().and_then(|text| unpatched(&text));
        if let (Some(file), Some(original)) = (text(&path), original) {
            sources.insert(file, String::from_utf8_lossy(&original).into_owned());
        }
    }
    sources
}

#[cfg(feature = "patch")]
fn unpatched(text: &[u8]) -> Option<Vec<u8>> {
    jouletree_patch::unpatched_script(text).ok()
}

#[cfg(not(feature = "patch"))]
fn unpatched(_text: &[u8]) -> Option<Vec<u8>> {
    None
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(read_file(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_find_their_sites_and_those_around_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let site = |line, name| format!(r#"{{"line": {line}, "col": 0, "name": "{name}", "instrumented": true}}"#);
        let sites = format!("{}, {}", site(3, "lib.outer"), site(4, "lib.inner"));
        write(
            "patched/a.py.sites.json",
            &format!(r#"{{"files": [{{"file": "a.py", "digest": "d", "sites": [{sites}]}}]}}"#),
        );
        write("patched/a.py.path", "src/a.py");
        let header =
            "call,parent,file,site,thread,start_ns,end_ns,argument_bytes,shapes,result_bytes,waited_ns,unstable\n";
        // The inner call ended first; one is of a file that is unknown; the last row was cut off.
        write(
            "7-1/calls.csv",
            &format!(
                "{header}2,1,d,1,9,20,30,8,\"(2,) f\",,,\n1,0,d,0,9,10,40,,,4,7,hot\n3,0,x,0,9,50,60,,,,,\n4,0,d"
            ),
        );
        let (calls, warnings) = gather(folder.path());
        let found: Vec<(&str, Option<usize>, i64)> = calls
            .calls()
            .iter()
            .map(|call| (&*calls.site_of(call).unwrap().name, call.parent, call.range.start.0))
            .collect();
        assert_eq!(found, [("lib.outer", None, 10), ("lib.inner", Some(0), 20)]);
        assert!(calls.sites().iter().all(|site| &*site.file == "src/a.py"));
        assert_eq!((calls.calls()[1].argument_bytes, &*calls.calls()[1].shapes), (Some(8), "(2,) f"));
        assert_eq!(calls.calls()[0].stability, CallStability::Unstable("hot".into()));
        assert_eq!(calls.calls()[1].stability, CallStability::NotAsked);
        assert!(warnings.iter().any(|warning| warning.message.contains("1 calls are of files")), "{warnings:?}");
    }
}
