//! `jouletree patch` from outside: files, notebooks and folders in, patched ones out, and nothing half.

use crate::common;

use std::fs;
use std::path::Path;

use common::{Files, run};

const PROGRAM: &str = "import torch\nx = torch.ones(2)\n@torch.no_grad()\ndef f(): return x.sum()\n";

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_script_is_patched_beside_itself_and_back() {
    let files = Files::new();
    let program = files.write("train.py", PROGRAM);
    let said = run(["patch", &program]).ok();
    assert!(said.ends_with("train.patched.py: 2 of 3 library calls are instrumented\n"), "{said}");
    let patched = fs::read_to_string(files.path("train.patched.py")).expect("the patched file");
    assert!(patched.contains("x = __jouletree_call__(0, torch.ones)(2)\n@torch.no_grad()\n"), "{patched}");
    let table: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(files.path("train.patched.py.sites.json")).expect("the table"))
            .expect("JSON");
    assert_eq!(table["files"][0]["file"], "train.py");
    assert_eq!(table["files"][0]["sites"][0]["name"], "torch.ones");
    let digest = table["files"][0]["digest"].as_str().expect("a digest");
    assert!(patched.contains(&format!("(\"train.py\", \"{digest}\")")), "{patched}");

    run(["patch", &files.path("train.patched.py"), "--undo"]).ok();
    assert_eq!(fs::read_to_string(files.path("train.original.py")).expect("the original"), PROGRAM);
    // Nothing is overwritten, and nothing is left over.
    let again = run(["patch", &program]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("train.patched.py: exists already"), "{}", again.stderr);
    let nothing = run(["patch", &program, "--undo"]);
    assert!(nothing.code == 1 && nothing.stderr.contains("it is not patched"), "{}", nothing.stderr);
    let patched_again = run(["patch", &files.path("train.patched.py")]);
    assert!(
        patched_again.code == 1 && patched_again.stderr.contains("patched already"),
        "{}",
        patched_again.stderr
    );
    let expected = ["train.original.py", "train.patched.py", "train.patched.py.sites.json", "train.py"];
    assert_eq!(names(Path::new(&files.path("train.py")).parent().expect("a folder")), expected);
}

#[test]
fn files_of_a_project_tell_of_each_other() {
    let files = Files::new();
    fs::create_dir_all(files.path("project/src/pkg")).expect("a folder");
    files.write("project/pyproject.toml", "");
    files.write("project/src/pkg/__init__.py", "from .net import make\n");
    let net = files.write(
        "project/src/pkg/net.py",
        "import torch\ndef make(): return torch.nn.Linear(1, 1)\ndef scaled(x): return torch.relu(x)\n",
    );
    let train = files.write(
        "project/train.py",
        "from pkg import make\nimport pkg.net, torch\nmake()(1)\ntorch.jit.script(pkg.net.scaled)\n",
    );
    let listed = |words: &[&str]| {
        let sites = run([&["patch"], words, &["--list", "--format", "json"]].concat()).json();
        let site = |site: &serde_json::Value| {
            let mark = if site["instrumented"] == true { "" } else { "-" };
            format!("{}{mark}{}", site["file"].as_str().unwrap_or(""), site["name"].as_str().expect("a name"))
        };
        sites.as_array().expect("a list").iter().map(site).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[&train]), ["torch.nn.Linear.__call__", "torch.jit.script"]);
    // The file by itself does not say who compiles it; its project does.
    assert_eq!(listed(&[&net]), ["torch.nn.Linear", "-torch.relu"]);
    let all = listed(&[&files.path("project")]);
    assert!(all.contains(&"src/pkg/net.py-torch.relu".to_owned()), "{all:?}");
    assert!(all.contains(&"train.pytorch.nn.Linear.__call__".to_owned()), "{all:?}");
    let edits = run(["patch", &train, "--edits"]).json();
    let paths: Vec<&str> =
        edits["files"].as_array().expect("files").iter().filter_map(|file| file["path"].as_str()).collect();
    assert!(paths[0].ends_with("train.py") && paths.len() == 3, "{paths:?}");
    let alone = run(["patch", &train, "--edits", "--alone"]).json();
    assert_eq!(alone["files"].as_array().map(Vec::len), Some(1));
    assert_eq!(alone["files"][0]["sites"]["sites"].as_array().map(Vec::len), Some(1));
}

#[test]
fn lists_are_for_people_and_for_programs() {
    let files = Files::new();
    let program = files.write("train.py", PROGRAM);
    let table = run(["patch", &program, "--list"]).ok();
    assert!(table.contains("2:4") && table.contains("torch.ones") && table.contains("no: decorator"), "{table}");
    let sites = run(["patch", &program, "--list", "--format", "json"]).json();
    let expected = serde_json::json!([
        {"line": 2, "col": 4, "end_line": 2, "end_col": 17, "name": "torch.ones", "instrumented": true, "reason": null},
        {"line": 3, "col": 1, "end_line": 3, "end_col": 16, "name": "torch.no_grad", "instrumented": false, "reason": "decorator"},
        {"line": 4, "col": 16, "end_line": 4, "end_col": 23, "name": "torch.Tensor.sum", "instrumented": true, "reason": null},
    ]);
    assert_eq!(sites, expected);
    let fecom =
        run(["patch", &program, "--list", "--format", "json", "--mode", "fecom", "--libraries", "torch"]).json();
    assert_eq!(fecom.as_array().map(Vec::len), Some(1));
    assert_eq!(fecom[0]["name"], "torch.ones()");
    let other = run(["patch", &program, "--list", "--format", "json", "--libraries", "tensorflow,keras"]).json();
    assert_eq!(other, serde_json::json!([]));
    assert_eq!(run(["patch", &program, "--libraries", "a-b"]).code, 2);
    assert_eq!(names(Path::new(&program).parent().expect("a folder")), ["train.py"]);
}

