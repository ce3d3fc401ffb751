//! Names: what TensorFlow did to them, undone.

use std::borrow::Cow;

/// The name that an operation had before TensorFlow's graph optimizer (grappler) rewrote it.
///
/// Grappler marks its work by a part of the name: `<scope>/ArithmeticOptimizer/AddOpsRewrite_add_1` was
/// `<scope>/add_1`, `ConstantFolding/<name>_recip` was `<name>`, `Func/<name>` is a piece of an inlined function.
pub(crate) fn before_grappler(name: &str) -> Cow<'_, str> {
    const MARKS: [&str; 3] = ["ArithmeticOptimizer", "ConstantFolding", "Func"];
    if !name.split('/').any(|part| MARKS.contains(&part)) {
        return Cow::Borrowed(name);
    }
    let mut parts: Vec<&str> = name.split('/').collect();
    let rewritten = parts.contains(&"ArithmeticOptimizer");
    let folded = parts.contains(&"ConstantFolding");
    parts.retain(|part| !MARKS.contains(part));
    if let Some(last) = parts.last_mut() {
        if rewritten {
            *last = without_rewrite(last);
        }
        if folded {
            *last = without_folding(last);
        }
    }
    Cow::Owned(parts.join("/"))
}

/// `AddOpsRewrite_Leaf_1_add_1` was `add_1`: the rewrite's name in camel case, perhaps its role, then the old name.
fn without_rewrite(part: &str) -> &str {
    const ROLES: [&str; 9] =
        ["Const_", "Tile_", "Mul_", "Add_", "Axis_", "Multiples_", "Shape_", "Reshape_", "Square_"];
    let Some((rewrite, rest)) = part.split_once('_') else { return part };
    let capitals = rewrite.bytes().filter(u8::is_ascii_uppercase).count();
    if capitals < 2 || rest.is_empty() {
        return part;
    }
    for numbered in ["Leaf_", "Internal_"] {
        if let Some((digits, name)) = rest.strip_prefix(numbered).and_then(|rest| rest.split_once('_'))
            && digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            return name;
        }
    }
    ROLES.iter().find_map(|role| rest.strip_prefix(role)).filter(|name| !name.is_empty()).unwrap_or(rest)
}

/// `truediv_recip` was `truediv`, `Shape-folded-0` was `Shape`.
fn without_folding(part: &str) -> &str {
    let part = ["-folded-", "-bcastargs-", "-matshapes-"]
        .iter()
        .find_map(|mark| part.split_once(mark))
        .map_or(part, |(name, _)| name);
    part.strip_suffix("_recip").unwrap_or(part)
}

/// How a name shows that an operation belongs to the backward pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Gradient<'a> {
    /// It is no gradient.
    No,
    /// It is the gradient of the forward operation with this path.
    Of(Cow<'a, str>),
    /// It is a gradient, but the name does not say of what.
    Unknown,
}

/// The forward operation of `gradients/<name>_grad/<op>` or `gradient_tape/<name>/<op>`, wherever in the name that is.
pub(crate) fn gradient(name: &str) -> Gradient<'_> {
    let parts: Vec<&str> = name.split('/').collect();
    if let Some(at) = parts.iter().position(|part| is_numbered(part, "gradients")) {
        let of = &parts[at + 1..];
        return match of.iter().rposition(|part| forward_part(part).is_some()) {
            Some(last) => {
                let mut path: Vec<&str> = of[..=last].to_vec();
                path[last] = forward_part(path[last]).unwrap_or(path[last]);
                Gradient::Of(Cow::Owned(path.join("/")))
            }
            // `gradient_tape/<loop>/gradients/AddN_5` sums gradients inside of a loop.
            None => match (parts[..at].iter().rposition(|part| *part == "gradient_tape"), of) {
                (Some(tape), [.., last]) if tape + 1 < at => {
                    Gradient::Of(Cow::Owned([&parts[tape + 1..at], &[*last]].concat().join("/")))
                }
                _ => Gradient::Unknown,
            },
        };
    }
    match parts.iter().position(|part| *part == "gradient_tape") {
        Some(at) if parts.len() > at + 2 => Gradient::Of(Cow::Owned(parts[at + 1..parts.len() - 1].join("/"))),
        Some(_) => Gradient::Unknown,
        None => Gradient::No,
    }
}

