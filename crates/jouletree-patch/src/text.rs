//! The bytes of a Python file as text, and the way back: byte-order marks, encodings that a first line declares, lines and
//! columns as Python counts them.

use std::borrow::Cow;

use crate::PatchError;
use crate::syntax::Malformed;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// A decoded file.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub text: Cow<'a, str>,
    /// How many bytes of the file come before the text.
    lead: usize,
    /// Letters that take two bytes in the text and one in the file, by where they are.
    widened: Vec<u32>,
    /// Where the first line that may be changed begins: after a line that declares the encoding or the interpreter.
    pub free: usize,
    /// Where each line begins.
    lines: Vec<u32>,
}

/// A place as Python's `ast` counts it: lines from 1, columns from 0 in bytes of UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourcePosition {
    pub line: u32,
    pub col: u32,
}

impl<'a> Text<'a> {
    /// Decodes a file.
    pub fn of(bytes: &'a [u8]) -> Result<Text<'a>, PatchError> {
        let (lead, rest) = match bytes.strip_prefix(MARK) {
            Some(rest) => (MARK.len(), rest),
            None => (0, bytes),
        };
        let (encoding, free) = declared(rest);
        let (text, widened) = match encoding.as_deref() {
            None => (utf8(rest)?, Vec::new()),
            Some(name) if lead > 0 || is_utf8(name) => (utf8(rest)?, Vec::new()),
            Some(name) if is_latin(name) => latin(rest),
            Some(name) => return Err(PatchError::Encoding { encoding: name.to_owned() }),
        };
        let lines = line_starts(&text);
        Ok(Text { text, lead, widened, free, lines })
    }

    /// Text that is decoded already: the cells of a notebook.
    pub fn decoded(text: String) -> Text<'static> {
        let lines = line_starts(&text);
        Text { text: Cow::Owned(text), lead: 0, widened: Vec::new(), free: 0, lines }
    }

    /// The same, without the bytes it was made of.
    pub fn into_owned(self) -> Text<'static> {
        let text = Cow::Owned(self.text.into_owned());
        Text { text, lead: self.lead, widened: self.widened, free: self.free, lines: self.lines }
    }

    /// Where something in the text is in the file.
    pub fn in_file(&self, at: u32) -> usize {
        let narrower = self.widened.partition_point(|letter| *letter < at);
        self.lead + at as usize - narrower
    }

    /// The line and the column of something in the text.
    pub fn place(&self, at: u32) -> SourcePosition {
        let line = self.lines.partition_point(|start| *start <= at);
        let start = line.checked_sub(1).and_then(|line| self.lines.get(line)).copied().unwrap_or(0);
        SourcePosition { line: line as u32, col: at - start }
    }

    /// A parser's complaint with its place.
    pub fn syntax_error(&self, malformed: Malformed) -> PatchError {
        let SourcePosition { line, col } = self.place(malformed.at);
        PatchError::Syntax { cell: None, line, col, message: malformed.message }
    }
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, PatchError> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = valid.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        PatchError::NotUtf8 { line }
    })
}

/// Latin-1: each byte is the letter of its number.
fn latin(bytes: &[u8]) -> (Cow<'_, str>, Vec<u32>) {
    let mut text = String::with_capacity(bytes.len());
    let mut widened = Vec::new();
    for byte in bytes {
        if !byte.is_ascii() {
            widened.push(text.len() as u32);
        }
        text.push(char::from(*byte));
    }
    (Cow::Owned(text), widened)
}

fn is_utf8(name: &str) -> bool {
    matches!(name, "utf-8" | "utf8" | "utf-8-sig" | "ascii" | "us-ascii" | "u8") || name.starts_with("utf-8-")
}

fn is_latin(name: &str) -> bool {
    matches!(name, "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "iso-latin-1" | "l1")
        || name.starts_with("latin-1-")
        || name.starts_with("iso-8859-1-")
        || name.starts_with("iso-latin-1-")
}

/// The encoding that the first two lines declare (PEP 263), and where the first line after the declaration begins.
fn declared(bytes: &[u8]) -> (Option<String>, usize) {
    let mut at = 0;
    let mut free = 0;
    for number in 0..2 {
        let rest = bytes.get(at..).unwrap_or_default();
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        let line = rest.get(..end).unwrap_or_default();
        let crlf = rest.get(end..end + 2) == Some(b"\r\n");
        at += (end + if crlf { 2 } else { 1 }).min(rest.len());
        if number == 0 && line.starts_with(b"#!") {
            free = at;
        }
        let blank = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\x0c'));
        match blank.and_then(|blank| line.get(blank..)) {
            Some(comment) if comment.starts_with(b"#") => {
                if let Some(name) = cookie(comment) {
                    return (Some(name), at);
                }
            }
            // Something else than a comment: the second line declares nothing.
            Some(_) => break,
            None => {}
        }
    }
    (None, free)
}

fn cookie(comment: &[u8]) -> Option<String> {
    let comment = String::from_utf8_lossy(comment);
    let mut rest = &*comment;
    while let Some(at) = rest.find("coding") {
        rest = rest.get(at + "coding".len()..)?;
        if let Some(value) = rest.strip_prefix([':', '=']) {
            let value = value.trim_start_matches([' ', '\t']);
            let end = value.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_.".contains(letter));
            let name = value.get(..end.unwrap_or(value.len()))?;
            if !name.is_empty() {
                return Some(name.to_ascii_lowercase().replace('_', "-"));
            }
        }
    }
    None
}

/// Where lines begin: after a line feed, a carriage return, or both.
fn line_starts(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for (at, byte) in bytes.iter().enumerate() {
        let ends = match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            starts.push(at as u32 + 1);
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_declared_in_the_first_two_lines() {
        for (lines, encoding, free) in [
            ("x = 1\n", None, 0),
            ("# -*- coding: latin-1 -*-\nx\n", Some("latin-1"), 26),
            ("#!/usr/bin/python\n# vim: set fileencoding=Latin_1 :\nx", Some("latin-1"), 52),
            ("#!/usr/bin/python\nx\n", None, 18),
            ("x\n# coding: latin-1\n", None, 0),
            ("\n# coding=utf8\r\nx", Some("utf8"), 16),
            ("# encoding is latin\n", None, 0),
        ] {
            assert_eq!(declared(lines.as_bytes()), (encoding.map(str::to_owned), free), "{lines:?}");
        }
    }

    #[test]
    fn places_are_those_of_python() {
        let text = Text::of(b"\xef\xbb\xbfa\r\nb\rc\n\nd").unwrap();
        let place = |line, col| SourcePosition { line, col };
        assert_eq!(text.place(0), place(1, 0));
        assert_eq!((text.place(3), text.place(5), text.place(8)), (place(2, 0), place(3, 0), place(5, 0)));
        assert_eq!(text.in_file(5), 8);
    }

    #[test]
    fn latin_letters_are_one_byte_in_the_file() {
        let text = Text::of(b"# coding: latin-1\n'\xe9\xe8' + x").unwrap();
        assert_eq!(&text.text[18..], "'éè' + x");
        let x = text.text.find('x').unwrap() as u32;
        assert_eq!((text.in_file(x), text.place(x)), (25, SourcePosition { line: 2, col: 9 }));
        assert!(matches!(Text::of(b"'\xe9'"), Err(PatchError::NotUtf8 { line: 1 })));
        assert!(matches!(Text::of(b"# coding: koi8-r\n"), Err(PatchError::Encoding { .. })));
    }
}
