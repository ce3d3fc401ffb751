//! Chrome traces of unknown programs: anything after a first event, which makes the file one.
#![no_main]

use jouletree_fuzz::read_and_account;

const LEAD: &[u8] = br#"{"traceEvents":[{"ph":"X","name":"work","pid":1,"tid":1,"ts":1000,"dur":9},"#;

libfuzzer_sys::fuzz_target!(|data: &[u8]| read_and_account(LEAD, data));