/// `MatMul_grad` and `MatMul_grad_1` are made for `MatMul`.
fn forward_part(part: &str) -> Option<&str> {
    let unnumbered = without_number(part);
    let forward = part.strip_suffix("_grad").or_else(|| unnumbered.strip_suffix("_grad"))?;
    (!forward.is_empty()).then_some(forward)
}

/// Whether `part` is `stem` or `stem_<number>`.
pub(crate) fn is_numbered(part: &str, stem: &str) -> bool {
    part == stem || (part.starts_with(stem) && without_number(part) == stem)
}

/// `Mul_174` without the number that TensorFlow appends to names that are taken.
pub(crate) fn without_number(part: &str) -> &str {
    match part.rsplit_once('_') {
        Some((stem, digits))
            if !stem.is_empty() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
        {
            stem
        }
        _ => part,
    }
}

/// Where loading data is listed beside the layers of a model.
pub(crate) const DATA: &str = "data";

/// Whether an operation without a scope waits for the input pipeline.
pub(crate) fn takes_data(name: &str, op_type: &str) -> bool {
    !name.contains('/') && op_type.contains("Iterator")
}

/// Whether operations of this type change a variable.
pub(crate) fn changes_variable(op_type: &str) -> bool {
    ["Assign", "Apply", "ResourceApply", "ResourceSparseApply", "SparseApply", "ResourceScatter"]
        .iter()
        .any(|prefix| op_type.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grappler_did_is_undone() {
        for (rewritten, original) in [
            ("bert/encoder/ArithmeticOptimizer/ReplaceMulWithBroadcastByTile_Const_mul", "bert/encoder/mul"),
            ("bert/embeddings/ArithmeticOptimizer/AddOpsRewrite_Leaf_1_add_1", "bert/embeddings/add_1"),
            ("bert/embeddings/ArithmeticOptimizer/AddOpsRewrite_add_1", "bert/embeddings/add_1"),
            ("ConstantFolding/PolynomialDecay/truediv_recip", "PolynomialDecay/truediv"),
            ("ConstantFolding/loss/Shape-folded-0", "loss/Shape"),
            ("Func/global_step/cond/then/_0/output/_12", "global_step/cond/then/_0/output/_12"),
            ("bert/pooler/dense/MatMul", "bert/pooler/dense/MatMul"),
        ] {
            assert_eq!(before_grappler(rewritten), original);
        }
    }

    #[test]
    fn gradients_lead_back_to_what_they_are_gradients_of() {
        let of = |path: &'static str| Gradient::Of(Cow::Borrowed(path));
        for (name, wanted) in [
            (
                "gradients/bert/encoder/layer_0/attention/self/query/MatMul_grad/MatMul_1",
                of("bert/encoder/layer_0/attention/self/query/MatMul"),
            ),
            ("gradients/bert/encoder/Reshape_1_grad/Shape", of("bert/encoder/Reshape_1")),
            ("train/gradients_1/dense/BiasAdd_grad/BiasAddGrad", of("dense/BiasAdd")),
            ("gradients/loss/Mean_grad_2/Tile", of("loss/Mean")),
            ("gradient_tape/minibert/layer_0/MatMul_1/MatMul", of("minibert/layer_0/MatMul_1")),
            ("gradients/AddN_3", Gradient::Unknown),
            (
                "gradient_tape/net/gru/while/gradients/net/gru/while/cell/MatMul_2_grad/MatMul_1",
                of("net/gru/while/cell/MatMul_2"),
            ),
            ("gradient_tape/net/gru/while/gradients/AddN_5", of("net/gru/while/AddN_5")),
            ("gradient_tape/gradients/AddN_5", Gradient::Unknown),
            ("bert/encoder/layer_0/MatMul", Gradient::No),
            ("my_gradients/x_grad/Mul", Gradient::No),
        ] {
            assert_eq!(gradient(name), wanted, "{name}");
        }
    }
}
