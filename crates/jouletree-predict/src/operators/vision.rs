//! AlexNet and the VGG networks, in the layouts that are usual today: without batch normalisation, with biases.

use super::builtin::ImageInput;
use super::{Convolution, Operator, Pool, Shape, ShapeError};

/// The tensor between two layers, as the network is put together.
struct Network {
    operators: Vec<Operator>,
    batch: u64,
    channels: u64,
    height: u64,
    width: u64,
}

impl Network {
    fn new(input: ImageInput) -> Network {
        Network {
            operators: Vec::new(),
            batch: input.batch,
            channels: input.channels,
            height: input.side,
            width: input.side,
        }
    }

    fn push(&mut self, name: impl Into<String>, shape: Shape) -> Result<(), ShapeError> {
        self.operators.push(Operator::new(name, shape)?);
        Ok(())
    }

    fn conv(
        &mut self,
        name: String,
        out_channels: u64,
        kernel: u64,
        stride: u64,
        padding: u64,
    ) -> Result<(), ShapeError> {
        let shape = Convolution {
            batch: self.batch,
            in_channels: self.channels,
            out_channels,
            height: self.height,
            width: self.width,
            kernel: [kernel; 2],
            stride: [stride; 2],
            padding: [padding; 2],
            groups: 1,
            bias: true,
        };
        self.push(name, Shape::Conv2d(shape))?;
        self.channels = out_channels;
        [self.height, self.width] = shape.output().unwrap_or_default();
        Ok(())
    }

    fn relu(&mut self, name: String) -> Result<(), ShapeError> {
        let elements = self.batch.saturating_mul(self.channels).saturating_mul(self.height * self.width);
        self.push(name, Shape::Relu { elements, in_place: true })
    }

    fn max_pool(&mut self, name: String, kernel: u64, stride: u64) -> Result<(), ShapeError> {
        let shape = Pool {
            batch: self.batch,
            channels: self.channels,
            height: self.height,
            width: self.width,
            kernel: [kernel; 2],
            stride: [stride; 2],
            padding: [0; 2],
        };
        self.push(name, Shape::MaxPool2d(shape))?;
        [self.height, self.width] = shape.output().unwrap_or_default();
        Ok(())
    }

    /// Pools to a fixed size, then three dense layers.
    fn classify(mut self, side: u64, hidden: u64, classes: u64) -> Result<Vec<Operator>, ShapeError> {
        let pool = Shape::AdaptiveAveragePool2d {
            planes: self.batch.saturating_mul(self.channels),
            height: self.height,
            width: self.width,
            output_height: side,
            output_width: side,
        };
        self.push("avgpool", pool)?;
        let rows = self.batch;
        let mut inputs = self.channels * side * side;
        for (name, outputs) in [("fc1", hidden), ("fc2", hidden), ("fc3", classes)] {
            self.push(name, Shape::Dense { rows, inputs, outputs, bias: true })?;
            if name != "fc3" {
                let elements = rows.saturating_mul(outputs);
                self.push(format!("{name}.relu"), Shape::Relu { elements, in_place: true })?;
            }
            inputs = outputs;
        }
        Ok(self.operators)
    }
}

/// AlexNet in its layout for one device.
pub(super) fn alexnet(input: ImageInput) -> Result<Vec<Operator>, ShapeError> {
    let mut network = Network::new(input);
    let layers = [
        (64, 11, 4, 2, true),
        (192, 5, 1, 2, true),
        (384, 3, 1, 1, false),
        (256, 3, 1, 1, false),
        (256, 3, 1, 1, true),
    ];
    for (index, (channels, kernel, stride, padding, is_pooled)) in (1..).zip(layers) {
        network.conv(format!("conv{index}"), channels, kernel, stride, padding)?;
        network.relu(format!("relu{index}"))?;
        if is_pooled {
            network.max_pool(format!("pool{index}"), 3, 2)?;
        }
    }
    network.classify(6, 4096, 1000)
}

/// A VGG network: five blocks of so many convolutions of 3 by 3, each block pooled.
pub(super) fn vgg(convolutions: [usize; 5], input: ImageInput) -> Result<Vec<Operator>, ShapeError> {
    let mut network = Network::new(input);
    for (count, channels) in convolutions.into_iter().zip([64, 128, 256, 512, 512]) {
        for _ in 0..count {
            let index = network.operators.len();
            network.conv(format!("{index}.conv"), channels, 3, 1, 1)?;
            network.relu(format!("{}.relu", index + 1))?;
        }
        let index = network.operators.len();
        network.max_pool(format!("{index}.maxpool"), 2, 2)?;
    }
    network.classify(7, 4096, 1000)
}
