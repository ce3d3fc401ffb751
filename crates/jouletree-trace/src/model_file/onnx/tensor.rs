//! Types and sizes of an ONNX model's tensors.

use jouletree_model::TensorShape;

use crate::wire::Fields;

/// The name, type and size of a tensor.
pub(super) fn value_info<'a>(info: Fields<'a>) -> Option<(&'a [u8], TensorShape)> {
    let mut name = None;
    let mut tensor = None;
    for (field, value) in info {
        match field {
            1 => name = Some(value.bytes()),
            2 => tensor = value.message().find(|(field, _)| *field == 1).map(|(_, tensor)| tensor.message()),
            _ => {}
        }
    }
    let (mut element, mut dimensions) = (0, None);
    for (field, value) in tensor? {
        match field {
            1 => element = value.signed(),
            2 => {
                let known = |dimension: Fields<'_>| {
                    let size = dimension.clone().find(|(field, _)| *field == 1);
                    size.map_or(-1, |(_, size)| size.signed())
                };
                let sizes = value.message().filter(|(field, _)| *field == 1);
                dimensions = Some(sizes.map(|(_, dimension)| known(dimension.message())).collect::<Vec<i64>>());
            }
            _ => {}
        }
    }
    Some((name?, TensorShape::new(element_name(element), dimensions?)))
}

/// The type of a tensor's elements as ONNX Runtime writes it.
pub(super) fn element_name(number: i64) -> &'static str {
    const NAMES: [&str; 17] = [
        "",
        "float",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "int32",
        "int64",
        "string",
        "bool",
        "float16",
        "double",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
        "bfloat16",
    ];
    usize::try_from(number).ok().and_then(|number| NAMES.get(number)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_named_as_in_profiles() {
        assert_eq!((element_name(1), element_name(7), element_name(16)), ("float", "int64", "bfloat16"));
        assert_eq!((element_name(-1), element_name(99)), ("", ""));
    }
}
