//! Notebooks: the sources of code cells are patched inside of the JSON text, whose every other byte stays. All cells are one
//! program; each gets the hook for itself, as cells are run in any order. Magics are left as they are.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::patch::{Chunk, Edit, Insertion, Patch};
use crate::source::SourceFile;
use crate::syntax::{self, Dialect};
use crate::text::{SourcePosition, Text};
use crate::tree::Counts;
use crate::undo::{removals, without};
use crate::{Options, PatchError, project};

/// Magics of whole cells that run Python in the notebook's own process.
const PYTHON_MAGICS: &[&str] = &["time", "timeit", "capture", "prun"];

#[derive(Deserialize)]
struct Notebook<'a> {
    #[serde(borrow)]
    cells: Vec<Cell<'a>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Cell<'a> {
    cell_type: String,
    #[serde(borrow, default)]
    source: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    kernelspec: Language,
    #[serde(default)]
    language_info: Language,
}

#[derive(Deserialize, Default)]
struct Language {
    language: Option<String>,
    name: Option<String>,
}

/// A string of the JSON text: where its letters are.
struct Piece {
    /// Where it begins in the joined program, and how long it is there.
    start: usize,
    length: usize,
    /// Places from which letters of the program and bytes of the file go in step.
    steps: Vec<(usize, usize)>,
}

/// The code of one cell.
struct Code {
    /// The cell's number, from 1.
    number: u32,
    start: usize,
    /// Where Python begins, after the line of a magic.
    free: usize,
    end: usize,
}

/// All code of a notebook as one program.
pub(crate) struct Cells {
    pub source: String,
    pieces: Vec<Piece>,
    codes: Vec<Code>,
    pub notes: Vec<String>,
}

/// Patches a notebook by itself, without the files it imports.
pub fn patch_notebook(file: &str, source: &[u8], options: &Options) -> Result<Patch, PatchError> {
    project::alone(SourceFile::notebook, file, source, options)
}

/// The original of a patched notebook.
pub fn unpatched_notebook(source: &[u8]) -> Result<Vec<u8>, PatchError> {
    let program = Cells::of(source)?;
    let text = Text::decoded(program.source.clone());
    let module = syntax::parse(&text.text, Dialect::IPython, &mut Counts::default())
        .map_err(|error| text.syntax_error(error))?;
    let spans = removals(&module, &text.text);
    let in_file = spans.iter().filter_map(|span| program.stretch_in_file(span.start as usize, span.end as usize));
    Ok(without(source, in_file))
}

impl Cells {
    pub fn of(bytes: &[u8]) -> Result<Cells, PatchError> {
        let refused = |reason: String| PatchError::Notebook { reason };
        let text = std::str::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
        let lead = text.len() - text.trim_start_matches('\u{feff}').len();
        let notebook: Notebook<'_> = serde_json::from_str(text.get(lead..).unwrap_or_default())
            .map_err(|error| refused(error.to_string()))?;
        let mut program =
            Cells { source: String::new(), pieces: Vec::new(), codes: Vec::new(), notes: Vec::new() };
        let language = notebook.metadata.kernelspec.language.or(notebook.metadata.language_info.name);
        if let Some(language) = language.filter(|language| !language.eq_ignore_ascii_case("python")) {
            program.notes.push(format!("left as it is: its language is {language}"));
            return Ok(program);
        }
        for (number, cell) in (1..).zip(&notebook.cells) {
            if cell.cell_type == "code"
                && let Some(source) = cell.source
            {
                program.add(number, source, text)?;
            }
        }
        Ok(program)
    }

    fn add(&mut self, number: u32, source: &RawValue, whole: &str) -> Result<(), PatchError> {
        let start = self.source.len();
        let first_piece = self.pieces.len();
        let raw = source.get();
        if raw.starts_with('[') {
            let parts: Vec<&RawValue> =
                serde_json::from_str(raw).map_err(|error| PatchError::Notebook { reason: error.to_string() })?;
            parts.into_iter().for_each(|part| self.piece(part.get(), whole));
        } else {
            self.piece(raw, whole);
        }
        let code = self.source.get(start..).unwrap_or_default();
        let (free, skipped) = first_line(code);
        if let Some(magic) = skipped {
            self.notes.push(format!("cell {number} is left as it is: %%{magic} is not Python"));
            self.source.truncate(start);
            self.pieces.truncate(first_piece);
            return Ok(());
        }
        if free > 0 {
            // The line of a magic is a comment to the parser, and nothing is inserted into it.
            let lead = code.get(..free).unwrap_or_default();
            let blank = lead.len() - lead.trim_start().len();
            let line_end = lead.trim_end_matches(['\n', '\r']).len();
            let mask = format!("#{}", " ".repeat((line_end - blank).saturating_sub(1)));
            self.source.replace_range(start + blank..start + line_end, &mask);
        }
        let end = self.source.len();
        self.source.push('\n');
        self.codes.push(Code { number, start, free: start + free, end });
        Ok(())
    }

