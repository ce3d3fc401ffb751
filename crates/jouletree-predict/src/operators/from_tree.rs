//! Operators of a model tree: that of a run, or of an ONNX graph whose shapes are known.
//!
//! A tree says which tensors an operation takes and makes, not its kernel or stride. What does not follow from shapes
//! follows from the counts of parameters and of floating-point operations, or else the operation is left out and named.

use std::collections::BTreeSet;

use jouletree_model::{Facts, ModelTree, Op, Pass, TensorShape, Warning};

use super::{Convolution, Operator, Shape};

/// The operators of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeOperators {
    /// The operators of its forward pass, in the tree's order.
    pub operators: Vec<Operator>,
    /// Which operations were left out, and why.
    pub warnings: Vec<Warning>,
}

/// A tree without anything to count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// No node at all.
    #[error("the tree is empty; give the tree.json of a run, or a model file")]
    Empty,
    /// No node with shapes that could be read.
    #[error(
        "none of the tree's {nodes} nodes could be counted ({first}); record the run with shapes, or describe \
             the model in a file"
    )]
    Nothing {
        /// How many nodes it has.
        nodes: usize,
        /// Why the first was left out.
        first: String,
    },
}

/// The operators of a tree's forward pass. `source` names the tree in warnings.
pub fn from_tree(tree: &ModelTree, source: &str) -> Result<TreeOperators, TreeError> {
    if tree.is_empty() {
        return Err(TreeError::Empty);
    }
    let mut operators = Vec::new();
    let mut warnings = Vec::new();
    each_forward(tree, |op, _, operator| match operator {
        Ok(operator) => operators.push(operator),
        Err(reason) => warnings.push(left_out(op, source, &reason)),
    });
    // Views take nothing: a tree of which only these are known would come out at 0 J, which is wrong and not small.
    if operators.iter().all(|operator| matches!(operator.shape(), Shape::View { .. })) {
        let first =
            warnings.first().map_or("nothing in it computes".to_owned(), |warning| warning.message.clone());
        return Err(TreeError::Nothing { nodes: tree.nodes().len(), first });
    }
    Ok(TreeOperators { operators, warnings })
}

/// Shows every operation of the forward pass, and every module that computes by itself, as an operator or with the reason
/// why it is none.
pub(crate) fn each_forward(tree: &ModelTree, mut show: impl FnMut(&Op, &Facts, Result<Operator, String>)) {
    let mut counted_modules = BTreeSet::new();
    for (_, op, facts) in tree.nodes() {
        if op.pass != Pass::Forward || is_inside(&op.path, &counted_modules) {
            continue;
        }
        let kind = kind(&op.op_type);
        if facts.is_module && !is_leaf_module(kind.as_str()) {
            continue;
        }
        let operator =
            shape(&kind, facts).and_then(|shape| Operator::new(&*op.path, shape).map_err(|error| error.reason));
        // The operations inside a module that was counted as a whole must not count again.
        if operator.is_ok() && facts.is_module {
            counted_modules.insert(op.path.clone());
        }
        show(op, facts, operator);
    }
}

fn is_inside(path: &str, modules: &BTreeSet<Box<str>>) -> bool {
    let mut ends = path.match_indices('/').map(|(index, _)| &path[..index]);
    ends.any(|module| modules.contains(module)) || modules.contains(path)
}

fn left_out(op: &Op, source: &str, reason: &str) -> Warning {
    Warning::new(source, format!("`{}` ({}) is not counted: {reason}", op.path, op.op_type))
}

/// The type of an operation without its framework's words: `aten::addmm` and `fusion:dot` are `addmm` and `dot`.
fn kind(op_type: &str) -> String {
    let short = op_type.rsplit(':').next().unwrap_or(op_type);
    short.trim_start_matches('_').to_ascii_lowercase().replace(['-', '_'], "")
}

/// Modules that compute by themselves, rather than hold others.
fn is_leaf_module(kind: &str) -> bool {
    let plain = ["linear", "conv2d", "relu", "tanh", "sigmoid", "softmax", "layernorm", "embedding", "dropout"];
    plain.contains(&kind) || GELUS.contains(&kind) || kind == "conv1d"
}

