//! The way in: a folder of four tables or one file of trees, and the checks that both share.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use jouletree_model::Warning;

use super::error::IreneError;
use super::tree::{Dataset, Tree};
use super::{read_csv, read_jsonl};

/// The model the paper's authors measured and left out of all they published.
const LEFT_OUT_BY_THE_PAPER: &str = "sshleifer/tiny-ctrl";

/// Reads a device's data: a folder with the four tables (`.csv` or `.csv.gz`) or a file of trees (`.jsonl` or
/// `.jsonl.gz`).
pub fn read(path: &Path) -> Result<Dataset, IreneError> {
    let mut data = if path.is_dir() { read_csv::read_folder(path)? } else { read_jsonl::read_file(path)? };
    let source = path.display().to_string();
    leave_out_torn_trees(&mut data, &source);
    if data.trees.is_empty() {
        return Err(IreneError::Empty { path: path.to_owned() });
    }
    Ok(data)
}

/// A file as text, inflated if its name says so.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>, IreneError> {
    let file = File::open(path).map_err(|error| IreneError::Unreadable { path: path.to_owned(), error })?;
    let file = BufReader::with_capacity(1 << 16, file);
    if path.extension().is_some_and(|ending| ending == "gz") {
        Ok(Box::new(MultiGzDecoder::new(file)))
    } else {
        Ok(Box::new(file))
    }
}

/// Whether the publication leaves that model out everywhere.
pub(crate) fn is_left_out(model: &str) -> bool {
    model == LEFT_OUT_BY_THE_PAPER
}

/// What is said of that model.
pub(crate) fn left_out_warning(source: &str) -> Warning {
    Warning::new(source, format!("{LEFT_OUT_BY_THE_PAPER} is left out, as in the publication"))
}

/// A tree that lacks nodes its model has at other sizes would teach that the rest costs more than it does.
fn leave_out_torn_trees(data: &mut Dataset, source: &str) {
    let mut fullest: BTreeMap<&str, BTreeMap<(&str, &str), usize>> = BTreeMap::new();
    for tree in &data.trees {
        let of_model = fullest.entry(&tree.model).or_default();
        for (key, count) in names(tree) {
            let most = of_model.entry(key).or_default();
            *most = count.max(*most);
        }
    }
    let mut torn = BTreeSet::new();
    let mut warnings = Vec::new();
    for (place, tree) in data.trees.iter().enumerate() {
        let here = names(tree);
        let lacking: Vec<String> = fullest[tree.model.as_str()]
            .iter()
            .filter(|(key, most)| here.get(*key).copied().unwrap_or_default() < **most)
            .map(|((scope, kind), _)| format!("{scope}:{kind}"))
            .collect();
        if let Some(first) = lacking.first() {
            let message = format!(
                "{} lacks {} nodes that its model has at other sizes, such as `{first}`; the tree is left out: add \
                 their rows to use it",
                tree.title(),
                lacking.len()
            );
            warnings.push(Warning::new(source, message));
            torn.insert(place);
        }
    }
    let mut place = 0;
    data.trees.retain(|_| {
        place += 1;
        !torn.contains(&(place - 1))
    });
    data.warnings.extend(warnings);
}

fn names(tree: &Tree) -> BTreeMap<(&str, &str), usize> {
    let mut names = BTreeMap::new();
    for node in &tree.nodes {
        *names.entry((node.scope.as_str(), node.kind.as_str())).or_default() += 1;
    }
    names
}
