//! The tensors that an operation makes: `NodeOutput` messages of a step's statistics.

use jouletree_model::TensorShape;

use crate::wire::Fields;

/// How many dimensions a shape may have to be believed. TensorFlow computes on eight at most; a damaged file may claim
/// any number, for every operation that takes the tensor.
const DIMENSIONS: usize = 16;

/// References to a type have its number and this.
const REFERENCE: u64 = 100;

/// The outputs of one operation, by their numbers.
#[derive(Debug)]
pub(super) struct Tensors {
    made: Vec<Tensor>,
}

#[derive(Debug)]
struct Tensor {
    slot: u32,
    shape: Option<TensorShape>,
    bytes: u64,
}

impl Tensors {
    /// The tensors of these `NodeOutput` messages; of several with one number the first counts.
    pub(super) fn of<'a>(outputs: impl Iterator<Item = Fields<'a>>) -> Tensors {
        let mut made: Vec<Tensor> = outputs.map(Tensor::of).collect();
        made.sort_by_key(|tensor| tensor.slot);
        made.dedup_by_key(|tensor| tensor.slot);
        Tensors { made }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// The shape of the output with this number.
    pub(super) fn shape(&self, port: u32) -> Option<&TensorShape> {
        let at = self.made.binary_search_by_key(&port, |made| made.slot).ok()?;
        self.made.get(at)?.shape.as_ref()
    }

    /// All shapes, or none when one is not known: a place in the list has a meaning.
    pub(super) fn shapes(&self) -> Vec<TensorShape> {
        self.made.iter().map(|made| made.shape.clone()).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// How large all of them are.
    pub(super) fn bytes(&self) -> u64 {
        self.made.iter().fold(0, |sum, made| sum.saturating_add(made.bytes))
    }
}

impl Tensor {
    fn of(output: Fields<'_>) -> Tensor {
        let mut tensor = Tensor { slot: 0, shape: None, bytes: 0 };
        for (field, value) in output {
            match field {
                1 => tensor.slot = u32::try_from(value.unsigned()).unwrap_or(u32::MAX),
                3 => (tensor.shape, tensor.bytes) = described(value.message()),
                _ => {}
            }
        }
        tensor
    }
}

/// The shape and the bytes of a `TensorDescription`. The bytes in the message are those of the whole buffer, also for a
/// slice of it, so they are asked only where the shape does not show it.
fn described(description: Fields<'_>) -> (Option<TensorShape>, u64) {
    let ((mut name, mut size), mut dimensions, mut requested, mut allocated) = (("", 0), None, 0, 0);
    for (field, value) in description {
        match field {
            1 => (name, size) = element(value.unsigned()),
            2 => dimensions = shape(value.message()),
            4 => {
                for (field, value) in value.message() {
                    match field {
                        1 => requested = value.unsigned(),
                        2 => allocated = value.unsigned(),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    let shape = dimensions.map(|dimensions| TensorShape::new(name, dimensions));
    let elements = shape.as_ref().and_then(TensorShape::elements).filter(|_| size > 0);
    let buffer = if requested > 0 { requested } else { allocated };
    (shape, elements.map_or(buffer, |elements| elements.saturating_mul(size)))
}

/// The dimensions in a `TensorShapeProto`; `None` when even their number is not known.
fn shape(shape: Fields<'_>) -> Option<Vec<i64>> {
    let mut dimensions = Vec::new();
    for (field, value) in shape {
        match field {
            2 if dimensions.len() == DIMENSIONS => return None,
            2 => {
                let size = value.message().filter(|(field, _)| *field == 1).last();
                dimensions.push(size.map_or(0, |(_, size)| size.signed()));
            }
            3 if value.unsigned() != 0 => return None,
            _ => {}
        }
    }
    Some(dimensions)
}

/// The name of a `DataType`, `DT_FLOAT` being `float`, and the size of an element in bytes; zero for those that have no
/// fixed size. Empty for a number that has no name.
fn element(number: u64) -> (&'static str, u64) {
    const ELEMENTS: [(&str, u64); 31] = [
        ("", 0),
        ("float", 4),
        ("double", 8),
        ("int32", 4),
        ("uint8", 1),
        ("int16", 2),
        ("int8", 1),
        ("string", 0),
        ("complex64", 8),
        ("int64", 8),
        ("bool", 1),
        ("qint8", 1),
        ("quint8", 1),
        ("qint32", 4),
        ("bfloat16", 2),
        ("qint16", 2),
        ("quint16", 2),
        ("uint16", 2),
        ("complex128", 16),
        ("half", 2),
        ("resource", 0),
        ("variant", 0),
        ("uint32", 4),
        ("uint64", 8),
        ("float8_e5m2", 1),
        ("float8_e4m3fn", 1),
        ("float8_e4m3fnuz", 1),
        ("float8_e4m3b11fnuz", 1),
        ("float8_e5m2fnuz", 1),
        ("int4", 0),
        ("uint4", 0),
    ];
    let value = if number > REFERENCE { number - REFERENCE } else { number };
    usize::try_from(value).ok().and_then(|value| ELEMENTS.get(value)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_found_by_their_number() {
        // Output 2: float, [8, ?], 64 bytes asked for; output 0: an int32 scalar in a buffer of 256 bytes.
        let unknown: &[u8] = &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let shape = [&[0x12, 2, 8, 8, 0x12, 11][..], unknown].concat();
        let described = [&[0x08, 1, 0x12, shape.len() as u8][..], &shape, &[0x22, 2, 8, 64]].concat();
        let third = [&[0x08, 2, 0x1a, described.len() as u8][..], &described].concat();
        let first: &[u8] = &[0x1a, 9, 0x08, 3, 0x12, 0, 0x22, 3, 0x10, 0x80, 2];
        let tensors = Tensors::of([&third[..], first, &[0x08, 2]].into_iter().map(Fields::new));
        assert_eq!(tensors.shape(2), Some(&TensorShape::new("float", [8, -1])));
        assert_eq!(tensors.shape(0), Some(&TensorShape::new("int32", [])));
        assert_eq!(tensors.shape(1), None);
        assert_eq!(tensors.bytes(), 64 + 4);
        assert_eq!(
            tensors.shapes().iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["int32[]", "float[8,-1]"]
        );
    }

    #[test]
    fn shapes_beyond_belief_are_unknown() {
        assert_eq!(shape(Fields::new(&[0x12, 0].repeat(DIMENSIONS))).map(|shape| shape.len()), Some(DIMENSIONS));
        assert_eq!(shape(Fields::new(&[0x12, 0].repeat(DIMENSIONS + 1))), None);
        assert_eq!(shape(Fields::new(&[0x18, 1])), None);
    }

    #[test]
    fn references_are_of_the_type_they_refer_to() {
        assert_eq!(
            [1, 101, 30, 31, 131, 0].map(|number| element(number).0),
            ["float", "float", "uint4", "", "", ""]
        );
    }
}
