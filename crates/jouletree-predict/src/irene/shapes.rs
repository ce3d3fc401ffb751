//! What the tables do not say of a primitive but its counts imply: the two sides of a matrix product's weight, and the
//! number of parameters.
//!
//! The published counts write a product of `n` rows as `2nio + no` operations when a bias is added and as `2nio` when it
//! is not, and count the weight once per sequence of the batch for the first kind. Two counts give two unknowns, so the
//! sides are exact wherever both solve to whole numbers.

use super::tree::{Specs, Tree};

/// Bytes of one number in the published counts.
const BYTES_PER_ELEMENT: f64 = 4.0;
/// Bytes of one MiB.
pub(crate) const MEBIBYTE: f64 = 1_048_576.0;
/// Operations of one megaflop.
pub(crate) const MEGA: f64 = 1e6;

/// A product of `rows` by `inner` by `outer`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProductShape {
    /// Rows of the activation.
    pub rows: f64,
    /// Columns of the activation, rows of the weight.
    pub inner: f64,
    /// Columns of the weight.
    pub outer: f64,
}

impl ProductShape {
    /// Millions of operations, without a bias.
    pub fn megaflops(self) -> f64 {
        2.0 * self.rows * self.inner * self.outer / MEGA
    }

    /// MiB of weight, input and output, each moved once.
    pub fn mebibytes(self) -> f64 {
        let elements = self.inner * self.outer + self.rows * (self.inner + self.outer);
        elements * BYTES_PER_ELEMENT / MEBIBYTE
    }

    /// Weight and bias.
    fn parameters(self) -> f64 {
        self.inner * self.outer + self.outer
    }
}

/// Whether the kind multiplies an activation by a weight.
pub(crate) fn is_product(kind: &str) -> bool {
    matches!(kind, "linear" | "conv1d")
}

/// A positive whole number near `value`, if there is one.
fn whole(value: f64) -> Option<f64> {
    let rounded = value.round();
    (rounded >= 1.0 && (value - rounded).abs() < 1e-3).then_some(rounded)
}

/// The numbers per token that the model works on; every layer normalisation has eight operations for each.
pub(crate) fn width(tree: &Tree) -> Option<f64> {
    let norm = tree.nodes.iter().find(|node| node.kind == "layernorm")?;
    whole(norm.specs.megaflops * MEGA / (8.0 * tree.tokens()))
}

/// The sides of a product, from its counts. Small products may have several whole solutions: one between the model's width
/// and something wider is the likeliest, then one between the width and something narrower. The narrower of two possible inputs is returned where input and output can be
/// exchanged without changing any count.
pub(crate) fn product_shape(tree: &Tree, specs: &Specs) -> Option<ProductShape> {
    let flops = specs.megaflops * MEGA;
    let elements = specs.mebibytes * MEBIBYTE / BYTES_PER_ELEMENT;
    let (batch_size, tokens) = (tree.batch_size, tree.tokens());
    let width = width(tree);
    biased(flops, elements, batch_size, tokens)
        .into_iter()
        // A pooler sees the first token of each sequence only.
        .chain([plain(flops, elements, tokens), plain(flops, elements, batch_size)])
        .flatten()
        .min_by_key(|shape| {
            let (narrow, wide) = (shape.inner.min(shape.outer), shape.inner.max(shape.outer));
            if Some(narrow) == width {
                0
            } else if Some(wide) == width {
                1
            } else {
                2
            }
        })
}

/// `flops = n o (2 i + 1)`, `elements = b i o + n i + 3 n o`: a quadratic in `o`.
fn biased(flops: f64, elements: f64, batch_size: f64, rows: f64) -> [Option<ProductShape>; 2] {
    let per_row = flops / rows;
    let a = 3.0 * rows - batch_size / 2.0;
    let b = batch_size * per_row / 2.0 - rows / 2.0 - elements;
    let c = rows * per_row / 2.0;
    let root = (b * b - 4.0 * a * c).sqrt();
    [(-b + root) / (2.0 * a), (-b - root) / (2.0 * a)].map(|outer| {
        let outer = whole(outer)?;
        let inner = whole((per_row / outer - 1.0) / 2.0)?;
        Some(ProductShape { rows, inner, outer })
    })
}

/// `flops = 2 n i o`, `elements = i o + n (i + o)`: the sides are the roots of one quadratic.
fn plain(flops: f64, elements: f64, rows: f64) -> Option<ProductShape> {
    let product = flops / (2.0 * rows);
    let sum = (elements - product) / rows;
    let root = (sum * sum / 4.0 - product).max(0.0).sqrt();
    let inner = whole(sum / 2.0 - root)?;
    let outer = whole(sum / 2.0 + root)?;
    ((inner * outer - product).abs() < 0.5).then_some(ProductShape { rows, inner, outer })
}

/// Rows of the embedding tables of the models the published data set holds; the counts of a lookup do not depend on them.
const EMBEDDING_ROWS: [(&str, &str, f64); 15] = [
    ("bert-base-uncased", "word_embeddings", 30522.0),
    ("bert-base-uncased", "position_embeddings", 512.0),
    ("bert-base-uncased", "token_type_embeddings", 2.0),
    ("distilbert-base-uncased", "word_embeddings", 30522.0),
    ("distilbert-base-uncased", "position_embeddings", 512.0),
    ("roberta-base", "word_embeddings", 50265.0),
    ("roberta-base", "position_embeddings", 514.0),
    ("roberta-base", "token_type_embeddings", 1.0),
    ("distilgpt2", "wte", 50257.0),
    ("distilgpt2", "wpe", 1024.0),
    ("gpt2", "wte", 50257.0),
    ("gpt2", "wpe", 1024.0),
    ("openai-gpt", "tokens_embed", 40478.0),
    ("openai-gpt", "positions_embed", 512.0),
    ("sshleifer/tiny-ctrl", "w", 246534.0),
];

