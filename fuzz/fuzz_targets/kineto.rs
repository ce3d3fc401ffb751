//! Kineto traces: anything after a beginning that makes the file one.
#![no_main]

use jouletree_fuzz::read_and_account;

libfuzzer_sys::fuzz_target!(|data: &[u8]| read_and_account(br#"{"schemaVersion":1,"#, data));
