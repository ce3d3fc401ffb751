//! The lines of a text file, as far as they are whole.

use std::io::{self, Read};

use jouletree_model::Warning;

use crate::input::Input;

/// A file that can be read line by line. When it is cut short, what follows the last end of a line is left out: half a
/// number looks like a number.
pub(super) struct Lines<'a> {
    input: Input<'a>,
    /// Where the file ends, when it is cut short.
    cut: Option<u64>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: Input<'a>) -> Lines<'a> {
        Lines { input, cut: None }
    }

    /// The warning that goes with a file that was cut short.
    pub(super) fn warning(&self, file: &str, rows: u64) -> Option<Warning> {
        let why = self.input.failure().map(|why| format!(" ({why})")).unwrap_or_default();
        let message = format!(
            "the file is cut short here{why}; the {rows} whole rows before are used, what came after is lost"
        );
        Some(Warning::new(file, message).at(format!("byte {}", self.cut?)))
    }
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let window = self.input.window();
            // All of a window may go out if a line ends behind it.
            let whole = match window.get(buffer.len()..) {
                Some(behind) if behind.contains(&b'\n') => buffer.len(),
                _ => window.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1).min(buffer.len()),
            };
            if whole > 0 || buffer.is_empty() {
                buffer[..whole].copy_from_slice(&window[..whole]);
                self.input.consume(whole);
                return Ok(whole);
            }
            if !self.input.more() {
                break;
            }
        }
        let window = self.input.window();
        if self.input.failure().is_some() {
            self.cut = Some(self.input.offset() + window.len() as u64);
            return Ok(0);
        }
        let length = window.len().min(buffer.len());
        buffer[..length].copy_from_slice(&window[..length]);
        self.input.consume(length);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn all(mut lines: Lines<'_>, piece: usize) -> Vec<u8> {
        let mut read = Vec::new();
        let mut buffer = vec![0; piece];
        while let Ok(length @ 1..) = lines.read(&mut buffer) {
            read.extend_from_slice(&buffer[..length]);
        }
        read
    }

    #[test]
    fn the_last_line_may_lack_its_end() {
        let text = b"one\ntwo and a long line\n\nthree".to_vec();
        for piece in 1..40 {
            assert_eq!(all(Lines::new(Input::plain(Cursor::new(text.clone()))), piece), text, "{piece}");
        }
    }

    #[test]
    fn half_a_line_of_a_broken_file_is_left_out() {
        struct Broken(Cursor<Vec<u8>>);
        impl Read for Broken {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match self.0.read(buffer)? {
                    0 => Err(io::Error::other("broken")),
                    length => Ok(length),
                }
            }
        }
        for piece in 1..12 {
            let mut lines = Lines::new(Input::plain(Broken(Cursor::new(b"one\n12345".to_vec()))));
            assert!(lines.warning("f", 0).is_none());
            let mut read = Vec::new();
            let mut buffer = vec![0; piece];
            while let Ok(length @ 1..) = lines.read(&mut buffer) {
                read.extend_from_slice(&buffer[..length]);
            }
            assert_eq!(read, b"one\n", "{piece}");
            let warning = lines.warning("f", 1).unwrap();
            assert_eq!(warning.position.as_deref(), Some("byte 9"));
        }
    }
}
