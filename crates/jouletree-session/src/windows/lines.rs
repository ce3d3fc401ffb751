//! Lines out of bytes that come in any pieces. No line is kept beyond its limit, and what is after a line that is too
//! long is read as if nothing had happened.

/// The longest line, its end not counted.
pub const LONGEST: usize = 64 * 1024;

/// A line, or what is left of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// All of it, without its end.
    Whole(Vec<u8>),
    /// It was longer than [`LONGEST`] and is lost.
    TooLong,
}

/// Collects lines.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    is_too_long: bool,
}

impl Lines {
    /// Takes bytes; the lines that end in them, empty ones left out.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            self.add(piece);
            if pieces.peek().is_some() {
                lines.extend(self.end());
            }
        }
        lines
    }

    /// The line that is not ended, when no more bytes will come.
    pub fn end(&mut self) -> Option<Line> {
        let line = std::mem::take(&mut self.begun);
        if std::mem::take(&mut self.is_too_long) {
            return Some(Line::TooLong);
        }
        (!line.trim_ascii().is_empty()).then_some(Line::Whole(line))
    }

    fn add(&mut self, piece: &[u8]) {
        if self.is_too_long || self.begun.len() + piece.len() > LONGEST {
            self.is_too_long = true;
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(piece);
        }
    }
}