/// Names under which the Gaussian error linear unit goes.
const GELUS: [&str; 6] =
    ["gelu", "fastgelu", "biasgelu", "geluactivation", "newgeluactivation", "fastgeluactivation"];

fn shape(kind: &str, facts: &Facts) -> Result<Shape, String> {
    match kind {
        "linear" | "gemm" | "fusedgemm" | "addmm" | "biasadd+matmul" => dense(facts),
        "conv1d" => transposed_dense(facts),
        "matmul" | "fusedmatmul" | "bmm" | "mm" | "dot" | "batchmatmul" | "batchmatmulv2" => product(facts),
        "conv" | "conv2d" | "convolution" | "fusedconv" => convolution(facts),
        "relu" => Ok(Shape::Relu { elements: made(facts)?, in_place: false }),
        "sigmoid" | "logistic" => Ok(Shape::Sigmoid { elements: made(facts)? }),
        "tanh" => Ok(Shape::Tanh { elements: made(facts)? }),
        gelu if GELUS.contains(&gelu) => Ok(Shape::Gelu { elements: made(facts)? }),
        "softmax" => {
            let (rows, length) = rows(output(facts)?)?;
            Ok(Shape::Softmax { rows, length, scaled: false })
        }
        "layernorm" | "layernormalization" | "nativelayernorm" | "skiplayernormalization" => {
            let (rows, width) = rows(output(facts)?)?;
            Ok(Shape::LayerNorm { rows, width })
        }
        "gather" | "embedding" | "embeddinglookup" => embedding(facts),
        "add" | "addv2" | "sub" | "subtract" => Ok(Shape::Add { elements: made(facts)? }),
        "mul" | "multiply" => Ok(Shape::Multiply { elements: made(facts)? }),
        "reshape" | "transpose" | "flatten" | "dropout" | "squeeze" | "unsqueeze" | "identity" | "view"
        | "permute" | "expand" | "slice" | "split" | "bitcast" | "copy" => {
            Ok(Shape::View { elements: made(facts).unwrap_or(0) })
        }
        _ => Err("theory knows no operator of this type".to_owned()),
    }
}

fn output(facts: &Facts) -> Result<&TensorShape, String> {
    facts.outputs.first().ok_or_else(|| "the shape of its output is not known".to_owned())
}

fn made(facts: &Facts) -> Result<u64, String> {
    elements(output(facts)?)
}

fn elements(tensor: &TensorShape) -> Result<u64, String> {
    tensor.elements().ok_or_else(|| format!("the size of {tensor} is not known"))
}

/// A tensor as rows of its last dimension.
fn rows(tensor: &TensorShape) -> Result<(u64, u64), String> {
    let length = tensor.dimensions.last().and_then(|size| u64::try_from(*size).ok());
    let length = length.ok_or_else(|| format!("{tensor} has no last dimension of a known size"))?;
    Ok((elements(tensor)?.checked_div(length).unwrap_or(0), length))
}

/// Rows and features of a dense layer; its weights may be missing among the inputs when they were packed beforehand.
fn dense(facts: &Facts) -> Result<Shape, String> {
    let (made_rows, outputs) = rows(output(facts)?)?;
    let input = facts.inputs.iter().find(|tensor| {
        tensor
            .elements()
            .is_some_and(|elements| made_rows > 0 && elements % made_rows == 0 && tensor.dimensions.len() > 1)
    });
    let inputs = input.map(rows).transpose()?.map(|(_, features)| features);
    let inputs = inputs.ok_or("the shape of its input is not known")?;
    let weights = inputs.saturating_mul(outputs);
    let has_vector = facts.inputs.iter().any(|t| t.dimensions.len() == 1 && t.elements() == Some(outputs));
    let bias = has_vector || facts.parameters.is_some_and(|count| count > weights);
    Ok(Shape::Dense { rows: made_rows, inputs, outputs, bias })
}

