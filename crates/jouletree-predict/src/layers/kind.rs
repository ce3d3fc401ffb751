//! Kinds of layers that were measured, and a layer as the tables name it: a kind with whole numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::operators::{Convolution, Operator, Pool, Shape};

/// A kind of layer with a table of measurements of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// A convolution over two dimensions.
    Conv2d,
    /// The largest of each window.
    MaxPool2d,
    /// A dense layer.
    Linear,
    /// Negative elements become zero, in a new tensor.
    Relu,
    /// The logistic function.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// Rows that add up to one.
    Softmax,
}

/// A layer as the tables name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layer {
    /// Its kind.
    pub kind: LayerKind,
    /// The values of [`LayerKind::parameters`], in that order.
    pub values: Vec<u64>,
}

impl LayerKind {
    /// Every kind.
    pub const ALL: [LayerKind; 7] = [
        LayerKind::Conv2d,
        LayerKind::MaxPool2d,
        LayerKind::Linear,
        LayerKind::Relu,
        LayerKind::Sigmoid,
        LayerKind::Tanh,
        LayerKind::Softmax,
    ];

    /// Its name, in files and in keys.
    pub fn as_str(self) -> &'static str {
        match self {
            LayerKind::Conv2d => "conv2d",
            LayerKind::MaxPool2d => "maxpool2d",
            LayerKind::Linear => "linear",
            LayerKind::Relu => "relu",
            LayerKind::Sigmoid => "sigmoid",
            LayerKind::Tanh => "tanh",
            LayerKind::Softmax => "softmax",
        }
    }

    /// The columns that say what the layer is, in the order of keys.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            LayerKind::Conv2d => {
                &["batch_size", "image_size", "kernel_size", "in_channels", "out_channels", "stride", "padding"]
            }
            LayerKind::MaxPool2d => {
                &["batch_size", "image_size", "kernel_size", "in_channels", "stride", "padding"]
            }
            LayerKind::Linear => &["batch_size", "input_size", "output_size"],
            LayerKind::Relu | LayerKind::Sigmoid | LayerKind::Tanh | LayerKind::Softmax => {
                &["batch_size", "input_size"]
            }
        }
    }
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Layer {
    /// The layer that an operator is; `None` when no table knows such a one.
    pub fn of(shape: &Shape) -> Option<Layer> {
        let same = |pair: [u64; 2]| (pair[0] == pair[1]).then_some(pair[0]);
        let (kind, values) = match *shape {
            Shape::Conv2d(conv) if conv.groups == 1 && conv.bias => {
                let values = vec![
                    conv.batch,
                    same([conv.height, conv.width])?,
                    same(conv.kernel)?,
                    conv.in_channels,
                    conv.out_channels,
                    same(conv.stride)?,
                    same(conv.padding)?,
                ];
                (LayerKind::Conv2d, values)
            }
            Shape::MaxPool2d(pool) => {
                let side = same([pool.height, pool.width])?;
                let values = vec![
                    pool.batch,
                    side,
                    same(pool.kernel)?,
                    pool.channels,
                    same(pool.stride)?,
                    same(pool.padding)?,
                ];
                (LayerKind::MaxPool2d, values)
            }
            Shape::Dense { rows, inputs, outputs, .. } => (LayerKind::Linear, vec![rows, inputs, outputs]),
            Shape::Relu { elements, .. } => (LayerKind::Relu, vec![1, elements]),
            Shape::Sigmoid { elements } => (LayerKind::Sigmoid, vec![1, elements]),
            Shape::Tanh { elements } => (LayerKind::Tanh, vec![1, elements]),
            Shape::Softmax { rows, length, .. } => (LayerKind::Softmax, vec![rows, length]),
            _ => return None,
        };
        Some(Layer { kind, values })
    }

    /// The operator that this layer is; fails when its numbers make none.
    pub fn operator(&self) -> Result<Operator, String> {
        let shape = match (self.kind, self.values.as_slice()) {
            (LayerKind::Conv2d, &[batch, side, kernel, in_channels, out_channels, stride, padding]) => {
                Shape::Conv2d(Convolution {
                    batch,
                    in_channels,
                    out_channels,
                    height: side,
                    width: side,
                    kernel: [kernel; 2],
                    stride: [stride; 2],
                    padding: [padding; 2],
                    groups: 1,
                    bias: true,
                })
            }
            (LayerKind::MaxPool2d, &[batch, side, kernel, channels, stride, padding]) => Shape::MaxPool2d(Pool {
                batch,
                channels,
                height: side,
                width: side,
                kernel: [kernel; 2],
                stride: [stride; 2],
                padding: [padding; 2],
            }),
            (LayerKind::Linear, &[rows, inputs, outputs]) => Shape::Dense { rows, inputs, outputs, bias: true },
            (LayerKind::Softmax, &[rows, length]) => Shape::Softmax { rows, length, scaled: false },
            (kind, &[batch, size]) => {
                let elements = batch.checked_mul(size).ok_or("it has too many elements to count")?;
                match kind {
                    LayerKind::Relu => Shape::Relu { elements, in_place: false },
                    LayerKind::Sigmoid => Shape::Sigmoid { elements },
                    _ => Shape::Tanh { elements },
                }
            }
            (kind, values) => return Err(format!("{} numbers do not make a {kind}", values.len())),
        };
        Operator::new(self.key(), shape).map_err(|error| error.reason)
    }

    /// Its key: the kind and its numbers, `linear|472,4645,1920`.
    pub fn key(&self) -> String {
        let values: Vec<String> = self.values.iter().map(u64::to_string).collect();
        format!("{}|{}", self.kind, values.join(","))
    }
}
