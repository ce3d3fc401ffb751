//! What an operator computes and moves: multiplications, sums, multiply-accumulates, and accesses by tensor.
//!
//! The rules are those of the conventions `wh1` (docs/theory.md): a reduction over n elements takes n sums, functions
//! are expanded into multiplications and sums, and traffic is counted twice, as two ends of a bracket.

use super::shape::{Convolution, Pool, Shape};

/// What one run of an operator takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Count {
    /// Multiplications.
    pub mul: u64,
    /// Additions, subtractions and comparisons.
    pub sum: u64,
    /// Multiply-accumulates of weights or matrices, those for the bias not included.
    pub macs: u64,
    /// Learned parameters.
    pub parameters: u64,
    /// The tensors it reads and writes.
    pub tensors: Vec<TensorTraffic>,
}

/// What an operator does with one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorTraffic {
    /// What it is to the operator.
    pub usage: TensorUse,
    /// How many elements it has.
    pub elements: u64,
    /// How often an element is read.
    pub reads: Accesses,
    /// How often an element is written.
    pub writes: Accesses,
}

/// What a tensor is to its operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TensorUse {
    /// What goes in.
    Input,
    /// The second operand, where there are two.
    SecondInput,
    /// Learned weights, a scale, or a table.
    Weight,
    /// A learned shift.
    Bias,
    /// Indices into a table: 32 bits each, whatever the width of the case.
    Index,
    /// What comes out.
    Output,
}

/// Accesses of elements under the two readings of memory traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accesses {
    /// Every multiply-accumulate reads both its operands from their tensors.
    pub naive: u64,
    /// Every element is moved once: what even perfect reuse cannot avoid.
    pub once: u64,
}

impl Accesses {
    /// As many under either reading.
    pub fn both(count: u64) -> Accesses {
        Accesses { naive: count, once: count }
    }

    fn new(naive: u64, once: u64) -> Accesses {
        Accesses { naive, once }
    }
}

impl Count {
    /// Bytes that the operator's tensors of this use take at a width of so many bits; 0 when there is none.
    pub fn tensor_bytes(&self, usage: TensorUse, bits: u32) -> u64 {
        let elements: u64 = self.tensors.iter().filter(|tensor| tensor.usage == usage).map(|t| t.elements).sum();
        elements.saturating_mul(u64::from(bits) / 8)
    }
}

const TOO_LARGE: &str = "its shape is too large to count; check its numbers";

/// The product of numbers of a shape.
fn product(factors: &[u64]) -> Result<u64, String> {
    if factors.contains(&0) {
        return Err("one of its sizes is 0; sizes start at 1".to_owned());
    }
    // Sixteen times what is returned must still fit, for sums over tensors and function expansions.
    let product = factors.iter().try_fold(1_u64, |product, factor| product.checked_mul(*factor));
    product.filter(|product| *product < 1 << 58).ok_or_else(|| TOO_LARGE.to_owned())
}

fn times(count: u64, factor: u64) -> Result<u64, String> {
    product(&[count, factor])
}

fn read(usage: TensorUse, elements: u64, reads: Accesses) -> TensorTraffic {
    TensorTraffic { usage, elements, reads, writes: Accesses::default() }
}

fn write(elements: u64) -> TensorTraffic {
    TensorTraffic {
        usage: TensorUse::Output,
        elements,
        reads: Accesses::default(),
        writes: Accesses::both(elements),
    }
}

/// Everything that follows from a shape; the reason when nothing does.
pub(super) fn count(shape: &Shape) -> Result<Count, String> {
    match *shape {
        Shape::Dense { rows, inputs, outputs, bias } => dense(rows, inputs, outputs, bias),
        Shape::Conv2d(shape) => convolution(&shape),
        Shape::MaxPool2d(shape) => pool(&shape, false),
        Shape::AveragePool2d(shape) => pool(&shape, true),
        Shape::AdaptiveAveragePool2d { planes, height, width, output_height, output_width } => {
            adaptive_pool(planes, [height, width], [output_height, output_width])
        }
        Shape::Relu { elements, .. } => each_element(elements, 0, 1),
        Shape::Sigmoid { elements } => each_element(elements, 12, 13),
        Shape::Tanh { elements } => each_element(elements, 13, 14),
        Shape::Gelu { elements } => each_element(elements, 23, 19),
        Shape::Softmax { rows, length, scaled } => softmax(rows, length, scaled),
        Shape::LayerNorm { rows, width } => layer_norm(rows, width),
        Shape::MatMul { batch, rows, inner, columns } => matmul(batch, rows, inner, columns),
        Shape::Embedding { tokens, vocabulary, width } => embedding(tokens, vocabulary, width),
        Shape::Add { elements } => of_two(elements, 0, 1),
        Shape::Multiply { elements } => of_two(elements, 1, 0),
        Shape::View { .. } => Ok(Count::default()),
    }
}