/// The dense layer that transformers call `Conv1D`; a convolution of that name has other parameters.
fn transposed_dense(facts: &Facts) -> Result<Shape, String> {
    match dense(facts)? {
        Shape::Dense { inputs, outputs, .. }
            if facts.parameters
                != inputs.checked_mul(outputs).and_then(|weights| weights.checked_add(outputs)) =>
        {
            Err("theory knows no convolution over one dimension".to_owned())
        }
        dense => Ok(dense),
    }
}

/// A product of two matrices: by weights when the second has no batch, by another tensor when it has.
fn product(facts: &Facts) -> Result<Shape, String> {
    let (Some(first), Some(second)) = (facts.inputs.first(), facts.inputs.get(1)) else { return dense(facts) };
    let (rows_made, columns) = rows(output(facts)?)?;
    let (_, inner) = rows(first)?;
    if second.dimensions.len() <= 2 {
        return Ok(Shape::Dense { rows: rows_made, inputs: inner, outputs: columns, bias: false });
    }
    let batch = elements(second)?.checked_div(inner.saturating_mul(columns)).unwrap_or(0);
    let each = rows_made.checked_div(batch).ok_or("its operands do not fit to its output")?;
    Ok(Shape::MatMul { batch, rows: each, inner, columns })
}

/// A convolution whose kernel is among its inputs; the stride is what leads to the output, without padding that the
/// tree lacks.
fn convolution(facts: &Facts) -> Result<Shape, String> {
    let sizes = |tensor: &TensorShape| -> Option<[u64; 4]> {
        let sizes: Option<Vec<u64>> = tensor.dimensions.iter().map(|size| u64::try_from(*size).ok()).collect();
        sizes?.try_into().ok()
    };
    let input = facts.inputs.first().and_then(sizes).ok_or("its input has not four dimensions of known sizes")?;
    let weight = facts.inputs.get(1).and_then(sizes).ok_or("the shape of its kernel is not known")?;
    let made = sizes(output(facts)?).ok_or("its output has not four dimensions of known sizes")?;
    let groups = input[1].checked_div(weight[1]).filter(|groups| *groups > 0).ok_or("its kernel fits no group")?;
    let side = |axis: usize| fitting(input[axis], weight[axis], made[axis]);
    let ((stride_down, pad_down), (stride_across, pad_across)) = (side(2)?, side(3)?);
    let elements = made[1];
    Ok(Shape::Conv2d(Convolution {
        batch: input[0],
        in_channels: input[1],
        out_channels: made[1],
        height: input[2],
        width: input[3],
        kernel: [weight[2], weight[3]],
        stride: [stride_down, stride_across],
        padding: [pad_down, pad_across],
        groups,
        bias: facts.inputs.get(2).is_some_and(|bias| bias.elements() == Some(elements)),
    }))
}

/// The smallest stride, and with it the smallest padding, that leads from a side of the input to that of the output.
fn fitting(input: u64, kernel: u64, output: u64) -> Result<(u64, u64), String> {
    let fits = |stride: u64, padding: u64| {
        (input + 2 * padding).checked_sub(kernel).is_some_and(|space| space / stride + 1 == output)
    };
    let most = kernel.min(64);
    let mut pairs = (1..=16).flat_map(|stride| (0..=most).map(move |padding| (stride, padding)));
    pairs
        .find(|(stride, padding)| input < 1 << 32 && fits(*stride, *padding))
        .ok_or_else(|| format!("no stride leads from {input} with a kernel of {kernel} to {output}"))
}

