//! Shapes: the type and size of what an instruction makes.

use jouletree_model::TensorShape;

use crate::wire::Value;

/// How deep tuples may lie in tuples; XLA's own are flat or nearly so.
const DEPTH: usize = 16;

/// The tensors of an `xla.ShapeProto`: one, or those of a tuple in a row. Tokens and the like are none.
pub(super) fn leaves(shape: Value<'_>) -> Vec<TensorShape> {
    let mut found = Vec::new();
    collect(shape, 0, &mut found);
    found
}

fn collect(shape: Value<'_>, depth: usize, found: &mut Vec<TensorShape>) {
    let mut element = 0;
    let mut dimensions = Vec::new();
    for (field, value) in shape.message() {
        match field {
            2 => element = value.unsigned(),
            3 => dimensions.extend(value.integers()),
            4 if depth < DEPTH => collect(value, depth + 1, found),
            _ => {}
        }
    }
    if let Some(element) = element_name(element) {
        found.push(TensorShape::new(element, dimensions));
    }
}

/// The name of an `xla.PrimitiveType` that a tensor can have.
fn element_name(element: u64) -> Option<&'static str> {
    Some(match element {
        1 => "pred",
        2 => "s8",
        3 => "s16",
        4 => "s32",
        5 => "s64",
        6 => "u8",
        7 => "u16",
        8 => "u32",
        9 => "u64",
        10 => "f16",
        11 => "f32",
        12 => "f64",
        15 => "c64",
        16 => "bf16",
        18 => "c128",
        19 => "f8e5m2",
        20 => "f8e4m3fn",
        21 => "s4",
        22 => "u4",
        23 => "f8e4m3b11fnuz",
        24 => "f8e5m2fnuz",
        25 => "f8e4m3fnuz",
        26 => "s2",
        27 => "u2",
        28 => "f8e4m3",
        29 => "f8e3m4",
        30 => "s1",
        31 => "u1",
        32 => "f4e2m1fn",
        33 => "f8e8m0fnu",
        _ => return None,
    })
}

/// How many bytes a tensor takes; `None` when that is unknown. Elements smaller than a byte are packed.
pub(super) fn bytes(tensor: &TensorShape) -> Option<u64> {
    // The width is in the name, after the letters for the kind.
    let width = tensor.element.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let digits = width.bytes().take_while(u8::is_ascii_digit).count();
    let bits = if &*tensor.element == "pred" { 8 } else { width[..digits].parse().ok()? };
    Some(tensor.elements()?.checked_mul(bits)?.div_ceil(8))
}

/// How many bytes tensors take together.
pub(super) fn total_bytes(tensors: &[TensorShape]) -> Option<u64> {
    tensors.iter().try_fold(0_u64, |sum, tensor| sum.checked_add(bytes(tensor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_from_the_element_and_the_size() {
        for (element, dimensions, wanted) in [
            ("f32", vec![8, 64, 128], Some(262_144)),
            ("bf16", vec![3], Some(6)),
            ("pred", vec![5], Some(5)),
            ("s4", vec![5], Some(3)),
            ("c128", vec![], Some(16)),
            ("f8e4m3b11fnuz", vec![2, 2], Some(4)),
            ("f32", vec![-1], None),
            ("f32", vec![i64::MAX, i64::MAX], None),
            ("f32", vec![i64::MAX], None),
            ("", vec![1], None),
        ] {
            assert_eq!(bytes(&TensorShape::new(element, dimensions)), wanted, "{element}");
        }
    }
}
