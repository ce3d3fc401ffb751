//! What the additive model adds up: columns of work and traffic that follow from an operator's shape.
//!
//! The forms say how CPU libraries compute, not which machine does: channels in blocks of 16, taps in the padding left
//! out, tensors copied into the library's layout, memory that is mapped anew for large results. What each costs is fitted.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::LayerKind;
use crate::operators::{Convolution, Operator, Pool, Shape, TensorUse, taps_inside};

const MIB: f64 = 1024.0 * 1024.0;
/// Above this size the C library's allocator maps new pages for every tensor, and the kernel has to fill them.
const MAPPED: f64 = 32.0 * MIB;
const GIB: f64 = 1024.0 * MIB;
/// What the last cache holds of a layer's weights from one pass to the next.
const CACHED: f64 = 16.0 * MIB;
/// Rows that keep arithmetic busy for as long as weights take to arrive.
const HIDING_ROWS: f64 = 24.0;
/// Bytes of an element: all tables were measured with 32 bits.
const ELEMENT: f64 = 4.0;
/// Channels that vector code takes at once.
const BLOCK: u64 = 16;

/// What a column counts, which makes its coefficient's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Multiply-accumulates.
    #[serde(rename = "J/MAC")]
    Mac,
    /// Bytes.
    #[serde(rename = "J/byte")]
    Byte,
    /// Comparisons of a pooling window.
    #[serde(rename = "J/tap")]
    Tap,
    /// Elements of a result.
    #[serde(rename = "J/element")]
    Element,
    /// Branches that a processor guesses wrong.
    #[serde(rename = "J/branch")]
    Branch,
    /// Runs of the operator.
    #[serde(rename = "J/call")]
    Call,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Unit::Mac => "J/MAC",
            Unit::Byte => "J/byte",
            Unit::Tap => "J/tap",
            Unit::Element => "J/element",
            Unit::Branch => "J/branch",
            Unit::Call => "J/call",
        })
    }
}

/// One summand of the additive model: a name, a unit, and how much of it an operator has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// What it counts.
    pub name: &'static str,
    /// In which unit its coefficient is.
    pub unit: Unit,
    /// How much.
    pub amount: f64,
}

fn column(name: &'static str, unit: Unit, amount: f64) -> Column {
    Column { name, unit, amount }
}

/// All of a tensor when it is larger than a limit.
fn above(bytes: f64, limit: f64) -> f64 {
    if bytes > limit { bytes } else { 0.0 }
}

/// The kind of layer whose table an operator is predicted from, with its columns; `None` when no table knows such a one.
pub(super) fn columns(operator: &Operator) -> Option<(LayerKind, Vec<Column>)> {
    match *operator.shape() {
        Shape::Conv2d(shape) => Some((LayerKind::Conv2d, convolution(&shape)?)),
        Shape::MaxPool2d(shape) => Some((LayerKind::MaxPool2d, max_pool(&shape)?)),
        Shape::Dense { rows, outputs, .. } => Some((LayerKind::Linear, dense(operator, rows, outputs))),
        Shape::Relu { elements, in_place } => Some((LayerKind::Relu, each_element(elements, in_place))),
        Shape::Sigmoid { elements } => Some((LayerKind::Sigmoid, each_element(elements, false))),
        Shape::Tanh { elements } => Some((LayerKind::Tanh, each_element(elements, false))),
        Shape::Softmax { rows, length, .. } => {
            Some((LayerKind::Softmax, each_element(rows.saturating_mul(length), false)))
        }
        _ => None,
    }
}

fn convolution(shape: &Convolution) -> Option<Vec<Column>> {
    let [output_height, output_width] = shape.output()?;
    let taps = |side: u64, axis: usize| {
        taps_inside(side, shape.kernel[axis], shape.stride[axis], shape.padding[axis]).map(|taps| taps as f64)
    };
    let taps = taps(shape.height, 0)? * taps(shape.width, 1)?;
    let (in_group, out_group) = (shape.in_channels / shape.groups, shape.out_channels / shape.groups);
    // An image's few channels are not filled up to a block; its first layer has code of its own.
    let is_image = in_group < BLOCK;
    let filled_in = if is_image { in_group } else { in_group.next_multiple_of(BLOCK) } as f64;
    let filled_out = out_group.next_multiple_of(BLOCK) as f64;
    let (batch, groups) = (shape.batch as f64, shape.groups as f64);
    let exact = batch * groups * in_group as f64 * out_group as f64 * taps;
    let filled = batch * groups * filled_in * filled_out * taps;
    let input = ELEMENT * batch * groups * filled_in * (shape.height * shape.width) as f64;
    let pixels = (output_height * output_width) as f64;
    let output = ELEMENT * batch * groups * filled_out * pixels;
    // Where whole windows can lie in the padding, libraries gather the input window by window.
    let is_gathered = (0..2).any(|axis| shape.padding[axis] >= shape.kernel[axis]);
    let when = |condition: bool, amount: f64| if condition { amount } else { 0.0 };
    let copied = when(!is_gathered, input);
    let stride = shape.stride[1] as f64 / shape.kernel[1] as f64;
    Some(vec![
        column("exact MACs", Unit::Mac, exact),
        column("MACs in full blocks", Unit::Mac, when(!is_image, filled)),
        column("MACs on few channels", Unit::Mac, when(is_image, filled)),
        column("MACs that stride over the input", Unit::Mac, when(shape.stride[1] > 1, filled * stride)),
        column("MACs of gathered windows", Unit::Mac, when(is_gathered, filled)),
        column("MACs that begin a row", Unit::Mac, filled / output_width.max(1) as f64),
        column("input above 1 MiB", Unit::Byte, above(copied, MIB)),
        column("input above 32 MiB", Unit::Byte, above(copied, MAPPED)),
        column("input above 1 GiB", Unit::Byte, above(copied, GIB)),
        column(
            "gathered input",
            Unit::Byte,
            when(is_gathered, ELEMENT * batch * shape.in_channels as f64 * pixels),
        ),
        column("output above 1 MiB", Unit::Byte, above(output, MIB)),
        column("output above 32 MiB", Unit::Byte, above(output, MAPPED)),
        column("output above 1 GiB", Unit::Byte, above(output, GIB)),
        column(
            "weights",
            Unit::Byte,
            ELEMENT * groups * filled_in * filled_out * (shape.kernel[0] * shape.kernel[1]) as f64,
        ),
        column("calls", Unit::Call, 1.0),
    ])
}

