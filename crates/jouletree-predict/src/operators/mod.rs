//! A model as a list of operators with their shapes: the one source that theory and the predictors of layers feed from.
//!
//! Lists come from models that are built in ([`builtin`]), from a small description file ([`described`]), or from the
//! tree of a run or of an ONNX graph whose shapes are known ([`from_tree`]).

pub mod builtin;
mod count;
mod described;
mod found;
mod from_tree;
mod shape;
mod transformers;
mod vision;

pub use count::{Accesses, Count, TensorTraffic, TensorUse};
pub use described::{DescriptionError, Format, described};
pub use found::{FindError, Found, find};
pub(crate) use from_tree::each_forward;
pub use from_tree::{TreeError, TreeOperators, from_tree};
pub(crate) use shape::taps_inside;
pub use shape::{Convolution, Pool, Shape, ShapeError};
pub(crate) use transformers::module_path;

/// One operator of a model: its name, its shape, and what follows from the shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    name: String,
    shape: Shape,
    count: Count,
    has_borrowed_weights: bool,
}

impl Operator {
    /// An operator of this shape; fails when the shape cannot be, or is too large to count.
    pub fn new(name: impl Into<String>, shape: Shape) -> Result<Operator, ShapeError> {
        let name = name.into();
        let count = count::count(&shape).map_err(|reason| ShapeError { operator: name.clone(), reason })?;
        Ok(Operator { name, shape, count, has_borrowed_weights: false })
    }

    /// The same operator, with weights that an earlier operator of the model has already brought.
    pub fn with_borrowed_weights(self) -> Operator {
        Operator { has_borrowed_weights: true, ..self }
    }

    /// Its name, unique in its model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it computes on.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What it computes and moves.
    pub fn count(&self) -> &Count {
        &self.count
    }

    /// How many parameters it adds to its model.
    pub fn parameters(&self) -> u64 {
        if self.has_borrowed_weights { 0 } else { self.count.parameters }
    }
}

/// Distinguishes the operators of a model that are written without their model's name.
pub(crate) fn named(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }
}
