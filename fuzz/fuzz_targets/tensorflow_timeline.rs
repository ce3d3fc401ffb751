//! TensorFlow timelines: anything after a first operation, which makes the file one.
#![no_main]

use jouletree_fuzz::read_and_account;

const LEAD: &[u8] = br#"{"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"args":{"name":"/job:localhost/replica:0/task:0/device:CPU:0 Compute"}},
{"ph":"X","cat":"Op","name":"MatMul","pid":1,"tid":0,"ts":1000,"dur":9,"args":{"name":"a/b","op":"MatMul"}},"#;

libfuzzer_sys::fuzz_target!(|data: &[u8]| read_and_account(LEAD, data));
