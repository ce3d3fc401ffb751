//! Lists of library calls: for people, for programs, and the table that the runtime finds beside patched files.

use std::path::Path;

use anyhow::Result;
use jouletree_patch::{Level, Mode, Options, Patch, Site};
use serde::Serialize;

use crate::cli::InspectFormat;
use crate::columns::{Columns, Keep};
use crate::json;

/// The library calls of one or more files.
#[derive(Serialize)]
pub struct Listing {
    format: u32,
    level: &'static str,
    mode: &'static str,
    libraries: Vec<String>,
    files: Vec<FileSites>,
}

/// The calls of one file. The hook identifies a call by its index in the list.
#[derive(Serialize)]
pub struct FileSites {
    file: String,
    digest: String,
    sites: Vec<Site>,
}

impl FileSites {
    pub fn of(file: &str, patch: &Patch) -> FileSites {
        FileSites { file: file.to_owned(), digest: patch.digest.clone(), sites: patch.sites.clone() }
    }
}

#[derive(Serialize)]
struct Listed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(flatten)]
    site: &'a Site,
}

impl Listing {
    pub fn new(options: &Options) -> Listing {
        Listing {
            format: 1,
            level: match options.level {
                Level::Method => "method",
                Level::Project => "project",
            },
            mode: match options.mode {
                Mode::Full => "full",
                Mode::Fecom => "fecom",
            },
            libraries: options.libraries.clone(),
            files: Vec::new(),
        }
    }

    pub fn add(&mut self, file: &str, patch: &Patch) {
        self.files.push(FileSites::of(file, patch));
    }

    /// The table of sites as it is written to a file.
    pub fn json(&self) -> Result<String> {
        json::written(self)
    }

    /// The list for standard output, with the names of files where there are several.
    pub fn written(&self, format: InspectFormat, has_files: bool) -> Result<String> {
        let listed: Vec<Listed<'_>> = self
            .files
            .iter()
            .flat_map(|file| file.sites.iter().map(move |site| (file.file.as_str(), site)))
            .map(|(file, site)| Listed { file: has_files.then_some(file), site })
            .collect();
        match format {
            InspectFormat::Json => json::written(&listed),
            InspectFormat::Table => Ok(self.table(&listed)),
        }
    }

    fn table(&self, listed: &[Listed<'_>]) -> String {
        let mut table = Columns::new(&["place", "call", "instrumented"]).names(0).left(2).shorten(1, Keep::End);
        for Listed { file, site } in listed {
            let cell = site.cell.map(|cell| format!("cell {cell}:")).unwrap_or_default();
            let file = file.map(|file| format!("{file}:")).unwrap_or_default();
            table.row(vec![
                format!("{file}{cell}{}:{}", site.line, site.col),
                site.name.clone(),
                match &site.reason {
                    None => "yes".to_owned(),
                    Some(reason) => format!("no: {reason}"),
                },
            ]);
        }
        format!("{}\n{}\n", table.text(), self.counts())
    }

    fn counts(&self) -> String {
        let sites = || self.files.iter().flat_map(|file| &file.sites);
        let all = sites().count();
        let instrumented = sites().filter(|site| site.instrumented).count();
        format!("{instrumented} of {all} library calls are instrumented")
    }

    /// What was done, in a sentence.
    pub fn summary(&self, output: &Path) -> String {
        match self.level {
            "project" => format!("{}: one window around the whole program\n", output.display()),
            _ => format!("{}: {}\n", output.display(), self.counts()),
        }
    }
}
