//! Floating-point operations of an operation, from its type and the shapes of its tensors.
//!
//! Conventions: a multiplication and an addition are two; a matrix product or a convolution counts its multiply-adds
//! and not the bias that may be added after; arithmetic by element counts one for each element made, whatever the
//! function; a reduction counts one for each element taken; a fused operation counts what the operations that it
//! replaces would, by element; moving data counts nothing. `None` is what is not known, which is not zero.
//!
//! The types are those of ONNX, ONNX Runtime and TensorFlow, without the prefixes and suffixes that only say which
//! implementation is used.

mod work;

use jouletree_model::TensorShape;

use work::{Layout, Work, work};

/// How many floating-point operations one run of an operation takes; `None` when that is not known.
pub(crate) fn flops(op_type: &str, inputs: &[TensorShape], outputs: &[TensorShape]) -> Option<u64> {
    let made = || outputs.first()?.elements();
    match work(op_type) {
        Work::Product { second } => product(inputs.first()?, inputs.get(second), outputs.first()?),
        Work::PackedProduct => {
            let depth = u64::try_from(*inputs.first()?.dimensions.last()?).ok()?;
            made()?.checked_mul(depth)?.checked_mul(2)
        }
        Work::Convolution { filter, layout } => convolution(inputs, inputs.get(filter)?, made()?, layout),
        Work::Made(each) => made()?.checked_mul(each),
        Work::Taken => inputs.first()?.elements(),
        Work::Moved => Some(0),
        Work::Unknown => None,
    }
}

/// The last two dimensions, a row or a column being a matrix, too.
fn matrix(shape: &TensorShape) -> Option<(u64, u64)> {
    let size = |index: usize| shape.dimensions.get(index).and_then(|size| u64::try_from(*size).ok());
    match shape.dimensions.len() {
        0 => None,
        1 => Some((1, size(0)?)),
        rank => Some((size(rank - 2)?, size(rank - 1)?)),
    }
}

/// Twice the elements made times the depth, which is what remains of the first factor when the rows that it shares with
/// the product are taken away, whichever way round it is stored. The second must agree, if its shape is there: ONNX
/// Runtime leaves out weights that it has packed.
fn product(left: &TensorShape, right: Option<&TensorShape>, made: &TensorShape) -> Option<u64> {
    let ((a, b), (rows, columns)) = (matrix(left)?, matrix(made)?);
    let other = |one: u64, two: u64, shared: u64| match (one == shared, two == shared) {
        (true, _) => Some(two),
        (_, true) => Some(one),
        _ => None,
    };
    let is_row = left.dimensions.len() == 1;
    // A matrix times a column has one dimension less than the matrix.
    let by_column = made.dimensions.len() < left.dimensions.len();
    let depth = if is_row || by_column { b } else { other(a, b, rows)? };
    if let Some(right) = right.filter(|right| right.dimensions.len() > 1) {
        let (c, d) = matrix(right)?;
        other(d, c, columns).filter(|other| *other == depth)?;
    }
    made.elements()?.checked_mul(depth)?.checked_mul(2)
}