/// Fills the parameters of every node of a tree whose layout has no column for them; returns the scopes of embeddings
/// whose table is unknown and was counted as nothing.
pub(crate) fn fill_parameters(tree: &mut Tree) -> Vec<String> {
    let tokens = tree.tokens();
    let width = width(tree).unwrap_or(0.0);
    let mut unknown = Vec::new();
    for place in 0..tree.nodes.len() {
        let node = &tree.nodes[place];
        let parameters = if !node.children.is_empty() {
            tree.children(node).map(|child| child.specs.parameters).sum()
        } else {
            match node.kind.as_str() {
                "layernorm" => 2.0 * (node.specs.megaflops * MEGA / (8.0 * tokens)).round(),
                "embedding" => {
                    let name = node.scope.rsplit('.').next().unwrap_or_default();
                    match EMBEDDING_ROWS.iter().find(|(model, table, _)| *model == tree.model && *table == name) {
                        Some((_, _, rows)) => rows * width,
                        None => {
                            unknown.push(node.scope.clone());
                            0.0
                        }
                    }
                }
                kind if is_product(kind) => product_shape(tree, &node.specs)
                    .map_or(0.0, |shape| oriented(tree, place, shape, width).parameters()),
                _ => 0.0,
            }
        };
        tree.nodes[place].specs.parameters = parameters;
    }
    unknown
}

/// Where input and output could be exchanged, the first product of a module reads the model's width and a later one
/// writes it.
fn oriented(tree: &Tree, place: usize, shape: ProductShape, width: f64) -> ProductShape {
    let node = &tree.nodes[place];
    let first = node
        .parent
        .and_then(|parent| tree.children(&tree.nodes[parent]).find(|child| is_product(&child.kind)))
        .is_some_and(|sibling| sibling.scope == node.scope);
    let exchangeable = node.kind == "conv1d";
    if exchangeable && !first && shape.inner == width && shape.outer != width {
        ProductShape { inner: shape.outer, outer: shape.inner, ..shape }
    } else {
        shape
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Level, Node};
    use super::*;
    use jouletree_model::Joules;
    use proptest::prelude::*;

    fn node(kind: &str, flops: f64, elements: f64) -> Node {
        let (megaflops, mebibytes) = (flops / MEGA, elements * BYTES_PER_ELEMENT / MEBIBYTE);
        Node {
            scope: kind.to_owned(),
            kind: kind.to_owned(),
            level: Level::Leaf,
            parent: None,
            children: Vec::new(),
            specs: Specs { megaflops, mebibytes, ..Specs::default() },
            resources: None,
            measured: Joules(1.0),
        }
    }

    fn tree(batch_size: f64, seq_len: f64, width: f64, leaf: Node) -> Tree {
        let numbers = batch_size * seq_len * width;
        let norm = node("layernorm", 8.0 * numbers, 4.0 * numbers);
        Tree { model: "made".to_owned(), batch_size, seq_len, nodes: vec![norm, leaf] }
    }

    #[test]
    fn a_pooler_is_not_mistaken_for_a_small_product_of_all_tokens() {
        let leaf = node("linear", 2.0 * 8.0 * 768.0 * 768.0, 768.0 * 768.0 + 2.0 * 8.0 * 768.0);
        let tree = tree(8.0, 96.0, 768.0, leaf);
        let shape = product_shape(&tree, &tree.nodes[1].specs);
        assert_eq!(shape, Some(ProductShape { rows: 8.0, inner: 768.0, outer: 768.0 }));
    }

    proptest! {
        /// The counts of a product with a bias give its sides back, in their order.
        #[test]
        fn sides_follow_from_counts(batch in 1u32..64, seq in 8u32..512, width in 32u32..2048, times in 2u32..5, narrows: bool) {
            let (batch, seq, width) = (f64::from(batch), f64::from(seq), f64::from(width));
            let wide = width * f64::from(times);
            let (inner, outer) = if narrows { (wide, width) } else { (width, wide) };
            let rows = batch * seq;
            let flops = 2.0 * rows * inner * outer + rows * outer;
            let elements = batch * inner * outer + rows * inner + 3.0 * rows * outer;
            let tree = tree(batch, seq, width, node("linear", flops, elements));
            let shape = product_shape(&tree, &tree.nodes[1].specs);
            prop_assert_eq!(shape, Some(ProductShape { rows, inner, outer }));
        }

        /// Without a bias the narrower side is named first.
        #[test]
        fn sides_without_a_bias_follow_too(batch in 1u32..64, seq in 8u32..512, width in 32u32..2048, times in 1u32..5) {
            let (batch, seq, inner) = (f64::from(batch), f64::from(seq), f64::from(width));
            let (outer, rows) = (inner * f64::from(times), batch * seq);
            let elements = inner * outer + rows * (inner + outer);
            let tree = tree(batch, seq, inner, node("conv1d", 2.0 * rows * inner * outer, elements));
            let shape = product_shape(&tree, &tree.nodes[1].specs);
            prop_assert_eq!(shape, Some(ProductShape { rows, inner, outer }));
        }
    }
}