#[test]
fn errors_name_file_line_and_column_and_write_nothing() {
    let files = Files::new();
    let program = files.write("bad.py", "import torch\ntorch.ones(1\n");
    let ran = run(["patch", &program]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with(&format!("error: {program}:3:0: ")), "{}", ran.stderr);
    assert_eq!(names(Path::new(&program).parent().expect("a folder")), ["bad.py"]);
    // A million brackets are refused before anything is parsed.
    let nested = format!("x = {}1{}\n", "(".repeat(1_000_000), ")".repeat(1_000_000));
    let deep = files.write("deep.py", nested);
    let ran = run(["patch", &deep]);
    assert!(ran.code == 1 && ran.stderr.contains("nested more than 5000 levels deep"), "{}", ran.stderr);
    // So is what is nested without brackets, wherever a parser recurses; and what is long without being deep is parsed.
    for (open, close) in [
        ("x**", ""),
        ("x ** -", ""),
        ("x if y else ", ""),
        ("lambda a, b: ", ""),
        ("lambda a=", ": 1"),
        ("lambda a, b=", ": 1"),
        ("x if y else lambda: ", ""),
        ("f'{lambda a=", ""),
        ("x + ", ""),
    ] {
        for times in [10_000, 100_000] {
            let deep = files.write("deep.py", format!("x = {}1{}\n", open.repeat(times), close.repeat(times)));
            let ran = run(["patch", &deep]);
            assert!(ran.code == 1 && ran.stderr.starts_with("error: "), "{open}: {} {}", ran.code, ran.stderr);
        }
    }
    for (number, long) in ["x and ", "x < ", "x = ", "x ** 2 and "].into_iter().enumerate() {
        let flat = files.write("long.py", format!("x = {}1\n", long.repeat(10_000)));
        let ran = run(["patch", &flat, "-o", &files.path(&format!("long-{number}.py"))]);
        assert_eq!(ran.code, 0, "{long}: {}", ran.stderr);
    }
    let missing = run(["patch", &files.path("none.py")]);
    assert!(missing.code == 1 && missing.stderr.contains("none.py"), "{}", missing.stderr);
}

#[test]
fn a_folder_is_patched_whole() {
    let files = Files::new();
    let root = files.path("project");
    for folder in ["project/inner", "project/.git", "project/venv", "project/__pycache__"] {
        fs::create_dir_all(files.path(folder)).expect("a folder");
    }
    let write = |name: &str, text: &str| fs::write(files.path(name), text).expect("a file");
    write("project/train.py", PROGRAM);
    write("project/inner/model.py", "import torch\n\n\ndef g():\n    return torch.zeros(1)\n");
    write(
        "project/notebook.ipynb",
        r#"{"cells": [{"cell_type": "code", "source": ["import torch\n", "torch.ones(1)"]}]}"#,
    );
    write("project/data.csv", "a,b\n");
    write("project/.git/config", "x");
    write("project/venv/pyvenv.cfg", "x");
    write("project/venv/lib.py", "import torch; torch.ones(1)");
    let ran = run(["patch", &root]);
    assert!(
        ran.stderr.contains(".git: left out: hidden") && ran.stderr.contains("venv: left out"),
        "{}",
        ran.stderr
    );
    assert!(ran.ok().contains("4 of 5 library calls are instrumented"));
    let patched = files.path("project.patched");
    assert_eq!(
        names(Path::new(&patched)),
        ["data.csv", "inner", "jouletree-sites.json", "notebook.ipynb", "train.py"]
    );
    let listed = run(["patch", &root, "--list", "--format", "json"]).json();
    let listed: Vec<(&str, u64)> = listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|site| (site["file"].as_str().expect("a file"), site["line"].as_u64().expect("a line")))
        .collect();
    let expected =
        [("inner/model.py", 5), ("notebook.ipynb", 2), ("train.py", 2), ("train.py", 3), ("train.py", 4)];
    assert_eq!(listed, expected);
    run(["patch", &patched, "--undo", "-o", &files.path("back")]).ok();
    for name in ["train.py", "inner/model.py", "notebook.ipynb", "data.csv"] {
        let [old, new] =
            ["project", "back"].map(|folder| fs::read(files.path(&format!("{folder}/{name}"))).expect("a file"));
        assert_eq!(old, new, "{name}");
    }
    let inside = run(["patch", &root, "-o", &files.path("project/out")]);
    assert!(inside.code == 1 && inside.stderr.contains("lies inside"), "{}", inside.stderr);
    write("project/bad.py", "x = (\n");
    write("project/worse.py", "def\n");
    let bad = run(["patch", &root, "-o", &files.path("other")]);
    assert!(
        bad.code == 1 && bad.stderr.contains("bad.py:2:0:") && bad.stderr.contains("worse.py:1:3:"),
        "{}",
        bad.stderr
    );
    assert_eq!(names(Path::new(&root).parent().expect("a folder")), ["back", "project", "project.patched"]);
}
