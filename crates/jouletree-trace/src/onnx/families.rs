//! Families of operations: by which of the nodes that a fused operation replaces its place is known.

/// The nodes that show where a fused operation belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family<'a> {
    types: Types<'a>,
    /// How many of the nodes it replaces.
    pub(super) extent: Extent,
}

#[derive(Debug, Clone, Copy)]
enum Types<'a> {
    Listed(&'static [&'static str]),
    Itself(&'a str),
}

/// How many nodes an operation replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// One, and its place is that node's.
    Node,
    /// Everything in the layer of the node that shows its place.
    Layer,
    /// Everything in the layer that the nodes share which show its place.
    Layers,
}

/// What the type of an operation contains, and which nodes then show its place. The most specific is first.
const FAMILIES: [(&str, &[&str], Extent); 14] = [
    ("EmbedLayerNorm", &["Gather"], Extent::Layers),
    ("LayerNorm", NORM, Extent::Layer),
    ("RMSNorm", NORM, Extent::Layer),
    ("GroupNorm", &["InstanceNormalization", "GroupNormalization", "ReduceMean"], Extent::Layer),
    ("QuickGelu", &["Sigmoid"], Extent::Layer),
    ("Gelu", &["Gelu", "Erf", "Tanh"], Extent::Layer),
    ("Swish", &["Sigmoid"], Extent::Layer),
    ("Silu", &["Sigmoid"], Extent::Layer),
    ("Attention", &["Softmax", "Attention"], Extent::Layer),
    ("Softmax", &["Softmax"], Extent::Node),
    ("Conv", &["Conv", "ConvTranspose"], Extent::Node),
    ("MatMul", &["MatMul", "Gemm", "MatMulInteger"], Extent::Node),
    ("Gemm", &["Gemm", "MatMul"], Extent::Node),
    ("Pool", &["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"], Extent::Node),
];

const NORM: &[&str] = &["LayerNormalization", "SimplifiedLayerNormalization", "RMSNormalization", "ReduceMean"];

impl<'a> Family<'a> {
    /// The family of a type; an operation that is in none represents a node of its own type.
    pub(super) fn of(op_type: &'a str) -> Family<'a> {
        let known = FAMILIES.iter().find(|(part, _, _)| op_type.contains(part));
        known.map_or(Family { types: Types::Itself(op_type), extent: Extent::Node }, |(_, types, extent)| Family {
            types: Types::Listed(types),
            extent: *extent,
        })
    }

    /// Whether a node of this type shows its place.
    pub(super) fn holds(&self, op_type: &str) -> bool {
        match self.types {
            Types::Listed(types) => types.contains(&op_type),
            Types::Itself(own) => own == op_type,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_operations_are_made_of_what_they_replace() {
        for (op_type, node, extent) in [
            ("SkipLayerNormalization", "ReduceMean", Extent::Layer),
            ("EmbedLayerNormalization", "Gather", Extent::Layers),
            ("BiasGelu", "Erf", Extent::Layer),
            ("MultiHeadAttention", "Softmax", Extent::Layer),
            ("FusedConv", "Conv", Extent::Node),
            ("Reshape", "Reshape", Extent::Node),
        ] {
            let family = Family::of(op_type);
            assert!(family.holds(node), "{op_type}");
            assert_eq!(family.extent, extent, "{op_type}");
        }
        assert!(!Family::of("Reshape").holds("MatMul"));
    }
}
