//! Random programs: the way back gives their bytes, what was patched is a program again, and it does the same, in the same
//! order, as the original.

use crate::common;
use crate::generated;

use std::path::Path;
use std::process::Command;

use common::patch_with;
use jouletree_patch::{Level, Mode, Options, patch_script, unpatched_script};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

fn options() -> Options {
    Options { libraries: vec!["lib".to_owned()], ..Options::default() }
}

proptest! {
    #![proptest_config(Config { cases: 400, ..Config::default() })]

    #[test]
    fn the_way_back_gives_the_original(source in generated::program()) {
        for (level, mode) in [(Level::Method, Mode::Full), (Level::Method, Mode::Fecom), (Level::Project, Mode::Full)] {
            // The way back is checked inside, and it parses what was patched.
            let patch = patch_with(&source, &Options { level, mode, ..options() });
            prop_assert!(level == Level::Project || mode == Mode::Fecom || patch.instrumented() >= 3);
        }
    }

    #[test]
    fn nonsense_is_refused_or_kept(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[a-z.()\\[\\]{}:='\"#\\n\\\\ ,*f%!]{0,80}") {
        for source in [&bytes[..], text.as_bytes()] {
            if let Ok(patch) = patch_script("x", source, &Options::default()) {
                prop_assert_eq!(&unpatched_script(&patch.applied(source)).expect("the way back"), source);
            }
        }
    }

    #[test]
    fn parts_of_programs_are_refused_or_kept(source in generated::program(), from in 0.0..1.0, to in 0.0..1.0) {
        let place = |share: f64| (source.len() as f64 * share) as usize;
        let (from, to) = (place(from).min(place(to)), place(from).max(place(to)));
        let cut = [&source.as_bytes()[..from], &source.as_bytes()[to..]].concat();
        if let Ok(patch) = patch_script("x", &cut, &options()) {
            prop_assert_eq!(unpatched_script(&patch.applied(&cut)).expect("the way back"), cut);
        }
    }
}

/// The made-up library, which notes whatever happens to it.
const LIBRARY: &str = r#"
log = []
CONSTANT = 7
def note(name, *args, **named):
    log.append((name, [str(arg) for arg in args], sorted((k, str(v)) for k, v in named.items())))
    return (len(log) * 7 + len(name)) % 11
def f(*args, **named): return note("f", *args, **named)
class Error(Exception): pass
def fail(x):
    note("fail", x)
    raise Error(x)
class Obj:
    def __init__(self, x): note("Obj", x); self.x = x
    def __str__(self): return "Obj"
    def m(self, *args): return note("m", *args)
    def self(self): note("self"); return self
    def __call__(self, *args): return note("call", *args)
    def __setattr__(self, name, value):
        if name != "x": note("set " + name, value)
        object.__setattr__(self, name, value)
    @property
    def child(self): note("child"); return Obj(1)
class context(Obj):
    def __enter__(self): note("enter"); return self
    def __exit__(self, *error): note("exit", bool(error[0]))
def make(x): note("make", x); return f
def make_list(x): note("make_list", x); return [x]
async def later(x): return note("later", x)
def decorated(x): note("decorated", x); return lambda function: function
table = {"k": f}
class sub:
    @staticmethod
    def h(*args, **named): return note("h", *args, **named)
"#;

/// Runs originals and patched programs in one process, with and without somebody who records.
const DRIVER: &str = r#"
import contextlib, io, json, pathlib, sys
sys.dont_write_bytecode = True
here = pathlib.Path(sys.argv[1]); sys.path[:0] = [str(here), sys.argv[2]]
import lib, jouletree.calls as calls
class Recorder:
    def __init__(self): self.count = 0
    def program(self, file): pass
    def call(self, file, digest, site, callee):
        def wrapper(*args, **named):
            self.count += 1
            return callee(*args, **named)
        return wrapper
def run(path, recorder=None):
    lib.log.clear(); out = io.StringIO(); error = None
    calls.install(recorder)
    with contextlib.redirect_stdout(out):
        try: exec(compile(path.read_bytes(), str(path), "exec"), {"__name__": "__main__"})
        except Exception as caught: error = (type(caught).__name__, str(caught).replace("wrapper", "f").replace(path.name, ""))
    calls.install(None)
    return lib.log[:], out.getvalue(), error
bad = hooks = events = errors = 0
for original in sorted(here.glob("*.original.py")):
    patched = original.with_name(original.name.replace("original", "patched"))
    expected = run(original); recorder = Recorder()
    for what in (run(patched), run(patched, recorder)):
        if what != expected:
            bad += 1; print(original.name, expected[1:], what[1:], next(((i, a, b) for i, (a, b) in enumerate(zip(expected[0], what[0])) if a != b), None))
    hooks += recorder.count; events += len(expected[0]); errors += expected[2] is not None
print(f"{hooks} calls through hooks, {events} events, {errors} programs that end with an error")
sys.exit(1 if bad or not hooks or errors > 40 else 0)
"#;

#[test]
fn patched_programs_do_the_same_in_the_same_order() {
    const PROGRAMS: usize = 150;
    let python = ["python3", "python"].into_iter().find(|python| {
        let version = "import sys; sys.exit(sys.version_info < (3, 10))";
        Command::new(python).args(["-c", version]).status().is_ok_and(|status| status.success())
    });
    let Some(python) = python else {
        eprintln!("skipped: there is no Python 3.10 or newer");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).expect("a file");
    write("lib.py", LIBRARY.as_bytes());
    write("driver.py", DRIVER.as_bytes());
    let mut runner = TestRunner::deterministic();
    for number in 0..PROGRAMS {
        let source = generated::program().new_tree(&mut runner).expect("a program").current();
        let patch = patch_with(&source, &options());
        write(&format!("{number:03}.original.py"), source.as_bytes());
        write(&format!("{number:03}.patched.py"), &patch.applied(source.as_bytes()));
    }
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let output = Command::new(python)
        .args(["-W", "ignore"])
        .arg(folder.path().join("driver.py"))
        .arg(folder.path())
        .arg(packages)
        .output()
        .expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{text}");
    if !output.status.success() {
        // Kept, to be looked at.
        panic!("{text}\n{}", folder.keep().display());
    }
}
