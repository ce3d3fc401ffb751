//! What the README shows is what the command prints.

use crate::common;

use std::path::Path;

use common::{ended, jouletree};

#[test]
fn the_readme_shows_what_the_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README is there");
    let block = readme.split("```\n$ jouletree ").nth(1).expect("the README shows a command");
    let (command, rest) = block.split_once('\n').expect("a command and its output");
    let (shown, _) = rest.split_once("```").expect("the block ends");
    let printed =
        ended(jouletree().current_dir(&root).args(command.split(' ')).output().expect("the command starts"));
    assert_eq!(printed.ok(), shown, "run the command in the README and paste what it prints");
}
