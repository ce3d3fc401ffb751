//! Shapes of operators: everything that their counts follow from, and nothing else.

use serde::{Deserialize, Serialize};

/// What an operator computes, and on how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Shape {
    /// A matrix of weights applied to each row.
    Dense {
        /// Rows: samples times tokens.
        rows: u64,
        /// Features of a row that goes in.
        inputs: u64,
        /// Features of a row that comes out.
        outputs: u64,
        /// Whether a bias is added.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// A convolution over two dimensions.
    Conv2d(Convolution),
    /// The largest of each window.
    MaxPool2d(Pool),
    /// The mean of each window.
    AveragePool2d(Pool),
    /// The mean of as many windows as outputs are asked for.
    AdaptiveAveragePool2d {
        /// Samples times channels.
        planes: u64,
        /// Height of a plane.
        height: u64,
        /// Width of a plane.
        width: u64,
        /// Rows of outputs of a plane.
        output_height: u64,
        /// Columns of outputs of a plane.
        output_width: u64,
    },
    /// Negative elements become zero.
    Relu {
        /// How many elements.
        elements: u64,
        /// Whether the result takes the place of the input. Counts are the same; measured costs are not.
        #[serde(default)]
        in_place: bool,
    },
    /// The logistic function.
    Sigmoid {
        /// How many elements.
        elements: u64,
    },
    /// The hyperbolic tangent.
    Tanh {
        /// How many elements.
        elements: u64,
    },
    /// The Gaussian error linear unit.
    Gelu {
        /// How many elements.
        elements: u64,
    },
    /// Each row becomes positive, with a sum of one.
    Softmax {
        /// How many rows.
        rows: u64,
        /// Elements of a row.
        length: u64,
        /// Whether each element is scaled first, as in attention.
        #[serde(default)]
        scaled: bool,
    },
    /// Each row becomes zero in the mean, one in its spread, then scaled and shifted.
    LayerNorm {
        /// How many rows.
        rows: u64,
        /// Elements of a row.
        width: u64,
    },
    /// Pairs of matrices, multiplied.
    MatMul {
        /// How many pairs.
        batch: u64,
        /// Rows of the first.
        rows: u64,
        /// Columns of the first, rows of the second.
        inner: u64,
        /// Columns of the second.
        columns: u64,
    },
    /// Rows of a table, looked up.
    Embedding {
        /// How many rows are looked up.
        tokens: u64,
        /// Rows of the table.
        vocabulary: u64,
        /// Elements of a row.
        width: u64,
    },
    /// Two tensors, added.
    Add {
        /// Elements of the result.
        elements: u64,
    },
    /// Two tensors, multiplied element by element.
    Multiply {
        /// Elements of the result.
        elements: u64,
    },
    /// Only another view of its input: reshape, transpose, flatten, dropout at inference.
    View {
        /// How many elements.
        elements: u64,
    },
}

impl Shape {
    /// Its kind, as description files name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Shape::Dense { .. } => "dense",
            Shape::Conv2d(_) => "conv2d",
            Shape::MaxPool2d(_) => "max-pool2d",
            Shape::AveragePool2d(_) => "average-pool2d",
            Shape::AdaptiveAveragePool2d { .. } => "adaptive-average-pool2d",
            Shape::Relu { .. } => "relu",
            Shape::Sigmoid { .. } => "sigmoid",
            Shape::Tanh { .. } => "tanh",
            Shape::Gelu { .. } => "gelu",
            Shape::Softmax { .. } => "softmax",
            Shape::LayerNorm { .. } => "layer-norm",
            Shape::MatMul { .. } => "mat-mul",
            Shape::Embedding { .. } => "embedding",
            Shape::Add { .. } => "add",
            Shape::Multiply { .. } => "multiply",
            Shape::View { .. } => "view",
        }
    }
}

/// The shape of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convolution {
    /// Samples.
    pub batch: u64,
    /// Channels that go in.
    pub in_channels: u64,
    /// Channels that come out.
    pub out_channels: u64,
    /// Height of the input.
    pub height: u64,
    /// Width of the input.
    pub width: u64,
    /// Height and width of the kernel.
    pub kernel: [u64; 2],
    /// Steps between windows, down and across.
    #[serde(default = "unit_steps")]
    pub stride: [u64; 2],
    /// Zeros around the input, above and below, left and right.
    #[serde(default)]
    pub padding: [u64; 2],
    /// Into how many groups channels are split.
    #[serde(default = "one")]
    pub groups: u64,
    /// Whether a bias is added.
    #[serde(default = "yes")]
    pub bias: bool,
}

