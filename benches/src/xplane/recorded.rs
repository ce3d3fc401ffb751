//! Recorded XPlane files, prolonged: their threads go through everything again and again, each time a minute later.

use std::fs::File;
use std::io::Read;

use anyhow::Result;
use flate2::read::MultiGzDecoder;

use super::message::{Message, fields};
use crate::development_data;

/// The recorded files.
pub const NAMES: [&str; 3] = ["tf215_keras_minibert", "tf221_keras_minibert", "jax0102_minibert"];

const MINUTE: u64 = 60_000_000_000;
const PLANES: u64 = 0x0a;
const LINES: u64 = 0x1a;
const LINE_START: u64 = 0x18;

/// One of them at about so many bytes; `None` where the development data is not there.
pub fn space(name: &str, bytes: u64) -> Result<Option<Vec<u8>>> {
    let path = development_data().join(format!("traces/{name}.xplane.pb.gz"));
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut once = Vec::new();
    MultiGzDecoder::new(file).read_to_end(&mut once)?;
    Ok(Some(prolonged(&once, bytes / once.len() as u64)))
}

fn prolonged(space: &[u8], times: u64) -> Vec<u8> {
    let mut whole = Message::default();
    for plane in fields(space) {
        if plane.tag != PLANES {
            whole.0.extend(plane.bytes);
            continue;
        }
        let mut longer = Message::default();
        let (lines, names): (Vec<_>, Vec<_>) =
            fields(plane.content()).into_iter().partition(|field| field.tag == LINES);
        for line in lines {
            for time in 0..times {
                let mut later = Message::default();
                for field in fields(line.content()) {
                    match field.tag {
                        LINE_START => later.integer(3, field.value + time * MINUTE),
                        _ => later.0.extend(field.bytes),
                    }
                }
                longer.message(3, &later);
            }
        }
        names.iter().for_each(|name| longer.0.extend(name.bytes));
        whole.message(1, &longer);
    }
    whole.0
}
