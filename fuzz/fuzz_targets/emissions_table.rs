//! A row for a table that anybody may have written: what was there stays, or the row goes elsewhere.
#![no_main]

use std::fs;

use jouletree_carbon::formats::{Cell, Mode, write_row};
use jouletree_fuzz::in_folder;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let folder = in_folder(&["emissions.csv"], data);
    let beside = folder.join("emissions.jouletree.csv");
    let _ = fs::remove_file(&beside);
    let path = folder.join("emissions.csv");
    let row = vec![("run_id", Cell::Text("a,\"b\"\n".to_owned())), ("energy", Cell::Number(1.5)), ("place", Cell::Empty)];
    if write_row(&path, &row, Mode::Append).is_ok() {
        let after = fs::read(&path).expect("the table is there");
        assert!(after.starts_with(data) || std::str::from_utf8(data).is_ok_and(|text| text.trim().is_empty()), "something was lost");
    }
    let _ = write_row(&path, &row, Mode::Update("run_id"));
});
