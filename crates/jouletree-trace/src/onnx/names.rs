//! Names of nodes: the path in them, and what ONNX Runtime's optimizers did to them, undone.

use std::borrow::Cow;

/// What the profiler appends to a node's name for the time in which it computes.
pub(super) const KERNEL_TIME: &str = "_kernel_time";

/// What the optimizers put before the name of the node, or of the tensor, that they work on.
const PREFIXES: [&str; 3] = ["fused ", "InsertedPrecisionFreeCast_", "InsertedCast_"];

/// What they put after it.
const SUFFIXES: [&str; 5] = ["_new_reshape", "_nchwc", "_nhwc", "_quant", "_output_0"];

/// The path in the name of a node, its parts separated by single slashes: `/encoder/layer.0/MatMul` is
/// `encoder/layer.0/MatMul`.
pub(crate) fn path_of_name(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

/// Whether a name says where in the model its node is: it has a path, or is at its top (`/Add`).
pub(super) fn tells_place(name: &str) -> bool {
    without_prefix(name).contains('/')
}

/// The names that the node of the model may have which became the one called `name`, the longest first.
///
/// `/a/MatMul/MatMulAddFusion` was `/a/MatMul`, `/a/Reshape_3_new_reshape` was `/a/Reshape_3`, `fused /a/Gemm` was
/// `/a/Gemm`.
pub(super) fn former_names(name: &str) -> impl Iterator<Item = &str> {
    let bare = without_prefix(name);
    // A number behind `_token_` only makes the name of a new node different from others.
    let unnumbered = without_token(bare);
    let cuts = bare.rmatch_indices(['/', '_']).map(|(at, _)| &bare[..at]);
    let cuts = cuts.filter(move |cut| !cut.is_empty() && (unnumbered.len() == bare.len() || cut.contains('/')));
    std::iter::once(bare).chain(cuts)
}

/// The path in a name without the marks of the optimizers.
pub(super) fn path_before_optimizers(name: &str) -> String {
    let bare = without_marks(without_prefix(name));
    let mut parts: Vec<&str> = bare.split('/').filter(|part| !part.is_empty()).collect();
    // `MatMul/MatMulAddFusion` is what became of `MatMul`.
    while parts.len() > 1 && parts.last().is_some_and(|part| part.ends_with("Fusion")) {
        parts.pop();
    }
    parts.join("/")
}

/// A name without what the optimizers append: `gemm_output_reshape_token_5_new_reshape` is `gemm_output_reshape`.
pub(super) fn without_marks(mut name: &str) -> &str {
    loop {
        let shorter = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        let shorter = without_token(shorter);
        if shorter.is_empty() || shorter.len() == name.len() {
            return name;
        }
        name = shorter;
    }
}

/// `Gelu_token_66` without the number by which the optimizers keep names apart.
fn without_token(name: &str) -> &str {
    match name.rsplit_once("_token_") {
        Some((stem, number)) if !stem.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => stem,
        _ => name,
    }
}

fn without_prefix(mut name: &str) -> &str {
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        name = rest;
    }
    name
}

/// Which neighbour a node serves that the optimizers put in, where its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serves {
    /// It prepares the input of the next.
    Next,
    /// It finishes the output of the one before.
    Previous,
}

/// `gemm_input_reshape` and `ReorderInput` serve the operation after them, `gemm_output_reshape` the one before.
pub(super) fn serves(name: &str) -> Option<Serves> {
    let name = name.to_ascii_lowercase();
    match (name.contains("input") || name.contains("fromhost"), name.contains("output") || name.contains("tohost"))
    {
        (true, false) => Some(Serves::Next),
        (false, true) => Some(Serves::Previous),
        _ => None,
    }
}

/// The layer of a path.
pub(super) fn layer(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(layer, _)| layer)
}

/// The layer that both are in or below.
pub(super) fn shared_layer<'a>(left: &'a str, right: &str) -> &'a str {
    let same = left.split('/').zip(right.split('/')).take_while(|(left, right)| left == right);
    let length: usize = same.map(|(part, _)| part.len() + 1).sum();
    &left[..length.saturating_sub(1)]
}

/// The layer `name` in another.
pub(super) fn joined<'a>(outer: &str, name: &'a str) -> Cow<'a, str> {
    if outer.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(format!("{outer}/{name}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_optimizers_did_is_undone() {
        for (name, path) in [
            ("/encoder/layer.0/attention/self/query/MatMul", "encoder/layer.0/attention/self/query/MatMul"),
            ("/encoder/layer.0/output/dense/MatMul/MatMulAddFusion", "encoder/layer.0/output/dense/MatMul"),
            ("/embeddings/LayerNorm/Mul/LayerNormFusion/", "embeddings/LayerNorm/Mul"),
            ("/self/Reshape_3_new_reshape", "self/Reshape_3"),
            ("fused /pooler/dense/Gemm", "pooler/dense/Gemm"),
            ("InsertedPrecisionFreeCast_/a/MatMul_output_0", "a/MatMul"),
            ("/a/MatMul/MatMulAddFusion_token_7", "a/MatMul"),
            ("/a/Relu_output_0_nchwc", "a/Relu"),
            ("gemm_output_reshape_token_5_new_reshape", "gemm_output_reshape"),
            ("_nchwc", "_nchwc"),
            ("bert//x/", "bert/x"),
            ("MatMulAddFusion", "MatMulAddFusion"),
            ("", ""),
        ] {
            assert_eq!(path_before_optimizers(name), path);
        }
        assert!(tells_place("/Expand") && tells_place("fused /a") && !tells_place("Gelu_token_66"));
    }

    #[test]
    fn former_names_go_from_long_to_short() {
        let names: Vec<&str> = former_names("fused /a/Conv_1_nchwc").collect();
        assert_eq!(names, ["/a/Conv_1_nchwc", "/a/Conv_1", "/a/Conv", "/a"]);
        // What is behind the token says nothing about a node called `Gelu`.
        assert_eq!(former_names("Gelu_token_66").collect::<Vec<_>>(), ["Gelu_token_66"]);
        assert_eq!(former_names("").collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn names_tell_whom_they_serve() {
        assert_eq!(serves("gemm_input_reshape_token_2"), Some(Serves::Next));
        assert_eq!(serves("ReorderOutput"), Some(Serves::Previous));
        assert_eq!(serves("SkipLayerNormalization"), None);
    }

    #[test]
    fn layers_are_shared_by_whole_parts() {
        assert_eq!(shared_layer("a/layer.1/x", "a/layer.10/x"), "a");
        assert_eq!(shared_layer("a/b", "a/b/c"), "a/b");
        assert_eq!(shared_layer("a", "b"), "");
        assert_eq!(shared_layer("", ""), "");
    }
}