fn convolution(inputs: &[TensorShape], filter: &TensorShape, made: u64, layout: Layout) -> Option<u64> {
    let size = |index: usize| filter.dimensions.get(index).and_then(|size| u64::try_from(*size).ok());
    let rank = filter.dimensions.len();
    // What is in the filter's place may be the bias, where the filter is packed and left out.
    (rank > 1 && rank == inputs.first()?.dimensions.len()).then_some(())?;
    let (each, channels) = match layout {
        Layout::OutputFirst => (made, size(0)?),
        Layout::OutputLast => (made, size(rank.checked_sub(1)?)?),
        Layout::Depthwise => (made, size(rank.checked_sub(1)?)?.checked_mul(size(rank.checked_sub(2)?)?)?),
        Layout::Transposed => (inputs.first()?.elements()?, size(0)?),
    };
    each.checked_mul(filter.elements()?.checked_div(channels)?)?.checked_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(op_type: &str, inputs: &[&[i64]], output: &[i64]) -> Option<u64> {
        let shape = |dimensions: &[i64]| TensorShape::new("float", dimensions);
        let inputs: Vec<TensorShape> = inputs.iter().map(|dimensions| shape(dimensions)).collect();
        flops(op_type, &inputs, &[shape(output)])
    }

    #[test]
    fn products_count_multiply_adds() {
        let wanted = Some(2 * 512 * 128 * 64);
        assert_eq!(count("MatMul", &[&[512, 64], &[64, 128]], &[512, 128]), wanted);
        assert_eq!(count("Gemm", &[&[512, 64], &[128, 64], &[128]], &[512, 128]), wanted);
        assert_eq!(count("_MklNativeFusedMatMul", &[&[64, 512], &[64, 128]], &[512, 128]), wanted);
        assert_eq!(
            count("BatchMatMulV2", &[&[8, 2, 64, 32], &[8, 2, 32, 16]], &[8, 2, 64, 16]),
            Some(16 * 65_536)
        );
        // The second factor is the same for the whole batch.
        assert_eq!(count("MatMul", &[&[8, 64, 128], &[128, 512]], &[8, 64, 512]), Some(2 * 8 * 64 * 512 * 128));
        assert_eq!(count("MatMul", &[&[3], &[3, 4]], &[4]), Some(24));
        assert_eq!(count("MatMul", &[&[4, 3], &[3]], &[4]), Some(24));
        assert_eq!(count("MatMulNBits", &[&[1, 10, 64], &[128, 2, 16]], &[1, 10, 128]), Some(2 * 10 * 128 * 64));
    }

    #[test]
    fn packed_weights_need_not_be_there() {
        let wanted = Some(2 * 512 * 512 * 128);
        assert_eq!(count("Gemm", &[&[512, 128], &[512]], &[512, 512]), wanted);
        assert_eq!(count("Gemm", &[&[512, 128]], &[512, 512]), wanted);
        assert_eq!(count("MatMul", &[&[8, 64, 128]], &[8, 64, 512]), Some(2 * 8 * 64 * 512 * 128));
        assert_eq!(count("Conv", &[&[1, 3, 8, 8], &[16]], &[1, 16, 8, 8]), None);
    }

    #[test]
    fn convolutions_count_multiply_adds() {
        // 2 · output elements · input channels of a group · kernel size.
        assert_eq!(count("Conv", &[&[1, 3, 8, 8], &[16, 3, 3, 3]], &[1, 16, 8, 8]), Some(2 * 16 * 64 * 27));
        assert_eq!(count("Conv", &[&[1, 16, 8, 8], &[16, 1, 3, 3]], &[1, 16, 8, 8]), Some(2 * 16 * 64 * 9));
        assert_eq!(count("Conv2D", &[&[1, 8, 8, 3], &[3, 3, 3, 16]], &[1, 8, 8, 16]), Some(2 * 16 * 64 * 27));
        let depthwise = count("DepthwiseConv2dNative", &[&[1, 8, 8, 4], &[3, 3, 4, 2]], &[1, 8, 8, 8]);
        assert_eq!(depthwise, Some(2 * 512 * 9));
        assert_eq!(count("ConvTranspose", &[&[1, 3, 4, 4], &[3, 5, 2, 2]], &[1, 5, 8, 8]), Some(2 * 48 * 20));
    }

    #[test]
    fn elements_count_once_and_moving_nothing() {
        assert_eq!(count("Add", &[&[8, 64], &[64]], &[8, 64]), Some(512));
        assert_eq!(count("ReduceMean", &[&[8, 64]], &[8, 1]), Some(512));
        assert_eq!(count("Reshape", &[&[8, 64]], &[512]), Some(0));
        assert_eq!(count("SkipLayerNormalization", &[&[8, 64]], &[8, 64]), Some(8 * 512));
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        assert_eq!(count("LSTM", &[&[8, 64]], &[8, 64]), None);
        assert_eq!(count("MatMul", &[], &[8, 64]), None);
        assert_eq!(count("MatMul", &[&[8, 64]], &[7, 63]), None);
        assert_eq!(count("MatMul", &[&[5, 7], &[11, 13]], &[5, 13]), None);
        assert_eq!(count("MatMul", &[&[], &[]], &[]), None);
        assert_eq!(count("Add", &[], &[-1, 3]), None);
        assert_eq!(count("Add", &[], &[i64::MAX, 3]), None);
        assert_eq!(count("Conv", &[&[1], &[0, 3]], &[4]), None);
        assert_eq!(count("Softmax", &[], &[i64::MAX]), None);
        assert_eq!(flops("Add", &[], &[]), None);
    }
}
