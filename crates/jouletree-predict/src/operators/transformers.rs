//! BERT, ALBERT and GPT-2, put together from the parts that they have in common: attention, feed-forward, norms.

use super::builtin::TextInput;
use super::{Operator, Shape, ShapeError, named};

/// A transformer's dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transformer {
    /// Layers.
    pub layers: u64,
    /// Features of a token.
    pub hidden: u64,
    /// Heads of attention; they divide the features.
    pub heads: u64,
    /// Features inside the feed-forward part.
    pub feed_forward: u64,
    /// Rows of the table of words.
    pub vocabulary: u64,
    /// Rows of the table of positions.
    pub positions: u64,
    /// Features of an embedding, where they are fewer than those of a token (ALBERT).
    pub embedding: u64,
}

/// A list of operators that grows; `borrows` while the weights are those of an earlier layer.
struct Build {
    operators: Vec<Operator>,
    borrows: bool,
}

impl Build {
    fn new() -> Build {
        Build { operators: Vec::new(), borrows: false }
    }

    fn push(&mut self, prefix: &str, name: &str, shape: Shape) -> Result<(), ShapeError> {
        let operator = Operator::new(named(prefix, name), shape)?;
        self.operators.push(if self.borrows { operator.with_borrowed_weights() } else { operator });
        Ok(())
    }
}

impl Transformer {
    fn check(&self, input: TextInput) -> Result<(), ShapeError> {
        let wrong = |reason: String| Err(ShapeError { operator: "model".to_owned(), reason });
        if self.heads == 0 || !self.hidden.is_multiple_of(self.heads) {
            return wrong(format!(
                "{} features cannot be split into {} heads; `heads` must divide `hidden`",
                self.hidden, self.heads
            ));
        }
        if input.sequence > self.positions {
            return wrong(format!(
                "a sequence of {} tokens is longer than the {} positions that the model knows; give a shorter one",
                input.sequence, self.positions
            ));
        }
        Ok(())
    }

    fn attention(&self, build: &mut Build, prefix: &str, input: TextInput) -> Result<(), ShapeError> {
        let rows = input.batch.saturating_mul(input.sequence);
        let dense = Shape::Dense { rows, inputs: self.hidden, outputs: self.hidden, bias: true };
        for name in ["q", "k", "v"] {
            build.push(prefix, name, dense)?;
        }
        let (batch, head, tokens) =
            (input.batch.saturating_mul(self.heads), self.hidden / self.heads, input.sequence);
        build.push(prefix, "scores", Shape::MatMul { batch, rows: tokens, inner: head, columns: tokens })?;
        let softmax = Shape::Softmax { rows: batch.saturating_mul(tokens), length: tokens, scaled: true };
        build.push(prefix, "scale+softmax", softmax)?;
        build.push(prefix, "context", Shape::MatMul { batch, rows: tokens, inner: tokens, columns: head })?;
        build.push(prefix, "attn_out", dense)
    }

    fn feed_forward(&self, build: &mut Build, prefix: &str, input: TextInput) -> Result<(), ShapeError> {
        let rows = input.batch.saturating_mul(input.sequence);
        let up = Shape::Dense { rows, inputs: self.hidden, outputs: self.feed_forward, bias: true };
        let down = Shape::Dense { rows, inputs: self.feed_forward, outputs: self.hidden, bias: true };
        build.push(prefix, "ff1", up)?;
        build.push(prefix, "gelu", Shape::Gelu { elements: rows.saturating_mul(self.feed_forward) })?;
        build.push(prefix, "ff2", down)
    }

    fn residual(&self, input: TextInput) -> Shape {
        let rows = input.batch.saturating_mul(input.sequence);
        Shape::Add { elements: rows.saturating_mul(self.hidden) }
    }

    fn norm(&self, input: TextInput) -> Shape {
        Shape::LayerNorm { rows: input.batch.saturating_mul(input.sequence), width: self.hidden }
    }

    /// Attention, then feed-forward, each followed by a residual and a norm.
    fn encoder_layer(&self, build: &mut Build, prefix: &str, input: TextInput) -> Result<(), ShapeError> {
        self.attention(build, prefix, input)?;
        build.push(prefix, "residual1", self.residual(input))?;
        build.push(prefix, "ln1", self.norm(input))?;
        self.feed_forward(build, prefix, input)?;
        build.push(prefix, "residual2", self.residual(input))?;
        build.push(prefix, "ln2", self.norm(input))
    }