fn embedding(facts: &Facts) -> Result<Shape, String> {
    let (tokens, width) = rows(output(facts)?)?;
    let table = facts.inputs.iter().find(|tensor| {
        tensor.dimensions.len() == 2
            && tensor.dimensions.last().and_then(|size| u64::try_from(*size).ok()) == Some(width)
    });
    let held = match (table, facts.parameters) {
        (_, Some(parameters)) if parameters > 0 => parameters,
        (Some(table), _) => elements(table)?,
        _ => return Err("the size of its table is not known".to_owned()),
    };
    let vocabulary = held.checked_div(width).filter(|rows| *rows > 0).ok_or("its table fits no row")?;
    Ok(Shape::Embedding { tokens, vocabulary, width })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path, type, shapes of inputs, shape of the output.
    type Node<'a> = (&'a str, &'a str, &'a [&'a [i64]], &'a [i64]);

    fn tree(nodes: &[Node]) -> ModelTree {
        let mut tree = ModelTree::default();
        for (path, op_type, inputs, output) in nodes {
            let shapes = |dims: &&[i64]| TensorShape::new("float", dims.to_vec());
            let facts = Facts {
                inputs: inputs.iter().map(shapes).collect(),
                outputs: vec![TensorShape::new("float", output.to_vec())],
                ..Facts::default()
            };
            tree.insert(Op::new(*path, *op_type, *path, Pass::Forward), facts);
        }
        tree
    }

    fn only(op_type: &str, inputs: &[&[i64]], output: &[i64]) -> Shape {
        *from_tree(&tree(&[("a", op_type, inputs, output)]), "t").unwrap().operators[0].shape()
    }

    #[test]
    fn shapes_of_an_onnx_graph() {
        // The weights of a Gemm may be packed: only the input and the bias are known.
        let packed = only("Gemm", &[&[1024, 256], &[512]], &[1024, 512]);
        assert_eq!(packed, Shape::Dense { rows: 1024, inputs: 256, outputs: 512, bias: true });
        let scores = only("FusedMatMul", &[&[8, 4, 128, 64], &[8, 4, 64, 128]], &[8, 4, 128, 128]);
        assert_eq!(scores, Shape::MatMul { batch: 32, rows: 128, inner: 64, columns: 128 });
        let table = only("Gather", &[&[8000, 256], &[8, 128]], &[8, 128, 256]);
        assert_eq!(table, Shape::Embedding { tokens: 1024, vocabulary: 8000, width: 256 });
        let dot = only("fusion:dot", &[&[256, 784], &[784, 768]], &[256, 768]);
        assert_eq!(dot, Shape::Dense { rows: 256, inputs: 784, outputs: 768, bias: false });
    }

    #[test]
    fn strides_follow_from_sizes() {
        let conv = only("Conv", &[&[1, 3, 224, 224], &[64, 3, 11, 11], &[64]], &[1, 64, 55, 55]);
        let Shape::Conv2d(conv) = conv else { panic!("{conv:?}") };
        assert_eq!((conv.output(), conv.stride, conv.bias), (Some([55, 55]), [4, 4], true));
    }

    #[test]
    fn modules_that_compute_count_once() {
        let mut tree = tree(&[("fc/addmm", "aten::addmm", &[&[2, 3], &[5]], &[2, 5])]);
        let shapes = Facts {
            is_module: true,
            parameters: Some(20),
            inputs: vec![TensorShape::new("float32", [2, 3])],
            outputs: vec![TensorShape::new("float32", [2, 5])],
            ..Facts::default()
        };
        let mut whole = ModelTree::default();
        whole.insert(Op::new("fc", "Linear", "fc", Pass::Forward), shapes);
        whole.merge(std::mem::take(&mut tree));
        let found = from_tree(&whole, "t").unwrap();
        assert_eq!(found.operators.len(), 1);
        assert_eq!(found.operators[0].parameters(), 20);
    }

    #[test]
    fn what_cannot_be_counted_is_named() {
        let known: Node = ("b", "Relu", &[], &[4]);
        let found = from_tree(&tree(&[("a", "FFT", &[], &[4]), known]), "t.json").unwrap();
        assert_eq!(found.operators.len(), 1);
        assert!(found.warnings[0].to_string().contains("`a` (FFT)"), "{}", found.warnings[0]);
        assert_eq!(from_tree(&ModelTree::default(), "t"), Err(TreeError::Empty));
        let nothing = from_tree(&tree(&[("a", "Relu", &[], &[-1])]), "t").unwrap_err().to_string();
        assert!(nothing.contains("is not known"), "{nothing}");
    }
}
