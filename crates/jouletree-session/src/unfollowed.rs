//! Python processes of a run that do not load jouletree's package: their operations are not recorded, and the user learns
//! why and what to do about it.
//!
//! The recorder knows the processes of the tree. The environment and the arguments with which a Python was started say
//! whether it loads the package. One that does not is reported when it has loaded a framework, so that no other Python
//! raises a false alarm. A process that is followed is looked at once and costs nothing after that.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

/// How often processes are looked at; trees with more processes than [`FEW`], less often.
const LOOK: Duration = Duration::from_millis(250);
const SELDOM: Duration = Duration::from_secs(1);
const FEW: usize = 16;
/// So much of a file of `/proc` is read.
const MOST_BYTES: u64 = 4 << 20;
/// So many are reported: further processes of the same program are like these.
const MOST_REPORTED: usize = 4;

/// Files that a process has mapped when it has loaded a framework.
const FRAMEWORKS: [(&str, &str); 6] = [
    ("/libtorch_cpu", "PyTorch"),
    ("/libtorch_python", "PyTorch"),
    ("/_pywrap_tensorflow", "TensorFlow"),
    ("/libtensorflow", "TensorFlow"),
    ("/jaxlib/", "JAX"),
    ("/onnxruntime_pybind11", "ONNX Runtime"),
];

/// What a Python needs in its environment to be followed.
#[derive(Debug, Clone)]
pub struct Needed {
    /// The folder of traces.
    pub traces: PathBuf,
    /// The folder of jouletree's `sitecustomize`, which is on the search path.
    pub start: PathBuf,
}

/// Looks for Python processes that are not followed.
#[derive(Debug)]
pub struct Unfollowed {
    proc: PathBuf,
    needed: Needed,
    looked: Option<Instant>,
    /// What is known of a process, as long as it runs the same program.
    known: HashMap<u32, (PathBuf, Option<Reason>)>,
    reported: HashSet<(String, String)>,
}

/// Why a Python does not load the package.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    /// Its environment lacks jouletree's variables.
    Cleared,
    /// Its search path, which does not have jouletree's folder.
    Replaced(String),
    /// A folder before jouletree's on the search path, with a `sitecustomize` of its own.
    Shadowed(String),
    /// An option by which Python ignores its environment.
    Ignored(char),
    /// `-S`.
    NoSite,
}

impl Unfollowed {
    /// Looks at processes below a `/proc`.
    pub fn new(proc: &Path, needed: Needed) -> Unfollowed {
        Unfollowed { proc: proc.to_owned(), needed, looked: None, known: HashMap::new(), reported: HashSet::new() }
    }

    /// Looks at the processes of the tree, unless that was done a moment ago.
    pub fn look(&mut self, processes: &[u32]) {
        let pause = if processes.len() <= FEW { LOOK } else { SELDOM };
        if self.looked.is_some_and(|looked| looked.elapsed() < pause) {
            return;
        }
        self.looked = Some(Instant::now());
        self.known.retain(|pid, _| processes.contains(pid));
        for pid in processes {
            self.look_at(*pid);
        }
    }

    fn look_at(&mut self, pid: u32) {
        let folder = self.proc.join(pid.to_string());
        let Ok(program) = fs::read_link(folder.join("exe")) else { return };
        if self.known.get(&pid).is_none_or(|(known, _)| *known != program) {
            let reason = is_python(&program).then(|| self.reason(&folder)).flatten();
            self.known.insert(pid, (program.clone(), reason));
        }
        let Some((_, Some(reason))) = self.known.get(&pid) else { return };
        let Some(framework) = content(&folder.join("maps")).as_deref().and_then(framework) else { return };
        let (reason, arguments) = (reason.clone(), words(content(&folder.join("cmdline"))));
        self.known.insert(pid, (program.clone(), None));
        if !self.is_followed(pid) {
            self.report(pid, &program, framework, &reason, &script(&arguments));
        }
    }

