//! `--anonymous`: pages, cards and figures for double-blind review hold no name of the machine, the user, a folder or a process.

use crate::common;

use std::fs;
use std::path::Path;

use common::*;
use serde_json::Value;

const PROGRAM: &str = r#"
import sys, time
from jouletree import _session
session = _session.current()
for number in range(1, 4):
    step = session.next_step()
    begin = time.time_ns()
    until = time.time() + 0.05
    while time.time() < until:
        sum(range(1000))
    session.ran_module("net/layer_0", begin, time.time_ns(), 1, "Linear", "forward")
    session.ran_step(step, begin, time.time_ns(), "train", True, 4)
"#;

#[test]
fn nothing_names_the_machine_the_user_or_their_folders() {
    let files = Files::new();
    let home = files.path("home/zoe-quill");
    let work = format!("{home}/secret-project");
    fs::create_dir_all(&work).expect("a folder");
    let (script, folder) = (format!("{work}/train.py"), format!("{work}/run-1"));
    fs::write(&script, PROGRAM).expect("a script");
    let here = |arguments: &[&str]| {
        let mut command = jouletree();
        command.args(arguments).current_dir(&work).env("HOME", &home).env("USER", "zoe-quill");
        command.env("XDG_CACHE_HOME", files.path("cache"));
        ended(command.output().expect("the command starts"))
    };
    let data = format!("--data={work}/data.csv");
    here(&["run", "-q", "--no-daemon", "--level", "module", "-o", &folder, "--", "python3", &script, &data]).ok();
    let manifest: Value =
        serde_json::from_slice(&fs::read(Path::new(&folder).join("manifest.json")).expect("a manifest"))
            .expect("JSON");
    let host = manifest["recording"]["host"]["name"].as_str().unwrap_or_default().to_owned();
    // As messages and the names of traces have it.
    let [process, prefix] =
        ["process #", "/#-"].map(|form| form.replace('#', &manifest["recording"]["pid"].to_string()));
    let hidden = ["zoe-quill", "secret-project", &home, &work, &process, &prefix];
    let check = |what: &str, text: &str| {
        for name in hidden {
            assert!(!text.contains(name), "{what} holds {name}");
        }
        // A short name may be a part of a word, or of a digest.
        let is_host = |word: &str| !host.is_empty() && host != "localhost" && word == host;
        assert!(!text.split(|sign: char| !sign.is_alphanumeric()).any(is_host), "{what} holds {host}");
    };

    let (page, figures) = (files.path("page.html"), files.path("figures"));
    let arguments = ["report", &folder, "-o", &page, "--figures", &figures, "--anonymous"];
    here(&arguments).ok();
    let text = fs::read_to_string(&page).expect("a page");
    check("the page", &text);
    assert!(text.contains("train.py") && text.contains("data.csv"), "names of files are kept");
    for figure in fs::read_dir(&figures).expect("figures") {
        let figure = figure.expect("a figure").path();
        check(&figure.display().to_string(), &fs::read_to_string(&figure).expect("a figure"));
    }
    for format in ["markdown", "json"] {
        let card = here(&["card", &folder, "--intensity", "100", "--format", format, "--anonymous"]).ok();
        check("the card", &card);
        assert!(card.contains("train.py"), "{card}");
    }

    // Otherwise paths are relative to where one is, and the machine is named.
    let plain = files.path("plain.html");
    here(&["report", &folder, "-o", &plain]).ok();
    let text = fs::read_to_string(&plain).expect("a page");
    assert!(!text.contains(&work), "paths are relative");
    assert!(text.contains(&host) && text.contains("--data=data.csv"));
}
