//! The model that a user means: a name, a description, a run, or a file of another framework.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use jouletree_model::{ModelTree, Warning};
use jouletree_predict::operators::builtin::{Choice, TOKENS};
use jouletree_predict::operators::{Found, find, from_tree};
use jouletree_predict::profile::{Sketch, input_size};
use jouletree_run::RunFolder;
use jouletree_trace::read_model;

use crate::print_warnings;

/// How many warnings are printed: a graph without shapes has one for each of its operations.
const MOST_WARNINGS: usize = 20;

#[derive(Args)]
pub struct ModelArgs {
    /// alexnet, vgg11, vgg13, vgg16, bert, albert, gpt2; a description (TOML, JSON); a run or its tree.json; an ONNX
    /// file with shapes
    #[arg(value_name = "MODEL")]
    pub model: String,
    /// Samples of one run of a model that is built in
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: Option<u64>,
    /// Tokens of a sample
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub seq: Option<u64>,
    /// Height and width of an image
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub image: Option<u64>,
    /// Layers of a transformer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub layers: Option<u64>,
    /// Features of a token
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub hidden: Option<u64>,
    /// Heads of attention
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub heads: Option<u64>,
}

impl ModelArgs {
    fn choice(&self) -> Choice {
        Choice {
            batch: self.batch,
            sequence: self.seq,
            image: self.image,
            layers: self.layers,
            hidden: self.hidden,
            heads: self.heads,
        }
    }

    /// Its operators.
    pub fn found(&self) -> Result<Found> {
        found(&self.model, self.choice())
    }

    /// Its primitives and glue in the tree of its modules.
    pub fn sketch(&self) -> Result<Sketch> {
        let path = Path::new(&self.model);
        if let Some(tree) = tree_at(path)? {
            refuse(&self.model, self.choice())?;
            let (batch, sequence) = input_size(&tree, None).unwrap_or((1, 1));
            return Ok(Sketch::of_tree(&tree, &self.model, batch, sequence));
        }
        let found = self.found()?;
        // A description does not say what of its sizes is a sample.
        let is_text = !path.exists() && !["alexnet", "vgg"].iter().any(|name| found.name.starts_with(name));
        let sequence = self.seq.unwrap_or(if is_text { TOKENS } else { 1 });
        Ok(Sketch::of_operators(&found, self.batch.unwrap_or(1), sequence))
    }
}

/// The tree in a file or a run; `None` where there is none.
fn tree_at(path: &Path) -> Result<Option<ModelTree>> {
    if path.is_dir() {
        return Ok(Some(RunFolder::open(path)?.read_model()?));
    }
    let is = |ending: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ending));
    if !path.is_file() || is("toml") {
        return Ok(None);
    }
    if is("json") {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        // A description is JSON, too; its reader reports what is wrong with it.
        return Ok(serde_json::from_slice(&text).ok());
    }
    Ok(Some(read_model(path)?))
}

fn refuse(model: &str, choice: Choice) -> Result<()> {
    if choice != Choice::default() {
        bail!(
            "{model}: its shapes are fixed; batch, sequence and the like can be chosen for models that are built in only"
        );
    }
    Ok(())
}

/// The operators of a model by its name or file.
pub fn found(model: &str, choice: Choice) -> Result<Found> {
    let path = Path::new(model);
    let is_ours = path.extension().is_some_and(|ending| ending == "toml" || ending == "json");
    if !path.is_file() || is_ours {
        return Ok(find(model, choice)?);
    }
    refuse(model, choice)?;
    let tree = read_model(path)?;
    let found = from_tree(&tree, model).with_context(|| model.to_owned())?;
    Ok(Found { name: model.to_owned(), operators: found.operators, warnings: found.warnings })
}

/// Says what of a model is not known; of many remarks of that kind only the first.
pub fn print_some(warnings: &[Warning]) {
    let shown = &warnings[..warnings.len().min(MOST_WARNINGS)];
    print_warnings(shown);
    let more = warnings.len() - shown.len();
    if more > 0 {
        writeln_stderr!("warning: and {more} more like these; --format json lists all of them");
    }
}