    fn reason(&self, folder: &Path) -> Option<Reason> {
        // That of another user cannot be read; one that was cleared is empty.
        let environment = words(Some(content(&folder.join("environ"))?));
        let here = fs::read_link(folder.join("cwd")).unwrap_or_default();
        let arguments = words(content(&folder.join("cmdline")));
        let is_customized = |entry: &Path| {
            let place = here.join(entry).join("sitecustomize");
            place.with_extension("py").is_file() || place.is_dir()
        };
        reason(&environment, &arguments, &self.needed, is_customized)
    }

    /// Whether it is followed all the same: the installed package has begun, or it has left something.
    fn is_followed(&self, pid: u32) -> bool {
        let left = fs::read_dir(&self.needed.traces).into_iter().flatten().flatten();
        let (folder, mark) = (format!("{pid}-"), format!("followed-{pid}"));
        left.map(|entry| entry.file_name()).any(|name| {
            let name = name.to_string_lossy();
            name.starts_with(&folder) || name == mark
        })
    }

    /// Leaves a warning where processes of the run leave theirs.
    fn report(&mut self, pid: u32, program: &Path, framework: &str, reason: &Reason, script: &str) {
        let why = reason.to_string();
        // A pool of processes is started by one program, for one reason.
        if script.contains("multiprocessing")
            || self.reported.len() >= MOST_REPORTED
            || !self.reported.insert((why.clone(), script.to_owned()))
        {
            return;
        }
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let warning = format!("{name} (`{script}`) used {framework} but no operation is recorded: {why}");
        let folder = self.needed.traces.join(format!("unfollowed-{pid}"));
        let about = json!({ "pid": pid, "command": [name, script] });
        // The run goes on without a warning that cannot be kept.
        let _ = fs::create_dir(&folder)
            .and_then(|()| fs::write(folder.join("process.json"), about.to_string()))
            .and_then(|()| fs::write(folder.join("warnings.txt"), warning + "\n"));
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const INSTALL: &str = "or install jouletree into this Python (pip install jouletree)";
        match self {
            Reason::Cleared => f.write_str(
                "its environment was cleared; keep PYTHONPATH and the variables that begin with JOULETREE_, or put \
                 `jouletree run` behind what clears it (env -i jouletree run -- python …)",
            ),
            Reason::Replaced(path) if path.is_empty() => {
                write!(f, "PYTHONPATH was removed from its environment; keep it, {INSTALL}")
            }
            Reason::Replaced(path) => {
                write!(f, "PYTHONPATH was replaced; use PYTHONPATH={path}:$PYTHONPATH, {INSTALL}")
            }
            Reason::Shadowed(folder) => write!(
                f,
                "the sitecustomize in {folder} comes before jouletree's; use PYTHONPATH=$PYTHONPATH:{folder}, {INSTALL}"
            ),
            Reason::Ignored(option) => {
                write!(f, "python -{option} ignores PYTHONPATH; leave -{option} out, {INSTALL}")
            }
            Reason::NoSite => f.write_str("python -S does not load jouletree; leave -S out"),
        }
    }
}

/// Why a Python with this environment and these arguments does not load the package; `None` when it does.
fn reason(
    environment: &[Vec<u8>],
    arguments: &[Vec<u8>],
    needed: &Needed,
    is_customized: impl Fn(&Path) -> bool,
) -> Option<Reason> {
    let value = |name: &[u8]| {
        let of_it = |word: &Vec<u8>| Some(word.strip_prefix(name)?.strip_prefix(b"=")?.to_vec());
        environment.iter().find_map(of_it)
    };
    match value(b"JOULETREE_TRACES") {
        None => return Some(Reason::Cleared),
        // Another run follows it.
        Some(traces) if traces != needed.traces.as_os_str().as_bytes() => return None,
        Some(_) => {}
    }
    let options = options(arguments);
    if options.contains(&b'S') {
        return Some(Reason::NoSite);
    }
    if let Some(option) = options.iter().find(|option| b"IE".contains(option)) {
        return Some(Reason::Ignored(char::from(*option)));
    }
    let path = value(b"PYTHONPATH").unwrap_or_default();
    let entries: Vec<PathBuf> = std::env::split_paths(OsStr::from_bytes(&path)).collect();
    let Some(place) = entries.iter().position(|entry| is_same(entry, &needed.start)) else {
        return Some(Reason::Replaced(String::from_utf8_lossy(&path).into_owned()));
    };
    let shadow = entries.iter().take(place).find(|entry| is_customized(entry))?;
    Some(Reason::Shadowed(shadow.display().to_string()))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// The options of one letter with which a Python was started.
fn options(arguments: &[Vec<u8>]) -> Vec<u8> {
    let mut options = Vec::new();
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix(b"-").filter(|letters| !letters.is_empty()) else { break };
        if letters == b"-check-hash-based-pycs" {
            words.next();
        }
        if letters.starts_with(b"-") {
            continue;
        }
        for (place, letter) in letters.iter().enumerate() {
            options.push(*letter);
            match letter {
                // What follows is the program and its arguments.
                b'c' | b'm' => return options,
                b'W' | b'X' if place + 1 == letters.len() => drop(words.next()),
                b'W' | b'X' => {}
                _ => continue,
            }
            break;
        }
    }
    options
}