    /// Adds a string of the JSON text, which is a part of `whole`.
    fn piece(&mut self, raw: &str, whole: &str) {
        let in_file = (raw.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
        let Some(inner) = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) else { return };
        let start = self.source.len();
        let mut steps = vec![(start, in_file + 1)];
        let mut letters = inner.char_indices();
        while let Some((at, letter)) = letters.next() {
            if letter != '\\' {
                self.source.push(letter);
                continue;
            }
            let decoded = match letters.next().map(|(_, letter)| letter) {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('u') => unicode(inner, at, &mut letters),
                Some(letter) => letter,
                None => break,
            };
            self.source.push(decoded);
            let next = letters.clone().next().map_or(inner.len(), |(next, _)| next);
            steps.push((self.source.len(), in_file + 1 + next));
        }
        self.pieces.push(Piece { start, length: self.source.len() - start, steps });
    }

    /// Parses every cell by itself, so that an error is reported in its own cell.
    pub fn check(&self) -> Result<(), PatchError> {
        self.codes.iter().try_for_each(|code| self.check_cell(code))
    }

    fn check_cell(&self, code: &Code) -> Result<(), PatchError> {
        let text = Text::decoded(self.source.get(code.start..code.end).unwrap_or_default().to_owned());
        match syntax::parse(&text.text, Dialect::IPython, &mut Counts::default()) {
            Ok(_) => Ok(()),
            Err(malformed) => {
                let SourcePosition { line, col } = text.place(malformed.at);
                Err(PatchError::Syntax { cell: Some(code.number), line, col, message: malformed.message })
            }
        }
    }

    /// The stretches of the program that run by themselves.
    pub fn chunks(&self) -> Vec<Chunk> {
        self.codes.iter().map(|code| Chunk { free: code.free as u32, end: code.end as u32 }).collect()
    }

    /// The number of the cell in which something is, and how many lines of the program come before it.
    pub fn cell(&self, at: u32, text: &Text<'_>) -> Option<(u32, u32)> {
        let code = self.codes.iter().rev().find(|code| code.start <= at as usize)?;
        Some((code.number, text.place(code.start as u32).line - 1))
    }

    /// An insertion into the program as one into the file.
    pub fn edit(&self, insertion: &Insertion) -> Option<Edit> {
        Some(Edit { at: self.in_file(insertion.at as usize)?, text: escaped(&insertion.text) })
    }

    /// Where something is in the file.
    fn in_file(&self, at: usize) -> Option<usize> {
        let after = self.pieces.partition_point(|piece| piece.start <= at);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        piece.in_file(at)
    }

    /// Where a stretch inside of one string is in the file.
    fn stretch_in_file(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let after = self.pieces.partition_point(|piece| piece.start <= start);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        Some((piece.in_file(start)?, piece.in_file(end)?))
    }
}

impl Piece {
    fn in_file(&self, at: usize) -> Option<usize> {
        if at > self.start + self.length {
            return None;
        }
        let after = self.steps.partition_point(|(decoded, _)| *decoded <= at);
        let (decoded, raw) = self.steps.get(after.checked_sub(1)?)?;
        Some(raw + at - decoded)
    }
}

/// The letter of a `\u` escape, and of the one after it if they are halves of one.
fn unicode(inner: &str, at: usize, letters: &mut std::str::CharIndices<'_>) -> char {
    let unit = |from: usize| inner.get(from..from + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let first = unit(at + 2).unwrap_or(0xfffd);
    (0..4).for_each(|_| {
        letters.next();
    });
    if (0xd800..0xdc00).contains(&first)
        && inner.get(at + 6..at + 8) == Some("\\u")
        && let Some(second) = unit(at + 8).filter(|second| (0xdc00..0xe000).contains(second))
    {
        (0..6).for_each(|_| {
            letters.next();
        });
        return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).unwrap_or('\u{fffd}');
    }
    char::from_u32(first).unwrap_or('\u{fffd}')
}

/// Where Python begins in a cell, or the name of the magic that makes it something else.
fn first_line(code: &str) -> (usize, Option<String>) {
    let blank = code.len() - code.trim_start().len();
    let rest = code.get(blank..).unwrap_or_default();
    let Some(magic) = rest.strip_prefix("%%") else { return (0, None) };
    let name: String = magic.chars().take_while(|letter| !letter.is_whitespace()).collect();
    if !PYTHON_MAGICS.contains(&name.as_str()) {
        return (0, Some(name));
    }
    let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
    (blank + end, None)
}

/// Text as it is written inside of a JSON string.
fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => result += "\\\"",
            '\\' => result += "\\\\",
            '\n' => result += "\\n",
            '\r' => result += "\\r",
            letter => result.push(letter),
        }
    }
    result
}