fn max_pool(shape: &Pool) -> Option<Vec<Column>> {
    let [output_height, output_width] = shape.output()?;
    let taps = |side: u64, axis: usize| {
        taps_inside(side, shape.kernel[axis], shape.stride[axis], shape.padding[axis]).map(|taps| taps as f64)
    };
    let planes = shape.batch as f64 * shape.channels as f64;
    let results = planes * (output_height * output_width) as f64;
    let input = ELEMENT * planes * (shape.height * shape.width) as f64;
    let touched_rows = shape.height.min(output_height.saturating_mul(shape.kernel[0].min(shape.stride[0])));
    // The place of each maximum is written, too, with 64 bits.
    let output = (ELEMENT + 8.0) * results;
    Some(vec![
        column("taps", Unit::Tap, planes * taps(shape.height, 0)? * taps(shape.width, 1)?),
        column("results", Unit::Element, results),
        column(
            "new maxima",
            Unit::Branch,
            results * wrong_guesses(shape.kernel[0].saturating_mul(shape.kernel[1])),
        ),
        column("input", Unit::Byte, input),
        column("touched rows of the input", Unit::Byte, ELEMENT * planes * (touched_rows * shape.width) as f64),
        column("output", Unit::Byte, output),
        column("output above 32 MiB", Unit::Byte, above(output, 3.0 * MAPPED)),
        column("calls", Unit::Call, 1.0),
    ])
}

/// How often the branch of a running maximum goes the way that is less likely: element `i` of a window in random order
/// is a new maximum with probability 1/i.
fn wrong_guesses(window: u64) -> f64 {
    // The sum grows like a logarithm; a window of more elements than this is no window.
    (2..=window.min(1 << 16)).map(|index| (1.0 / index as f64).min(1.0 - 1.0 / index as f64)).sum()
}

fn dense(operator: &Operator, rows: u64, outputs: u64) -> Vec<Column> {
    let count = operator.count();
    let bytes = |usage| count.tensor_bytes(usage, 32) as f64;
    let weights = bytes(TensorUse::Weight);
    // A single output is a product of vectors, for which no input has to be rearranged.
    let input = if outputs > 1 { bytes(TensorUse::Input) } else { 0.0 };
    let beyond_cache = (weights - CACHED).max(0.0);
    // With many rows, the next weights arrive while the last ones are still at work.
    let exposed = (HIDING_ROWS / rows.max(1) as f64).min(1.0);
    vec![
        column("MACs", Unit::Mac, count.macs as f64),
        column("weights", Unit::Byte, weights),
        column("weights beyond 16 MiB", Unit::Byte, beyond_cache),
        column("weights that work does not hide", Unit::Byte, weights * exposed),
        column("weights beyond 16 MiB that work does not hide", Unit::Byte, beyond_cache * exposed),
        column("input", Unit::Byte, input),
        column("output", Unit::Byte, bytes(TensorUse::Output)),
        column("calls", Unit::Call, 1.0),
    ]
}

/// In place, nothing is allocated: only the elements themselves are touched.
fn each_element(elements: u64, in_place: bool) -> Vec<Column> {
    let bytes = ELEMENT * elements as f64;
    let new = if in_place { 0.0 } else { bytes };
    vec![
        column("elements", Unit::Byte, bytes),
        column("new output above 32 MiB", Unit::Byte, above(new, MAPPED)),
        column("new output beyond 1 GiB", Unit::Byte, (new - GIB).max(0.0)),
        column("new output above 4 GiB", Unit::Byte, above(new, 4.0 * GIB)),
        column("calls", Unit::Call, 1.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_grow_like_a_logarithm() {
        assert_eq!(wrong_guesses(1), 0.0);
        assert_eq!(wrong_guesses(2), 0.5);
        let harmonic: f64 = (1..=121).map(|index| 1.0 / f64::from(index)).sum();
        assert!((wrong_guesses(121) - (harmonic - 1.0)).abs() < 1e-12);
    }

    #[test]
    fn full_blocks_waste_nothing() {
        let shape = Convolution {
            batch: 2,
            in_channels: 32,
            out_channels: 64,
            height: 9,
            width: 9,
            kernel: [3; 2],
            stride: [1; 2],
            padding: [0; 2],
            groups: 1,
            bias: true,
        };
        let columns = convolution(&shape).unwrap();
        assert_eq!(columns[0].amount, columns[1].amount);
        assert_eq!(columns[0].amount, (2 * 32 * 64 * 49 * 9) as f64);
        assert!(columns.iter().all(|column| column.amount >= 0.0));
    }
}