/// The shape of pooling by windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Samples.
    pub batch: u64,
    /// Channels.
    pub channels: u64,
    /// Height of the input.
    pub height: u64,
    /// Width of the input.
    pub width: u64,
    /// Height and width of a window.
    pub kernel: [u64; 2],
    /// Steps between windows, down and across.
    pub stride: [u64; 2],
    /// Space around the input, above and below, left and right.
    #[serde(default)]
    pub padding: [u64; 2],
}

/// A shape that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("operator `{operator}`: {reason}")]
pub struct ShapeError {
    /// The operator's name.
    pub operator: String,
    /// What is wrong with it, and what to do.
    pub reason: String,
}

impl Convolution {
    /// Height and width of the output; `None` when the kernel does not fit into the padded input.
    pub fn output(&self) -> Option<[u64; 2]> {
        output([self.height, self.width], self.kernel, self.stride, self.padding)
    }
}

impl Pool {
    /// Height and width of the output; `None` when the window does not fit into the padded input.
    pub fn output(&self) -> Option<[u64; 2]> {
        output([self.height, self.width], self.kernel, self.stride, self.padding)
    }
}

fn output(input: [u64; 2], kernel: [u64; 2], stride: [u64; 2], padding: [u64; 2]) -> Option<[u64; 2]> {
    Some([
        windows(input[0], kernel[0], stride[0], padding[0])?,
        windows(input[1], kernel[1], stride[1], padding[1])?,
    ])
}

/// How many windows fit along one side.
fn windows(input: u64, kernel: u64, stride: u64, padding: u64) -> Option<u64> {
    let padded = input.checked_add(padding.checked_mul(2)?)?;
    if kernel == 0 {
        return None;
    }
    padded.checked_sub(kernel)?.checked_div(stride)?.checked_add(1)
}

/// How many taps of all windows along one side meet the input, not its padding. Two such numbers, one for each side,
/// multiply, because windows are rectangles.
pub(crate) fn taps_inside(input: u64, kernel: u64, stride: u64, padding: u64) -> Option<u64> {
    let count = windows(input, kernel, stride, padding)?;
    // Beyond any image, padding does not matter, and counting window by window would.
    if count > 1 << 16 {
        return count.checked_mul(kernel);
    }
    let inside = |window: u64| {
        let start = window * stride;
        let end = start + kernel;
        end.min(input + padding).saturating_sub(start.max(padding))
    };
    Some((0..count).map(inside).sum())
}

fn yes() -> bool {
    true
}

fn one() -> u64 {
    1
}

fn unit_steps() -> [u64; 2] {
    [1, 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_the_usual_formula() {
        assert_eq!(windows(224, 11, 4, 2), Some(55));
        assert_eq!(windows(3, 5, 1, 0), None);
        assert_eq!(windows(3, 1, 0, 0), None);
        assert_eq!(windows(u64::MAX, 1, 1, 1), None);
    }

    #[test]
    fn kinds_are_called_as_in_description_files() {
        let image =
            Pool { batch: 1, channels: 1, height: 4, width: 4, kernel: [2, 2], stride: [2, 2], padding: [0, 0] };
        let shapes = [
            Shape::Dense { rows: 1, inputs: 1, outputs: 1, bias: false },
            Shape::MaxPool2d(image),
            Shape::AveragePool2d(image),
            Shape::LayerNorm { rows: 1, width: 1 },
            Shape::MatMul { batch: 1, rows: 1, inner: 1, columns: 1 },
            Shape::View { elements: 1 },
        ];
        for shape in shapes {
            assert_eq!(serde_json::to_value(shape).unwrap()["kind"], shape.kind());
        }
    }

    #[test]
    fn taps_in_the_padding_are_left_out() {
        assert_eq!(taps_inside(5, 3, 1, 0), Some(9));
        assert_eq!(taps_inside(3, 3, 1, 1), Some(7));
        assert_eq!(taps_inside(4, 1, 4, 3), Some(1));
    }
}
