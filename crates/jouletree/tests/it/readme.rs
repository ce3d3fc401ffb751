//! What the README and the first page of the documentation show is what the command prints.

use crate::common;

use std::path::Path;

use common::{ended, jouletree};

/// Runs the command of a page's first block that begins with `$ jouletree`. A block that ends with `…` shows how the
/// output begins.
fn shows_what_the_command_prints(page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).expect("the page is there");
    let block = text.split("```\n$ jouletree ").nth(1).expect("the page shows a command");
    let (command, rest) = block.split_once('\n').expect("a command and its output");
    let (shown, _) = rest.split_once("```").expect("the block ends");
    let output = jouletree().current_dir(&root).args(command.split(' ')).output().expect("the command starts");
    let printed = ended(output).ok();
    match shown.strip_suffix("…\n") {
        Some(beginning) => {
            assert!(beginning.lines().count() >= 10, "the block shows too little of the output");
            assert_eq!(
                &printed[..beginning.len().min(printed.len())],
                beginning,
                "run the command in {page} and paste what it prints"
            );
        }
        None => assert_eq!(printed, shown, "run the command in {page} and paste what it prints"),
    }
}

#[test]
fn the_readme_shows_what_the_command_prints() {
    shows_what_the_command_prints("README.md");
}

#[test]
fn getting_started_shows_what_the_command_prints() {
    shows_what_the_command_prints("docs/getting-started.md");
}
