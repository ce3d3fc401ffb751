//! Sites and edits of one text: which calls are instrumented, and what is inserted for it.

use serde::Serialize;

use crate::header::{self, HOOK};
use crate::syntax::{self, Dialect};
use crate::text::Text;
use crate::tree::{Module, Stmt};
use crate::walk::{self, Found};
use crate::{Level, Mode, Options, PatchError, fecom};

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
    /// Calls of libraries, in the order of the text; the hook is told a call by its number in this list.
    pub sites: Vec<Site>,
    /// What to insert, in order.
    pub edits: Vec<Edit>,
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

/// What was found in a text and is to be inserted.
pub(crate) struct Plan {
    pub found: Vec<Found>,
    pub insertions: Vec<Insertion>,
}

/// Patches a script. `file` is the name under which the runtime knows it.
pub fn patch_script(file: &str, source: &[u8], options: &Options) -> Result<Patch, PatchError> {
    let text = Text::of(source)?;
    let module = syntax::parse(&text.text, Dialect::Python).map_err(|error| text.syntax_error(error))?;
    let whole = Chunk { free: text.free as u32, end: text.text.len() as u32 };
    if let Some(at) = header::found_in(&text.text) {
        return Err(PatchError::Patched { line: text.place(at as u32).line });
    }
    let plan = plan(file, &digest(source), &text.text, &module, &[whole], options);
    let sites = plan.found.iter().map(|found| site(found, &text, None)).collect();
    let edits = plan.insertions.into_iter().map(|one| Edit { at: text.in_file(one.at), text: one.text }).collect();
    Ok(Patch { sites, edits, notes: Vec::new() })
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

/// Decides what is inserted into a text made of chunks.
pub(crate) fn plan(
    file: &str,
    digest: &str,
    source: &str,
    module: &Module,
    chunks: &[Chunk],
    options: &Options,
) -> Plan {
    let mut found = match (options.level, options.mode) {
        (Level::Project, _) => Vec::new(),
        (Level::Method, Mode::Full) => walk::find(module, &options.libraries),
        (Level::Method, Mode::Fecom) => fecom::find(module, source, &options.libraries),
    };
    found.dedup_by(|a, b| a.span == b.span);
    let mut insertions = hooks(&found, source);
    let header = match options.level {
        Level::Method => header::of_calls(file, digest),
        Level::Project => header::of_program(file),
    };
    for (number, chunk) in chunks.iter().enumerate() {
        let start = if number == 0 { 0 } else { chunk.free };
        let is_inside = |at: u32| at >= start && at < chunk.end;
        let first = module.body.partition_point(|statement| statement.span.start < start);
        let count = module.body.iter().skip(first).take_while(|statement| is_inside(statement.span.start)).count();
        let statements: &[Stmt] = module.body.get(first..first + count).unwrap_or_default();
        let is_wanted = match options.level {
            Level::Method => found.iter().any(|site| site.reason.is_none() && is_inside(site.span.start)),
            Level::Project => insertions.is_empty(),
        };
        if is_wanted
            && let Some(placed) = header::place(&header, source, statements, chunk.free, chunk.end, &found)
        {
            // Before the hooks of the statement that it precedes.
            insertions.insert(0, Insertion { at: placed.at, text: placed.text });
        }
    }
    insertions.sort_by_key(|insertion| insertion.at);
    Plan { found, insertions }
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
        // of several hooks stands beside it.
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

/// A short mark of a file's content (FNV-1a, 64 bits), by which the runtime knows that a table of sites fits.
#[must_use]
pub fn digest(source: &[u8]) -> String {
    let hash = source
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}
