//! Tables of events: anything after a header, as CSV or as JSON lines.
#![no_main]

use jouletree_fuzz::read_and_account;

const CSV: &[u8] = b"start_ns,end_ns,device,lane,op,pass,step\n";
const JSON_LINES: &[u8] = b"{\"start_ns\":1000,\"end_ns\":1009,\"op\":\"work\"}\n";
const UNITLESS: &[u8] = b"start;dur;op\n";

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for lead in [CSV, JSON_LINES, UNITLESS] {
        read_and_account(lead, data);
    }
});
