//! TFRecord files: records, each with its length and two check sums.
//!
//! A record is a length of eight bytes, the check sum of these, the data, and the check sum of the data, all little
//! endian. Reading ends at the first sum that is wrong: behind it nothing says where a record begins.

use crate::chrome::Ending;
use crate::input::Input;

use super::crc32c::masked_crc32c;

/// The length and its check sum.
const HEADER: usize = 12;
/// The check sum of the data.
const FOOTER: usize = 4;

/// The length of the record that begins here; `None` when its check sum is wrong or there is too little of it.
pub(super) fn record_length(start: &[u8]) -> Option<u64> {
    let length: [u8; 8] = start.get(..8)?.try_into().ok()?;
    let sum: [u8; 4] = start.get(8..HEADER)?.try_into().ok()?;
    (masked_crc32c(&length) == u32::from_le_bytes(sum)).then_some(u64::from_le_bytes(length))
}

/// Hands the data of every record to `each`, with the byte at which it begins, and returns how the file ends.
pub(super) fn read_records(input: &mut Input, mut each: impl FnMut(&[u8], u64)) -> Ending {
    while reach(input, 1) {
        if !reach(input, HEADER) {
            return cut(input);
        }
        let Some(length) = record_length(input.window()) else {
            return Ending::Wrong { at: input.offset(), expected: "the length of a record with its check sum" };
        };
        let end = usize::try_from(length).ok().and_then(|length| length.checked_add(HEADER));
        let Some((end, all)) = end.and_then(|end| Some((end, end.checked_add(FOOTER)?))) else {
            return cut(input);
        };
        if !reach(input, all) {
            return cut(input);
        }
        let (data, sum) = (&input.window()[HEADER..end], &input.window()[end..all]);
        if masked_crc32c(data).to_le_bytes() != sum {
            return Ending::Wrong { at: input.offset(), expected: "a record that agrees with its check sum" };
        }
        each(data, input.offset() + HEADER as u64);
        input.consume(all);
    }
    if input.failure().is_some() { cut(input) } else { Ending::Complete }
}

/// Widens the window to this length, if there is as much.
fn reach(input: &mut Input, length: usize) -> bool {
    while input.window().len() < length {
        if !input.more() {
            return false;
        }
    }
    true
}

/// The file ends inside the record at the beginning of the window.
fn cut(input: &Input) -> Ending {
    Ending::Cut { at: input.offset() + input.window().len() as u64, why: input.failure().map(ToString::to_string) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn record(data: &[u8]) -> Vec<u8> {
        let length = (data.len() as u64).to_le_bytes();
        let sums = [masked_crc32c(&length).to_le_bytes(), masked_crc32c(data).to_le_bytes()];
        [&length[..], &sums[0], data, &sums[1]].concat()
    }

    fn read(bytes: Vec<u8>) -> (Vec<(Vec<u8>, u64)>, Ending) {
        let mut records = Vec::new();
        let ending =
            read_records(&mut Input::plain(Cursor::new(bytes)), |data, at| records.push((data.to_vec(), at)));
        (records, ending)
    }

    #[test]
    fn records_come_as_they_were_written() {
        let long = vec![7; 1 << 20];
        let file = [record(b"one"), record(b""), record(&long), record(b"end")].concat();
        let (records, ending) = read(file);
        assert_eq!(records[..2], [(b"one".to_vec(), 12), (Vec::new(), 31)]);
        assert_eq!(records[2..], [(long, 47), (b"end".to_vec(), 47 + (1 << 20) + 16)]);
        assert_eq!(ending, Ending::Complete);
    }

    #[test]
    fn a_cut_or_wrong_record_ends_the_file() {
        let file = [record(b"first"), record(b"second")].concat();
        for end in 22..file.len() {
            let (records, ending) = read(file[..end].to_vec());
            assert_eq!(records.len(), 1);
            assert_eq!(ending, Ending::Cut { at: end as u64, why: None });
        }
        for place in 21..file.len() {
            let mut damaged = file.clone();
            damaged[place] ^= 0x10;
            let (records, ending) = read(damaged);
            assert_eq!(records.len(), 1);
            assert!(matches!(ending, Ending::Wrong { at: 21, .. }), "{ending:?}");
        }
        assert_eq!(read(Vec::new()), (Vec::new(), Ending::Complete));
    }
}