fn dense(rows: u64, inputs: u64, outputs: u64, bias: bool) -> Result<Count, String> {
    let macs = product(&[rows, inputs, outputs])?;
    let (weights, made) = (times(inputs, outputs)?, times(rows, outputs)?);
    let taken = times(rows, inputs)?;
    let tensors = vec![
        read(TensorUse::Input, taken, Accesses::new(macs, taken)),
        read(TensorUse::Weight, weights, Accesses::new(macs, weights)),
    ];
    Ok(with_bias(macs, weights, made, outputs, bias, tensors))
}

fn convolution(shape: &Convolution) -> Result<Count, String> {
    let [output_height, output_width] = shape.output().ok_or(
        "the kernel does not fit into the padded input, or a stride is 0; check kernel, stride, padding and size",
    )?;
    let fits = |channels: u64| shape.groups > 0 && channels.is_multiple_of(shape.groups);
    if !(fits(shape.in_channels) && fits(shape.out_channels)) {
        return Err("its channels cannot be split into its groups; `groups` must divide both".to_owned());
    }
    let made = product(&[shape.batch, shape.out_channels, output_height, output_width])?;
    let window = product(&[shape.in_channels / shape.groups, shape.kernel[0], shape.kernel[1]])?;
    let (macs, weights) = (times(made, window)?, times(shape.out_channels, window)?);
    let taken = product(&[shape.batch, shape.in_channels, shape.height, shape.width])?;
    let tensors = vec![
        read(TensorUse::Input, taken, Accesses::new(macs, taken)),
        read(TensorUse::Weight, weights, Accesses::new(macs, weights)),
    ];
    Ok(with_bias(macs, weights, made, shape.out_channels, shape.bias, tensors))
}

/// What dense layers and convolutions have in common: each output may read its bias.
fn with_bias(
    macs: u64,
    weights: u64,
    made: u64,
    channels: u64,
    bias: bool,
    mut tensors: Vec<TensorTraffic>,
) -> Count {
    let (mut sum, mut parameters) = (macs, weights);
    if bias {
        sum += made;
        parameters += channels;
        tensors.push(read(TensorUse::Bias, channels, Accesses::new(made, channels)));
    }
    tensors.push(write(made));
    Count { mul: macs, sum, macs, parameters, tensors }
}

fn pool(shape: &Pool, is_mean: bool) -> Result<Count, String> {
    let [output_height, output_width] = shape.output().ok_or(
        "the window does not fit into the padded input, or a stride is 0; check kernel, stride, padding and size",
    )?;
    let made = product(&[shape.batch, shape.channels, output_height, output_width])?;
    let taps = product(&[made, shape.kernel[0], shape.kernel[1]])?;
    let taken = product(&[shape.batch, shape.channels, shape.height, shape.width])?;
    let mul = if is_mean { made } else { 0 };
    let tensors = vec![read(TensorUse::Input, taken, Accesses::new(taps, taken)), write(made)];
    Ok(Count { mul, sum: taps, tensors, ..Count::default() })
}

fn adaptive_pool(planes: u64, input: [u64; 2], output: [u64; 2]) -> Result<Count, String> {
    if output.contains(&0) {
        return Err("it makes no outputs; its output height and width must be at least 1".to_owned());
    }
    let taps = product(&[planes, adaptive_taps(input[0], output[0])?, adaptive_taps(input[1], output[1])?])?;
    let (taken, made) = (product(&[planes, input[0], input[1]])?, product(&[planes, output[0], output[1]])?);
    let tensors = vec![read(TensorUse::Input, taken, Accesses::new(taps, taken)), write(made)];
    Ok(Count { mul: made, sum: taps, tensors, ..Count::default() })
}

/// The taps of all windows along one side; windows may overlap by one where sizes do not divide.
fn adaptive_taps(input: u64, output: u64) -> Result<u64, String> {
    // A longer side would be no image, and would be counted window by window for a long time.
    if output > 1 << 20 || input > 1 << 40 {
        return Err(TOO_LARGE.to_owned());
    }
    Ok((0..output).map(|window| ((window + 1) * input).div_ceil(output) - window * input / output).sum())
}

fn each_element(elements: u64, mul: u64, sum: u64) -> Result<Count, String> {
    let tensors = vec![read(TensorUse::Input, elements, Accesses::both(elements)), write(elements)];
    let elements = times(elements, 1)?;
    Ok(Count { mul: elements * mul, sum: elements * sum, tensors, ..Count::default() })
}

fn softmax(rows: u64, length: u64, scaled: bool) -> Result<Count, String> {
    let elements = times(rows, length)?;
    let scale = if scaled { elements } else { 0 };
    let mut output = write(elements);
    output.writes.naive = times(elements, 2)?;
    // The second reading of what was written is the third pass; its tensor is as large as the input.
    let input = read(TensorUse::Input, elements, Accesses::new(times(elements, 3)?, elements));
    Ok(Count {
        mul: times(elements, 9)? + times(rows, 4)? + scale,
        sum: times(elements, 11)? + times(rows, 4)?,
        tensors: vec![input, output],
        ..Count::default()
    })
}

