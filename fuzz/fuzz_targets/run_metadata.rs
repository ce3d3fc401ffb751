//! Run metadata and event files of TensorFlow. The first byte says what the rest is: a whole file, the operations of a
//! device, or the event in a record of an event file, whose check sums are made right.
#![no_main]

use jouletree_fuzz::read_and_account;

/// Three messages that never end, and the name of the device in the innermost.
const DEVICE: &[u8] = b"\x0a\xff\xff\xff\xff\x0f\x0a\xff\xff\xff\xff\x0e\x0a\x2c/job:localhost/replica:0/task:0/device:CPU:0";

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, file)) => read_and_account(b"", file),
        Some((1, operations)) => read_and_account(DEVICE, operations),
        Some((_, event)) => read_and_account(&record(b"\x1a\x0dbrain.Event:2"), &record(event)),
        None => {}
    }
});

fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked_crc32c(&length), data, &masked_crc32c(data)].concat()
}

fn masked_crc32c(bytes: &[u8]) -> [u8; 4] {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0x82f6_3b78 } else { sum >> 1 };
        }
    }
    (!sum).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}