    /// The same parts with each norm before what it serves, as in GPT-2.
    fn decoder_layer(&self, build: &mut Build, prefix: &str, input: TextInput) -> Result<(), ShapeError> {
        build.push(prefix, "ln1", self.norm(input))?;
        self.attention(build, prefix, input)?;
        build.push(prefix, "residual1", self.residual(input))?;
        build.push(prefix, "ln2", self.norm(input))?;
        self.feed_forward(build, prefix, input)?;
        build.push(prefix, "residual2", self.residual(input))
    }

    /// Words and positions, and types of sentences where the model knows them, added up.
    fn embeddings(&self, build: &mut Build, types: Option<u64>, input: TextInput) -> Result<(), ShapeError> {
        let tokens = input.batch.saturating_mul(input.sequence);
        let tables = [("word", Some(self.vocabulary)), ("position", Some(self.positions)), ("type", types)];
        let mut is_first = true;
        for (name, vocabulary) in tables {
            let Some(vocabulary) = vocabulary else { continue };
            build.push("embeddings", name, Shape::Embedding { tokens, vocabulary, width: self.embedding })?;
            if !is_first {
                let elements = tokens.saturating_mul(self.embedding);
                build.push("embeddings", &format!("add_{name}"), Shape::Add { elements })?;
            }
            is_first = false;
        }
        Ok(())
    }

    /// One layer of an encoder, alone.
    pub fn one_encoder_layer(&self, input: TextInput) -> Result<Vec<Operator>, ShapeError> {
        self.check(input)?;
        let mut build = Build::new();
        self.encoder_layer(&mut build, "", input)?;
        Ok(build.operators)
    }

    /// BERT with its pooler; ALBERT where `shares_layers`: one layer's weights for all, and narrow embeddings.
    pub fn encoder(&self, shares_layers: bool, input: TextInput) -> Result<Vec<Operator>, ShapeError> {
        self.check(input)?;
        let mut build = Build::new();
        let rows = input.batch.saturating_mul(input.sequence);
        self.embeddings(&mut build, Some(2), input)?;
        build.push("embeddings", "ln", Shape::LayerNorm { rows, width: self.embedding })?;
        if self.embedding != self.hidden {
            let widen = Shape::Dense { rows, inputs: self.embedding, outputs: self.hidden, bias: true };
            build.push("embeddings", "projection", widen)?;
        }
        for layer in 0..self.layers {
            build.borrows = shares_layers && layer > 0;
            self.encoder_layer(&mut build, &format!("layer.{layer}"), input)?;
        }
        build.borrows = false;
        let pooler = Shape::Dense { rows: input.batch, inputs: self.hidden, outputs: self.hidden, bias: true };
        build.push("pooler", "dense", pooler)?;
        build.push("pooler", "tanh", Shape::Tanh { elements: input.batch.saturating_mul(self.hidden) })?;
        Ok(build.operators)
    }

    /// GPT-2 with its head over all tokens, whose weights are those of the table of words.
    pub fn decoder(&self, input: TextInput) -> Result<Vec<Operator>, ShapeError> {
        self.check(input)?;
        let mut build = Build::new();
        let rows = input.batch.saturating_mul(input.sequence);
        self.embeddings(&mut build, None, input)?;
        for layer in 0..self.layers {
            self.decoder_layer(&mut build, &format!("layer.{layer}"), input)?;
        }
        build.push("", "ln_f", self.norm(input))?;
        build.borrows = true;
        let head = Shape::Dense { rows, inputs: self.hidden, outputs: self.vocabulary, bias: false };
        build.push("", "lm_head", head)?;
        Ok(build.operators)
    }
}

/// The place of an operator among the modules of its model, as frameworks nest them. Operators of other models keep their
/// names.
pub(crate) fn module_path(operator: &str) -> String {
    let layer = operator.strip_prefix("layer.").and_then(|rest| rest.split_once('/'));
    let Some((number, name)) = layer else { return operator.to_owned() };
    let inside = match name {
        "q" => "attention/self/query",
        "k" => "attention/self/key",
        "v" => "attention/self/value",
        "scores" | "scale+softmax" | "context" => return format!("encoder/layer.{number}/attention/self/{name}"),
        "attn_out" => "attention/output/dense",
        "residual1" => "attention/output/residual",
        "ln1" => "attention/output/norm",
        "ff1" => "intermediate/dense",
        "gelu" => "intermediate/gelu",
        "ff2" => "output/dense",
        "residual2" => "output/residual",
        "ln2" => "output/norm",
        other => other,
    };
    format!("encoder/layer.{number}/{inside}")
}