fn layer_norm(rows: u64, width: u64) -> Result<Count, String> {
    let elements = times(rows, width)?;
    Ok(Count {
        mul: times(elements, 3)? + times(rows, 10)?,
        sum: times(elements, 5)? + times(rows, 9)?,
        parameters: times(width, 2)?,
        tensors: vec![
            read(TensorUse::Input, elements, Accesses::new(times(elements, 3)?, elements)),
            read(TensorUse::Weight, width, Accesses::new(elements, width)),
            read(TensorUse::Bias, width, Accesses::new(elements, width)),
            write(elements),
        ],
        ..Count::default()
    })
}

fn matmul(batch: u64, rows: u64, inner: u64, columns: u64) -> Result<Count, String> {
    let macs = product(&[batch, rows, inner, columns])?;
    let (first, second) = (product(&[batch, rows, inner])?, product(&[batch, inner, columns])?);
    let tensors = vec![
        read(TensorUse::Input, first, Accesses::new(macs, first)),
        read(TensorUse::SecondInput, second, Accesses::new(macs, second)),
        write(product(&[batch, rows, columns])?),
    ];
    Ok(Count { mul: macs, sum: macs, macs, parameters: 0, tensors })
}

fn embedding(tokens: u64, vocabulary: u64, width: u64) -> Result<Count, String> {
    let (made, table) = (times(tokens, width)?, times(vocabulary, width)?);
    let tensors = vec![
        read(TensorUse::Index, tokens, Accesses::both(tokens)),
        read(TensorUse::Weight, table, Accesses::both(made)),
        write(made),
    ];
    Ok(Count { parameters: table, tensors, ..Count::default() })
}

fn of_two(elements: u64, mul: u64, sum: u64) -> Result<Count, String> {
    let tensors = vec![
        read(TensorUse::Input, elements, Accesses::both(elements)),
        read(TensorUse::SecondInput, elements, Accesses::both(elements)),
        write(times(elements, 1)?),
    ];
    Ok(Count { mul: elements * mul, sum: elements * sum, tensors, ..Count::default() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dense_shape(rows: u64, inputs: u64, outputs: u64) -> Shape {
        Shape::Dense { rows, inputs, outputs, bias: true }
    }

    #[test]
    fn a_dense_layer_by_hand() {
        let count = count(&dense_shape(2, 3, 5)).unwrap();
        assert_eq!((count.mul, count.sum, count.macs, count.parameters), (30, 40, 30, 20));
        let bias = &count.tensors[2];
        assert_eq!((bias.reads.naive, bias.reads.once), (10, 5));
        assert_eq!(count.tensor_bytes(TensorUse::Weight, 16), 30);
    }

    #[test]
    fn adaptive_windows_overlap_where_sizes_do_not_divide() {
        // Windows of 5 into 3: [0, 2), [1, 4), [3, 5).
        assert_eq!(adaptive_taps(5, 3), Ok(7));
        assert_eq!(adaptive_taps(14, 7), Ok(14));
    }

    #[test]
    fn impossible_shapes_are_told() {
        let too_large = count(&dense_shape(u64::MAX, 2, 2)).unwrap_err();
        assert!(too_large.contains("too large"), "{too_large}");
        assert!(count(&dense_shape(0, 2, 2)).unwrap_err().contains("sizes start at 1"));
        let planes =
            Shape::AdaptiveAveragePool2d { planes: 1, height: 1, width: 1, output_height: 0, output_width: 1 };
        assert!(count(&planes).unwrap_err().contains("at least 1"));
    }

    proptest! {
        #[test]
        fn perfect_reuse_never_moves_more(rows in 1_u64..50, inputs in 1_u64..50, outputs in 1_u64..50) {
            for tensor in count(&dense_shape(rows, inputs, outputs)).unwrap().tensors {
                prop_assert!(tensor.reads.once <= tensor.reads.naive);
                prop_assert!(tensor.writes.once <= tensor.writes.naive);
            }
        }

        #[test]
        fn a_kernel_of_one_is_a_dense_layer(pixels in 1_u64..20, inputs in 1_u64..20, outputs in 1_u64..20) {
            let shape = Convolution {
                batch: 1, in_channels: inputs, out_channels: outputs, height: pixels, width: pixels,
                kernel: [1, 1], stride: [1, 1], padding: [0, 0], groups: 1, bias: true,
            };
            let convolved = count(&Shape::Conv2d(shape)).unwrap();
            prop_assert_eq!(convolved, count(&dense_shape(pixels * pixels, inputs, outputs)).unwrap());
        }
    }
}
