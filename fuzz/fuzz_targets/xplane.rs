//! XPlane files: anything after a plane without events, which makes the file one.
#![no_main]

use jouletree_fuzz::read_and_account;

libfuzzer_sys::fuzz_target!(|data: &[u8]| read_and_account(b"\x0a\x0b\x12\x09/host:CPU", data));
