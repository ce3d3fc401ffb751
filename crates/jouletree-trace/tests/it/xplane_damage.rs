//! XPlane files that are cut, damaged or nonsense: never a panic, and what can be read is read.

use crate::spaces;

use jouletree_model::Trace;
use jouletree_trace::{ReadOptions, TraceError, read_trace_bytes};
use proptest::prelude::*;
use spaces::{gpu, jax, keras};

fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
    let options = ReadOptions { census: true, ..ReadOptions::default() };
    read_trace_bytes("damaged.xplane.pb", bytes, &options)
}

#[test]
fn every_place_to_cut() {
    let mut partial = 0;
    for bytes in [keras(), jax(), gpu()] {
        let whole = read(&bytes).expect("a trace");
        for cut in 0..bytes.len() {
            let Ok(trace) = read(&bytes[..cut]) else { continue };
            assert!(trace.event_count() <= whole.event_count());
            assert!(trace.ops.iter().all(|(_, op)| !op.path.is_empty() && !op.path.ends_with('/')), "{cut}");
            if trace.event_count() < whole.event_count() {
                partial += 1;
                // A file that ends after a plane looks whole.
                assert!(!trace.warnings.is_empty() || borders(&bytes).contains(&cut), "{cut}");
            }
        }
    }
    assert!(partial > 100, "names are read up to the cut");
}

/// Where the planes of a file end, all of them shorter than 16 KiB.
fn borders(bytes: &[u8]) -> Vec<usize> {
    let mut borders = vec![0];
    while let [_, low, rest @ ..] = &bytes[borders[borders.len() - 1]..] {
        let (length, head) = match (low, rest) {
            (0x80.., [high, ..]) => (usize::from(low & 0x7f) | usize::from(*high) << 7, 3),
            _ => (usize::from(*low), 2),
        };
        borders.push(borders[borders.len() - 1] + head + length);
    }
    borders
}

#[test]
fn a_cut_says_where() {
    let bytes = keras();
    let cut = &bytes[..bytes.len() - 60];
    let warnings = read(cut).expect("a trace").warnings;
    let warning = warnings.iter().find(|warning| warning.message.contains("cut short")).expect("a warning");
    let at: usize =
        warning.position.as_deref().and_then(|at| at.strip_prefix("byte ")?.parse().ok()).expect("a place");
    assert!(at > 0 && at <= cut.len(), "{warning}");
}

/// Something took the file for text.
#[test]
fn replaced_bytes_are_explained() {
    let mut bytes = keras();
    bytes.extend(gpu());
    let mangled: Vec<u8> =
        bytes.iter().flat_map(|byte| if *byte < 0x80 { vec![*byte] } else { vec![0xef, 0xbf, 0xbd] }).collect();
    let message = match read(&mangled) {
        Ok(trace) => trace.warnings.iter().map(ToString::to_string).collect::<String>(),
        Err(error) => error.to_string(),
    };
    assert!(message.contains("treated as text"), "{message}");
}

#[test]
fn lengths_are_claims() {
    let beyond = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    for tag in [0x0a, 0x12, 0x1a, 0x22, 0x2a, 0x32] {
        let mut bytes = keras();
        let at = bytes.len() / 3;
        bytes.splice(at..at, [&[tag][..], &beyond].concat());
        let _ = read(&bytes);
        let start = [&[0x0a, 0x7f, 0x12, 0x01, b'x', tag][..], &beyond].concat();
        let _ = read(&start);
    }
}

/// A name may be a mebibyte of slashes.
#[test]
fn absurd_names_take_no_absurd_time() {
    use spaces::{Plane, op, space};
    let deep = "a_1/".repeat(1 << 18) + "b_1";
    let many: Vec<_> = (0..2000).map(|i| op(&format!("{}/x{i}", "d_1/".repeat(60)), "Mul", i, 1)).collect();
    let plane = Plane::new("/host:CPU")
        .line(1, "tf_Compute/1", 0, &[op(&deep, "Mul", 0, 1), op(&format!("gradient_tape/{deep}"), "Mul", 5, 1)])
        .line(2, "tf_Compute/2", 0, &many);
    let trace = read(&space([plane])).expect("a trace");
    assert_eq!(trace.event_count(), 2002);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes(which in 0..3_usize, flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = [keras(), jax(), gpu()][which].clone();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = read(&bytes);
    }

    #[test]
    fn nonsense_after_a_plausible_beginning(lead in 0..3_usize, rest in prop::collection::vec(any::<u8>(), 0..400)) {
        let leads: [&[u8]; 3] = [b"\x0a\x0b\x12\x09/host:CPU", b"\x0a\xff\x03\x12\x09/host:CPU\x1a", b"\x0a\x7f\x12\x0d/device:GPU:0\x1a\x40"];
        let _ = read(&[leads[lead], &rest].concat());
    }

    #[test]
    fn pieces_out_of_order(which in 0..3_usize, from in any::<prop::sample::Index>(), length in 1..200_usize, to in any::<prop::sample::Index>()) {
        let mut bytes = [keras(), jax(), gpu()][which].clone();
        let from = from.index(bytes.len());
        let piece: Vec<u8> = bytes[from..].iter().take(length).copied().collect();
        let to = to.index(bytes.len());
        bytes.splice(to..to, piece);
        let _ = read(&bytes);
    }
}
