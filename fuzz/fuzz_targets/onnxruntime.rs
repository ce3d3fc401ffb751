//! ONNX Runtime profiles: anything after a first event, which makes the file one.
#![no_main]

use jouletree_fuzz::read_and_account;

const LEAD: &[u8] = br#"[
{"cat":"Session","pid":7,"tid":9,"dur":5,"ts":1,"ph":"X","name":"model_loading_uri","args":{}},"#;

libfuzzer_sys::fuzz_target!(|data: &[u8]| read_and_account(LEAD, data));
