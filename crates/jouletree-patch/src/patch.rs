//! Sites and edits of one text: which calls are instrumented, and what is inserted for it.

use serde::Serialize;

use crate::header::{self, HOOK};
use crate::source::SourceFile;
use crate::text::Text;
use crate::tree::{Module, Stmt};
use crate::walk::Found;
use crate::{Level, Options, PatchError, project};

/// A call of a library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Site {
    /// In a notebook, the number of its cell, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// The line of the call in the original, from 1.
    pub line: u32,
    /// Its column as Python's `ast` counts: from 0, in bytes of UTF-8. The calls of a chain begin at the same place.
    pub col: u32,
    /// Where it ends.
    pub end_line: u32,
    /// Where it ends, likewise.
    pub end_col: u32,
    /// What is called, by its full path.
    pub name: String,
    /// Whether the patched program reports it.
    pub instrumented: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// Text to insert before a byte of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Where, in bytes of the file.
    pub at: usize,
    /// What.
    pub text: String,
}

/// Everything there is to say about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// Calls of libraries, in the order of the text; the hook identifies a call by its number in this list.
    pub sites: Vec<Site>,
    /// What to insert, in order.
    pub edits: Vec<Edit>,
    /// By which the hooks find the table of their sites.
    pub digest: String,
    /// What the user should know: cells that were skipped.
    pub notes: Vec<String>,
}

impl Patch {
    /// The patched file.
    #[must_use]
    pub fn applied(&self, source: &[u8]) -> Vec<u8> {
        let added: usize = self.edits.iter().map(|edit| edit.text.len()).sum();
        let mut result = Vec::with_capacity(source.len() + added);
        let mut at = 0;
        for edit in &self.edits {
            result.extend_from_slice(source.get(at..edit.at).unwrap_or_default());
            result.extend_from_slice(edit.text.as_bytes());
            at = edit.at.max(at);
        }
        result.extend_from_slice(source.get(at..).unwrap_or_default());
        result
    }

    /// How many calls the patched program reports.
    #[must_use]
    pub fn instrumented(&self) -> usize {
        self.sites.iter().filter(|site| site.instrumented).count()
    }
}

/// A stretch of text that runs by itself: a file, or a cell of a notebook.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    /// Where changes may begin, and where it ends.
    pub free: u32,
    pub end: u32,
}

/// An insertion into decoded text.
#[derive(Debug)]
pub(crate) struct Insertion {
    pub at: u32,
    pub text: String,
}

/// Patches a script by itself, without the files it imports. `file` is the name under which the runtime knows it.
pub fn patch_script(file: &str, source: &[u8], options: &Options) -> Result<Patch, PatchError> {
    project::alone(SourceFile::script, file, source, options)
}

pub(crate) fn site(found: &Found, text: &Text<'_>, cell: Option<(u32, u32)>) -> Site {
    let first_line = cell.map_or(0, |(_, line)| line);
    let (start, end) = (text.place(found.span.start), text.place(found.span.end));
    Site {
        cell: cell.map(|(cell, _)| cell),
        line: start.line - first_line,
        col: start.col,
        end_line: end.line - first_line,
        end_col: end.col,
        name: found.name.clone(),
        instrumented: found.reason.is_none(),
        reason: found.reason.clone(),
    }
}

/// Decides what is inserted into a text made of chunks, around the calls that were found in it.
pub(crate) fn insertions(
    header: &str,
    source: &str,
    module: &Module,
    chunks: &[Chunk],
    found: &[Found],
    level: Level,
) -> Vec<Insertion> {
    let mut insertions = hooks(found, source);
    for (number, chunk) in chunks.iter().enumerate() {
        let start = if number == 0 { 0 } else { chunk.free };
        let is_inside = |at: u32| at >= start && at < chunk.end;
        let first = module.body.partition_point(|statement| statement.span.start < start);
        let count = module.body.iter().skip(first).take_while(|statement| is_inside(statement.span.start)).count();
        let statements: &[Stmt] = module.body.get(first..first + count).unwrap_or_default();
        let is_wanted = match level {
            Level::Method => found.iter().any(|site| site.reason.is_none() && is_inside(site.span.start)),
            Level::Project => insertions.is_empty(),
        };
        if is_wanted && let Some(placed) = header::place(header, source, statements, chunk.free, chunk.end, found)
        {
            // Before the hooks of the statement that it precedes.
            insertions.insert(0, Insertion { at: placed.at, text: placed.text });
        }
    }
    insertions.sort_by_key(|insertion| insertion.at);
    insertions
}

/// The two insertions around each callee.
fn hooks(found: &[Found], source: &str) -> Vec<Insertion> {
    // Of calls that begin together the outermost hook comes first; callees and parentheses never coincide.
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|number| found.get(*number).map(|site| (site.callee, std::cmp::Reverse(site.span.end))));
    let mut insertions = Vec::with_capacity(2 * found.len());
    let mut last = None;
    for number in order {
        let Some(site) = found.get(number).filter(|site| site.reason.is_none()) else { continue };
        // `return(f)(x)`: a keyword that ends where the callee begins would become one word with the hook. Only the first
        // of several hooks is beside it.
        let follows_word = source
            .get(..site.callee as usize)
            .and_then(|before| before.chars().next_back())
            .is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
            && last != Some(site.callee);
        last = Some(site.callee);
        let text = if follows_word { format!(" {HOOK}({number},") } else { format!("{HOOK}({number}, ") };
        insertions.push(Insertion { at: site.callee, text });
        insertions.push(Insertion { at: site.open, text: ")".to_owned() });
    }
    insertions.sort_by_key(|insertion| insertion.at);
    insertions
}

/// A short mark of a file's content and of its sites (FNV-1a, 64 bits), by which the runtime knows that a table of sites
/// fits. What is found in a file depends on other files, too, so that its content alone would not identify it.
pub(crate) fn digest(source: &[u8], sites: &[Site]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        hash = bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    };
    add(source);
    for site in sites {
        add(&site.line.to_le_bytes());
        add(&site.col.to_le_bytes());
        add(&[u8::from(site.instrumented)]);
        add(site.name.as_bytes());
    }
    format!("{hash:016x}")
}
