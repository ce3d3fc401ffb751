//! The parts of a model that take energy: primitives, which are measured and predicted one by one, and glue, the small work
//! between them, which only adds to the sizes of its module.

use jouletree_model::{Facts, ModelTree, Op, TensorShape};

use crate::irene::{ProductShape, Specs};
use crate::operators::{Operator, Shape, each_forward};

/// Bytes of an element by default.
const ELEMENT: f64 = 4.0;
const MEBIBYTE: f64 = 1_048_576.0;
const MEGA: f64 = 1e6;

/// One part of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPart {
    /// Its path, separated by `/`.
    pub path: String,
    /// What it computes.
    pub kind: String,
    /// Whether it is a primitive; else it is glue.
    pub is_primitive: bool,
    /// Its sizes.
    pub specs: Specs,
}

impl ModelPart {
    /// A shaped operator at a path.
    pub fn of_operator(path: impl Into<String>, operator: &Operator) -> ModelPart {
        let (kind, is_primitive) = kind_of(operator.shape());
        let count = operator.count();
        let accesses: u64 = count.tensors.iter().map(|tensor| tensor.reads.once + tensor.writes.once).sum();
        let specs = Specs {
            parameters: operator.parameters() as f64,
            megaflops: (count.mul + count.sum) as f64 / MEGA,
            mebibytes: accesses as f64 * ELEMENT / MEBIBYTE,
            product: product_of(operator.shape()),
        };
        ModelPart { path: path.into(), kind: kind.to_owned(), is_primitive, specs }
    }

    /// The attention of queries over as many keys, computed at once: `batch` sequences of `tokens`, each with `width`
    /// numbers over all heads.
    pub fn attention(path: impl Into<String>, batch: f64, tokens: f64, width: f64) -> ModelPart {
        let specs = Specs {
            megaflops: 4.0 * batch * tokens * tokens * width / MEGA,
            mebibytes: 4.0 * batch * tokens * width * ELEMENT / MEBIBYTE,
            ..Specs::default()
        };
        ModelPart { path: path.into(), kind: "attention".to_owned(), is_primitive: true, specs }
    }

    /// An operation of which only the sizes of its tensors are known; `None` when not even those are.
    fn of_tensors(op: &Op, facts: &Facts) -> Option<ModelPart> {
        // As they come from a file, sums of them need not fit into a whole number.
        let elements = |tensors: &[TensorShape]| -> f64 {
            tensors.iter().filter_map(TensorShape::elements).map(|elements| elements as f64).sum()
        };
        let (made, taken) = (elements(&facts.outputs), elements(&facts.inputs));
        let specs =
            Specs { megaflops: made / MEGA, mebibytes: (made + taken) * ELEMENT / MEBIBYTE, ..Specs::default() };
        (made > 0.0).then(|| ModelPart {
            path: op.path.to_string(),
            kind: op.op_type.to_string(),
            is_primitive: false,
            specs,
        })
    }
}

/// The parts of a tree's forward pass, and the operations without known sizes.
pub(super) fn of_tree(tree: &ModelTree) -> (Vec<ModelPart>, Vec<String>) {
    let (mut parts, mut unknown) = (Vec::new(), Vec::new());
    each_forward(tree, |op, facts, operator| {
        let part = match operator {
            Ok(operator) => Some(ModelPart::of_operator(&*op.path, &operator)),
            // The operations inside may have them.
            Err(_) if facts.is_module => return,
            Err(_) => fused_attention(op, facts).or_else(|| ModelPart::of_tensors(op, facts)),
        };
        match part {
            Some(part) => parts.push(part),
            None => unknown.push(op.path.to_string()),
        }
    });
    (parts, unknown)
}

/// Attention in one operation, described by queries of batch, heads, tokens and numbers.
fn fused_attention(op: &Op, facts: &Facts) -> Option<ModelPart> {
    if !is_fused_attention(&op.op_type) {
        return None;
    }
    let sizes: Option<Vec<f64>> =
        facts.inputs.first()?.dimensions.iter().map(|size| (*size > 0).then_some(*size as f64)).collect();
    let [batch, heads, tokens, head] = sizes?.try_into().ok()?;
    Some(ModelPart::attention(&*op.path, batch, tokens, heads * head))
}

/// Whether a type of operation is attention in one.
pub(super) fn is_fused_attention(op_type: &str) -> bool {
    op_type.contains("scaled_dot_product")
}

fn kind_of(shape: &Shape) -> (&'static str, bool) {
    match shape {
        Shape::Dense { .. } => ("linear", true),
        Shape::Conv2d(_) => ("conv2d", true),
        Shape::MaxPool2d(_) => ("maxpool", true),
        Shape::AveragePool2d(_) | Shape::AdaptiveAveragePool2d { .. } => ("averagepool", true),
        Shape::Relu { .. } => ("relu", true),
        Shape::Sigmoid { .. } => ("sigmoid", true),
        Shape::Tanh { .. } => ("tanh", true),
        Shape::Gelu { .. } => ("gelu", true),
        Shape::Softmax { .. } => ("softmax", true),
        Shape::LayerNorm { .. } => ("layernorm", true),
        Shape::MatMul { .. } => ("matmul", true),
        Shape::Embedding { .. } => ("embedding", true),
        Shape::Add { .. } => ("add", false),
        Shape::Multiply { .. } => ("multiply", false),
        Shape::View { .. } => ("view", false),
    }
}

fn product_of(shape: &Shape) -> Option<ProductShape> {
    match *shape {
        Shape::Dense { rows, inputs, outputs, .. } => {
            Some(ProductShape { rows: rows as f64, inner: inputs as f64, outer: outputs as f64 })
        }
        _ => None,
    }
}

/// The queries of an attention whose scores are computed apart: batch times heads, tokens and numbers of a head.
pub(super) fn queries(operator: &Operator) -> Option<(f64, f64, f64)> {
    match *operator.shape() {
        Shape::MatMul { batch, rows, inner, columns } if rows == columns => {
            Some((batch as f64, rows as f64, inner as f64))
        }
        _ => None,
    }
}
