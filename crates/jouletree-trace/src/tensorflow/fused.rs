//! Products that TensorFlow has fused with what follows them: one kernel does `MatMul`, `BiasAdd` and `Relu`, and is named
//! after the last of them. What costs is the product, so the kernel is placed there.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::names::without_number;
use super::place::layer;

/// The products of each layer, as far as other names contain them.
#[derive(Debug, Default)]
pub(crate) struct Products {
    by_layer: FxHashMap<String, BTreeSet<String>>,
}

impl Products {
    /// Notes the path of a forward operation that something else is named after: a gradient, or an operand.
    pub(crate) fn note(&mut self, path: &str) {
        if KINDS.iter().any(|kind| kind.is_called(last(path))) {
            self.by_layer.entry(layer(path).to_owned()).or_default().insert(path.to_owned());
        }
    }

    /// The place of the product in a fused kernel at `path`; `None` for any other operation.
    pub(crate) fn place(&self, path: &str, op_type: &str) -> Option<String> {
        let fused = op_type.split_once("Fused")?.1;
        let kind = KINDS.iter().find(|kind| fused.contains(kind.types))?;
        if kind.is_called(last(path)) {
            return None;
        }
        let layer = layer(path);
        let mut found = self.by_layer.get(layer).into_iter().flatten().filter(|path| kind.is_called(last(path)));
        // Of several products it is unknown which one it is.
        let product = match (found.next(), found.next()) {
            (Some(only), None) => return Some(only.clone()),
            _ => kind.names[0],
        };
        Some(if layer.is_empty() { product.to_owned() } else { format!("{layer}/{product}") })
    }
}

/// A kind of products: what the types of fused kernels contain, and what operations are called.
struct Kind {
    types: &'static str,
    names: &'static [&'static str],
}

impl Kind {
    fn is_called(&self, name: &str) -> bool {
        self.names.contains(&without_number(name))
    }
}

const KINDS: [Kind; 5] = [
    Kind { types: "BatchMatMul", names: &["BatchMatMul", "MatMul", "matmul", "einsum", "Einsum"] },
    Kind { types: "MatMul", names: &["MatMul", "matmul"] },
    Kind { types: "DepthwiseConv2d", names: &["depthwise"] },
    Kind { types: "Conv2D", names: &["Conv2D", "convolution"] },
    Kind { types: "Conv3D", names: &["Conv3D", "convolution"] },
];

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fused_kernel_is_its_product() {
        let mut products = Products::default();
        for path in ["net/conv2d/convolution", "net/conv2d/BiasAdd", "cell/MatMul", "cell/MatMul_1"] {
            products.note(path);
        }
        let place = |path, op_type| products.place(path, op_type);
        let at = |path: &str| Some(path.to_owned());
        assert_eq!(place("net/conv2d/Relu", "_MklNativeFusedConv2D"), at("net/conv2d/convolution"));
        assert_eq!(place("net/other/Relu", "_FusedConv2D"), at("net/other/Conv2D"));
        assert_eq!(place("net/dense/BiasAdd", "_FusedMatMul"), at("net/dense/MatMul"));
        // One of two.
        assert_eq!(place("cell/add_1", "_MklNativeFusedMatMul"), at("cell/MatMul"));
        assert_eq!(place("BiasAdd", "_FusedMatMul"), at("MatMul"));
        // Named after its product already, no product, not fused.
        assert_eq!(place("cell/MatMul_1", "_FusedMatMul"), None);
        assert_eq!(place("net/bn/FusedBatchNormV3", "_FusedBatchNormEx"), None);
        assert_eq!(place("net/dense/BiasAdd", "BiasAdd"), None);
    }
}