/// What a Python runs, in a word or two.
fn script(arguments: &[Vec<u8>]) -> String {
    let mut words = arguments.iter().skip(1).map(|word| String::from_utf8_lossy(word));
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            Some("c") => {
                let code = words.next().unwrap_or_default();
                // Code of a pool says so in its first words.
                let is_pool = code.contains("multiprocessing");
                return format!("-c{}", if is_pool { " from multiprocessing" } else { "" });
            }
            Some("m") => return format!("-m {}", words.next().unwrap_or_default()),
            Some("W" | "X" | "-check-hash-based-pycs") => drop(words.next()),
            Some(letters) if !letters.is_empty() => {}
            _ => return word.chars().take(200).collect(),
        }
    }
    "-".to_owned()
}

fn is_python(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().as_bytes();
    name.starts_with(b"python") || name.starts_with(b"pypy")
}

/// The framework that a process has loaded, by the files that it has mapped.
fn framework(maps: &[u8]) -> Option<&'static str> {
    let maps = String::from_utf8_lossy(maps);
    FRAMEWORKS.iter().find(|(file, _)| maps.contains(file)).map(|(_, name)| *name)
}

fn content(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Words that are ended by zeros.
fn words(bytes: Option<Vec<u8>>) -> Vec<Vec<u8>> {
    let bytes = bytes.unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<Vec<u8>> {
        text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
    }

    fn needed() -> Needed {
        Needed { traces: "/run/traces".into(), start: "/cache/jouletree/_auto".into() }
    }

    fn why(environment: &str, command: &str) -> Option<Reason> {
        let is_customized = |entry: &Path| entry == Path::new("own");
        reason(&split(environment), &split(command), &needed(), is_customized)
    }

    #[test]
    fn what_keeps_python_from_loading_the_package_is_found() {
        let all = "A=1 JOULETREE_TRACES=/run/traces PYTHONPATH=/cache/jouletree/_auto:/cache";
        for command in [
            "python train.py",
            "python -u -W ignore train.py -I -S",
            "python -Werror -Xdev -m torch.distributed.run -E",
            "python3 -c pass -S",
            "python --check-hash-based-pycs default -B train.py",
            "python -",
        ] {
            assert_eq!(why(all, command), None, "{command}");
        }
        for (command, option) in
            [("python -I train.py", 'I'), ("python3 -uE -m x", 'E'), ("python -X dev -Ic pass", 'I')]
        {
            assert_eq!(why(all, command), Some(Reason::Ignored(option)), "{command}");
        }
        assert_eq!(why(all, "python -OSs train.py"), Some(Reason::NoSite));
        let replaced = "JOULETREE_TRACES=/run/traces PYTHONPATH=.:lib";
        assert_eq!(why(replaced, "python train.py"), Some(Reason::Replaced(".:lib".into())));
        assert_eq!(why("JOULETREE_TRACES=/run/traces", "python x"), Some(Reason::Replaced(String::new())));
        assert_eq!(why("PATH=/bin", "python x"), Some(Reason::Cleared));
        assert_eq!(why("JOULETREE_TRACES=/another/run", "python x"), None);
        let added = "JOULETREE_TRACES=/run/traces PYTHONPATH=lib:/cache/jouletree/_auto:own";
        assert_eq!(why(added, "python x"), None);
        let shadowed = added.replace("lib:", "lib:own:");
        assert_eq!(why(&shadowed, "python x"), Some(Reason::Shadowed("own".into())));
        // Every reason ends in something to do.
        let message = Reason::Replaced(".".into()).to_string();
        assert!(message.contains("use PYTHONPATH=.:$PYTHONPATH"), "{message}");
    }

    #[test]
    fn programs_and_frameworks_are_named() {
        for (command, name) in [
            ("python -u train.py --lr 1", "train.py"),
            ("python -m lightning fit", "-m lightning"),
            ("python -X dev -c pass", "-c"),
            ("python", "-"),
        ] {
            assert_eq!(script(&split(command)), name);
        }
        let maps = b"7f0 r-xp 00000 08:01 1 /env/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so\n";
        assert_eq!(framework(maps), Some("PyTorch"));
        assert_eq!(framework(b"7f0 r-xp 00000 08:01 1 /usr/lib/libc.so.6\n"), None);
        assert!(is_python(Path::new("/env/bin/python3.11")) && !is_python(Path::new("/bin/sh")));
    }

    /// A tree of processes made of files: a Python that has replaced its search path and one that has not.
    #[test]
    fn only_those_that_load_a_framework_are_reported_and_each_program_once() {
        let folder = tempfile::tempdir().unwrap();
        let (proc, traces) = (folder.path().join("proc"), folder.path().join("traces"));
        fs::create_dir_all(&traces).unwrap();
        let start = folder.path().join("_auto");
        let needed = Needed { traces: traces.clone(), start: start.clone() };
        let make = |pid: u32, path: &str, maps: &str| {
            let place = proc.join(pid.to_string());
            fs::create_dir_all(&place).unwrap();
            let _ = std::os::unix::fs::symlink("/usr/bin/python3.11", place.join("exe"));
            let environment = format!("JOULETREE_TRACES={}\0PYTHONPATH={path}\0", traces.display());
            fs::write(place.join("environ"), environment).unwrap();
            fs::write(place.join("cmdline"), "python\0train.py\0").unwrap();
            fs::write(place.join("maps"), maps).unwrap();
        };
        let torch = "x /lib/libtorch_cpu.so\n";
        make(1, ".", "x /lib/libc.so\n");
        make(2, start.to_str().unwrap(), torch);
        make(3, ".", torch);
        make(4, ".", torch);
        // The installed package has begun in this one.
        make(5, "lib", torch);
        fs::write(traces.join("followed-5"), "").unwrap();
        // `env -i` leaves nothing at all.
        make(6, "", torch);
        fs::write(proc.join("6/environ"), "").unwrap();
        fs::write(proc.join("6/cmdline"), "python\0other.py\0").unwrap();
        let mut unfollowed = Unfollowed::new(&proc, needed);
        let mut look = || {
            unfollowed.looked = None;
            unfollowed.look(&[1, 2, 3, 4, 5, 6, 7]);
            let mut left: Vec<_> =
                fs::read_dir(&traces).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            left.sort();
            left
        };
        assert_eq!(look(), ["followed-5", "unfollowed-3", "unfollowed-6"]);
        let warning = fs::read_to_string(traces.join("unfollowed-3/warnings.txt")).unwrap();
        assert!(warning.starts_with("python3.11 (`train.py`) used PyTorch but"), "{warning}");
        assert!(warning.contains("PYTHONPATH was replaced; use PYTHONPATH=.:$PYTHONPATH"), "{warning}");
        let cleared = fs::read_to_string(traces.join("unfollowed-6/warnings.txt")).unwrap();
        assert!(cleared.contains("its environment was cleared"), "{cleared}");
        assert_eq!(look().len(), 3);
    }
}
