//! One file, read and parsed: what it is before anything is found in it, and how what is found becomes a patch.

use crate::notebook::Cells;
use crate::patch::{Chunk, Edit, Patch, Site, digest, insertions, site};
use crate::syntax::{self, Dialect};
use crate::text::Text;
use crate::tree::{Counts, Module};
use crate::walk::Found;
use crate::{Level, Mode, Options, PatchError, fecom, header};

/// A script or a notebook.
pub(crate) struct SourceFile {
    /// By which the runtime knows it.
    name: String,
    pub source: Vec<u8>,
    text: Text<'static>,
    pub module: Module,
    /// Of a notebook.
    cells: Option<Cells>,
}

impl SourceFile {
    pub fn script(name: &str, source: &[u8], counts: &mut Counts) -> Result<SourceFile, PatchError> {
        let text = Text::of(source)?.into_owned();
        let module =
            syntax::parse(&text.text, Dialect::Python, counts).map_err(|error| text.syntax_error(error))?;
        refuse_patched(&text)?;
        Ok(SourceFile { name: name.to_owned(), source: source.to_vec(), text, module, cells: None })
    }

    pub fn notebook(name: &str, source: &[u8], counts: &mut Counts) -> Result<SourceFile, PatchError> {
        let cells = Cells::of(source)?;
        let text = Text::decoded(cells.source.clone());
        refuse_patched(&text)?;
        cells.check()?;
        let module =
            syntax::parse(&text.text, Dialect::IPython, counts).map_err(|error| text.syntax_error(error))?;
        Ok(SourceFile { name: name.to_owned(), source: source.to_vec(), text, module, cells: Some(cells) })
    }

    /// Patches the file, given what was found in it; where only the file itself matters, that is found here.
    pub fn patched(&self, found: Vec<Found>, options: &Options) -> Patch {
        let mut found = match (options.level, options.mode) {
            (Level::Project, _) => Vec::new(),
            (Level::Method, Mode::Full) => found,
            (Level::Method, Mode::Fecom) => fecom::find(&self.module, &self.text.text, &options.libraries),
        };
        found.dedup_by(|a, b| a.span == b.span);
        let cell = |found: &Found| self.cells.as_ref().and_then(|cells| cells.cell(found.span.start, &self.text));
        let sites: Vec<Site> = found.iter().map(|found| site(found, &self.text, cell(found))).collect();
        let digest = digest(&self.source, &sites);
        let header = match options.level {
            Level::Method => header::of_calls(&self.name, &digest),
            Level::Project => header::of_program(&self.name),
        };
        let whole = || vec![Chunk { free: self.text.free as u32, end: self.text.text.len() as u32 }];
        let chunks = self.cells.as_ref().map_or_else(whole, Cells::chunks);
        let insertions = insertions(&header, &self.text.text, &self.module, &chunks, &found, options.level);
        let edits = match &self.cells {
            Some(cells) => insertions.iter().filter_map(|one| cells.edit(one)).collect(),
            None => {
                insertions.into_iter().map(|one| Edit { at: self.text.in_file(one.at), text: one.text }).collect()
            }
        };
        let notes = self.cells.as_ref().map(|cells| cells.notes.clone()).unwrap_or_default();
        Patch { sites, edits, digest, notes }
    }
}

fn refuse_patched(text: &Text<'_>) -> Result<(), PatchError> {
    match header::found_in(&text.text) {
        Some(at) => Err(PatchError::Patched { line: text.place(at as u32).line }),
        None => Ok(()),
    }
}
