//! Whatever arrives at the daemon, or at its clients, is understood or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jouletree_daemon::nonsense::read_everything(data));
