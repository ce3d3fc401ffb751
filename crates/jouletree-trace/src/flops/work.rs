//! What the work of an operation follows from, by its type.

/// What the count of an operation follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A product of matrices; the second is at this index among the inputs.
    Product {
        second: usize,
    },
    /// A product with a matrix that is packed so that its shape says nothing.
    PackedProduct,
    /// A convolution; the filter is at this index among the inputs.
    Convolution {
        filter: usize,
        layout: Layout,
    },
    /// So many for each element made.
    Made(u64),
    /// One for each element of the first input.
    Taken,
    /// Nothing is computed.
    Moved,
    Unknown,
}

/// Where a filter has its channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Output channels first, as in ONNX.
    OutputFirst,
    /// Output channels last, as in TensorFlow.
    OutputLast,
    /// Input channels and their multiplier last: every output is made from one channel.
    Depthwise,
    /// The filter is spread over the output instead of gathering from the input; input channels first.
    Transposed,
}

/// The work of an operation of this type.
pub(super) fn work(op_type: &str) -> Work {
    let bare = op_type.trim_start_matches('_');
    let bare =
        ["MklNative", "Mkl", "Fused", "Nhwc"].iter().fold(bare, |name, mark| match name.strip_prefix(mark) {
            Some(rest) if !rest.is_empty() => rest,
            _ => name,
        });
    match bare {
        "MatMul"
        | "Gemm"
        | "BatchMatMul"
        | "BatchMatMulV2"
        | "BatchMatMulV3"
        | "MatMulInteger"
        | "TransposeMatMul"
        | "GemmFastGelu"
        | "MatMulIntegerToFloat"
        | "DynamicQuantizeMatMul" => Work::Product { second: 1 },
        "QLinearMatMul" => Work::Product { second: 3 },
        "MatMulNBits" | "MatMulBnb4" => Work::PackedProduct,
        "Conv" | "ConvInteger" => Work::Convolution { filter: 1, layout: Layout::OutputFirst },
        "QLinearConv" => Work::Convolution { filter: 3, layout: Layout::OutputFirst },
        "ConvTranspose" => Work::Convolution { filter: 1, layout: Layout::Transposed },
        "Conv2D" | "Conv3D" => Work::Convolution { filter: 1, layout: Layout::OutputLast },
        "DepthwiseConv2dNative" => Work::Convolution { filter: 1, layout: Layout::Depthwise },
        // Largest, difference, exponential, sum, quotient.
        "Softmax" => Work::Made(5),
        "LogSoftmax" => Work::Made(6),
        // Mean, difference, square, mean, quotient, scale, shift; the sum before it.
        "LayerNormalization" => Work::Made(7),
        "SkipLayerNormalization" => Work::Made(8),
        // Square, mean, quotient, scale.
        "SimplifiedLayerNormalization" | "RMSNormalization" => Work::Made(4),
        "SkipSimplifiedLayerNormalization" => Work::Made(5),
        // Difference, quotient, scale, shift.
        "BatchNormalization" => Work::Made(4),
        // Quotient, error function, sum, two products.
        "Gelu" => Work::Made(5),
        "BiasGelu" => Work::Made(6),
        "ReduceMean" | "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceSumSquare" | "Mean"
        | "Sum" | "Max" | "Min" | "Prod" | "ArgMax" | "ArgMin" | "CumSum" | "Cumsum" | "L2Loss"
        | "BiasAddGrad" | "GlobalAveragePool" | "GlobalMaxPool" => Work::Taken,
        name if is_arithmetic(name) => Work::Made(1),
        name if moves_data(name) => Work::Moved,
        _ => Work::Unknown,
    }
}

fn is_arithmetic(name: &str) -> bool {
    const NAMES: [&str; 50] = [
        "Add",
        "AddV2",
        "BiasAdd",
        "Sub",
        "Mul",
        "Div",
        "RealDiv",
        "DivNoNan",
        "FloorDiv",
        "Mod",
        "FloorMod",
        "Pow",
        "Square",
        "SquaredDifference",
        "Sqrt",
        "Rsqrt",
        "Reciprocal",
        "Inv",
        "Exp",
        "Expm1",
        "Log",
        "Log1p",
        "Neg",
        "Abs",
        "Sign",
        "Erf",
        "Sin",
        "Cos",
        "Tanh",
        "TanhGrad",
        "Sigmoid",
        "SigmoidGrad",
        "HardSigmoid",
        "Relu",
        "ReluGrad",
        "Relu6",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Softplus",
        "Clip",
        "ClipByValue",
        "Maximum",
        "Minimum",
        "Floor",
        "Ceil",
        "Round",
        "QuickGelu",
        "Swish",
        "AddN",
    ];
    NAMES.contains(&name)
}

fn moves_data(name: &str) -> bool {
    const NAMES: [&str; 54] = [
        "Reshape",
        "Transpose",
        "Identity",
        "IdentityN",
        "Cast",
        "Constant",
        "ConstantOfShape",
        "Const",
        "Fill",
        "Gather",
        "GatherV2",
        "GatherND",
        "GatherNd",
        "GatherElements",
        "Slice",
        "StridedSlice",
        "Split",
        "SplitV",
        "Concat",
        "ConcatV2",
        "Pack",
        "Unpack",
        "Stack",
        "Unstack",
        "Squeeze",
        "Unsqueeze",
        "ExpandDims",
        "Expand",
        "Tile",
        "Pad",
        "PadV2",
        "Flatten",
        "Shape",
        "ShapeN",
        "Size",
        "Rank",
        "Where",
        "Select",
        "SelectV2",
        "ReorderInput",
        "ReorderOutput",
        "MemcpyFromHost",
        "MemcpyToHost",
        "NoOp",
        "VarHandleOp",
        "VariableV2",
        "ReadVariableOp",
        "Placeholder",
        "StopGradient",
        "BroadcastTo",
        "DepthToSpace",
        "SpaceToDepth",
        "ZerosLike",
        "OnesLike",
    ];
    NAMES.contains(&name)
}
