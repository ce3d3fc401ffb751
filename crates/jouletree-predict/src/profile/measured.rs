//! Trees whose energies come from a footprint: what the operations of a run were charged with, by their module.

use std::collections::{BTreeMap, BTreeSet};

use jouletree_model::{Footprint, Joules, ModelTree, Pass};

use super::parts::{ModelPart, is_fused_attention};
use super::sketch::{AttentionForm, NodeEnergy, Sketch, above};
use crate::irene::Tree;

/// A footprint that teaches nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FootprintError {
    /// Its model is not known, or has no sizes.
    #[error(
        "{0}: none of its operations has a known size; record it with shapes (PyTorch modules, ONNX Runtime, XLA), or \
         give the model with `account --model`"
    )]
    NoSizes(String),
    /// No operation was charged with anything.
    #[error("{0}: no operation was charged with energy; record operations with `jouletree run`")]
    NoEnergy(String),
}

/// The trees of a run, one for each of the passes that gradients go through, with the energy of one step. `samples` are those
/// of a step, where the program reported them.
pub fn measured_passes(
    footprint: &Footprint,
    name: &str,
    samples: Option<u64>,
) -> Result<Vec<(Pass, Tree, Sketch)>, FootprintError> {
    let (batch, sequence) = input_size(&footprint.model, samples).unwrap_or((1, 1));
    let mut sketch = Sketch::of_tree(&footprint.model, name, batch, sequence);
    sketch.parts.extend(attentions(footprint));
    if !sketch.has_primitives() {
        return Err(FootprintError::NoSizes(name.to_owned()));
    }
    let steps = step_count(footprint);
    let mut trees = Vec::new();
    for pass in [Pass::Forward, Pass::Backward] {
        let energies = energies(footprint, pass, steps);
        if energies.get("").is_some_and(|energy| energy.0 > 0.0) {
            let measured =
                |path: &str| energies.get(path).map(|energy| NodeEnergy { energy: *energy, device: None });
            trees.push((pass, sketch.tree(AttentionForm::Apart, measured), sketch.clone()));
        }
    }
    if trees.is_empty() {
        return Err(FootprintError::NoEnergy(name.to_owned()));
    }
    Ok(trees)
}

/// What a step took in a pass, by path: of operations, and of everything around them up to the model itself.
fn energies(footprint: &Footprint, pass: Pass, steps: f64) -> BTreeMap<&str, Joules> {
    let mut energies: BTreeMap<&str, Joules> = BTreeMap::new();
    // Attention is charged by many names: the kernels that it chooses, what prepares them, and their gradients.
    let attentions: BTreeMap<&str, &str> = fused_attentions(footprint).rev().collect();
    for charged in &footprint.energies {
        let Some(op) = footprint.ops.get(charged.op).filter(|op| op.pass == pass) else { continue };
        let share = Joules(charged.energy.0 / steps);
        let mut path: &str = attentions.get(above(&op.path)).copied().unwrap_or(&op.path);
        loop {
            *energies.entry(path).or_default() += share;
            if path.is_empty() {
                break;
            }
            path = above(path);
        }
    }
    energies
}

/// Attention in one operation, which trees of modules do not hold: as large as the input of the module around it.
fn attentions(footprint: &Footprint) -> Vec<ModelPart> {
    let mut seen = BTreeSet::new();
    let inputs: BTreeMap<&str, &[i64]> = footprint
        .model
        .nodes()
        .filter_map(|(_, op, facts)| Some((&*op.path, facts.inputs.first()?.dimensions.as_slice())))
        .collect();
    let known: BTreeSet<&str> = footprint.model.nodes().map(|(_, op, _)| &*op.path).collect();
    fused_attentions(footprint)
        .filter(|(_, path)| !known.contains(path))
        .filter_map(|(module, path)| {
            let &[batch, tokens, width] = *inputs.get(module)? else { return None };
            let is_known = batch > 0 && tokens > 0 && width > 0;
            (is_known && seen.insert(module))
                .then(|| ModelPart::attention(path, batch as f64, tokens as f64, width as f64))
        })
        .collect()
}

/// The modules that compute attention in one operation, with its path; the first of a module represents all.
fn fused_attentions(footprint: &Footprint) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    let forward: Vec<(&str, &str)> = footprint
        .ops
        .iter()
        .filter(|(_, op)| op.pass == Pass::Forward && is_fused_attention(&op.op_type))
        .map(|(_, op)| (above(&op.path), &*op.path))
        .collect();
    forward.into_iter()
}

/// What the optimiser took for each parameter in a step; `None` when it took nothing or parameters are not known.
pub fn optimizer_per_parameter(footprint: &Footprint) -> Option<f64> {
    let energies = energies(footprint, Pass::Optimizer, step_count(footprint));
    let parameters = footprint.model.nodes().filter_map(|(_, _, facts)| facts.parameters).max()?;
    let energy = energies.get("")?.0;
    (energy > 0.0 && parameters > 0).then(|| energy / parameters as f64)
}

fn step_count(footprint: &Footprint) -> f64 {
    footprint.steps.iter().map(|step| step.step).collect::<BTreeSet<_>>().len().max(1) as f64
}

/// Samples, and tokens of each, that a model was given; `None` when they are unknown. Models may put the tokens of all samples
/// in one dimension, which the number of samples shows.
pub fn input_size(model: &ModelTree, samples: Option<u64>) -> Option<(u64, u64)> {
    let shapes = model.nodes().filter_map(|(_, op, facts)| {
        let shape = facts.inputs.first().filter(|shape| shape.dimensions.len() > 1)?;
        (op.pass == Pass::Forward).then_some(shape)
    });
    let sizes: Vec<u64> = shapes
        .map(|shape| shape.dimensions.iter().filter_map(|size| u64::try_from(*size).ok()).collect())
        .next()?;
    match (sizes.as_slice(), samples.filter(|samples| *samples > 0)) {
        ([tokens, ..], Some(batch)) if *tokens > batch && tokens % batch == 0 => Some((batch, tokens / batch)),
        ([], _) => None,
        ([batch, sequence] | [batch, sequence, _], _) => Some((*batch, *sequence)),
        ([batch, ..], _) => Some((*batch, 1)),
    }
}

#[cfg(test)]
mod tests {
    use jouletree_model::{Facts, Op, OpEnergy, TensorShape};

    use super::*;
    use crate::irene::Level;

    fn shapes(sizes: &[&[i64]]) -> Vec<TensorShape> {
        sizes.iter().map(|sizes| TensorShape::new("float32", sizes.to_vec())).collect()
    }

    /// A layer with a dense module, and with an attention of several kernels, of which two steps were recorded.
    fn footprint() -> Footprint {
        let mut footprint = Footprint::default();
        let mut module = |path: &str, class: &str, inputs: &[&[i64]], outputs: &[&[i64]], parameters| {
            let facts = Facts {
                is_module: true,
                parameters: Some(parameters),
                inputs: shapes(inputs),
                outputs: shapes(outputs),
                ..Facts::default()
            };
            footprint.model.insert(Op::new(path, class, path, Pass::Forward), facts);
        };
        module("layer", "Layer", &[&[4, 8, 32]], &[&[4, 8, 32]], 32 * 32 + 32);
        module("layer/dense", "Linear", &[&[4, 8, 32]], &[&[4, 8, 32]], 32 * 32 + 32);
        let mut charge = |path: &str, op_type: &str, pass, joules| {
            let op = footprint.ops.intern(Op::new(path, op_type, path, pass));
            let zero = jouletree_model::Nanos(0);
            footprint.energies.push(OpEnergy {
                device: 0,
                op,
                stage: 0,
                energy: Joules(joules),
                busy: zero,
                count: 2,
                standard_error: None,
            });
        };
        charge("layer/dense/addmm", "aten::addmm", Pass::Forward, 6.0);
        charge("layer/sdpa", "aten::scaled_dot_product_attention", Pass::Forward, 3.0);
        charge("layer/add", "aten::add", Pass::Forward, 1.0);
        charge("layer/dense/mm", "aten::mm", Pass::Backward, 12.0);
        charge("layer/sdpa_kernel", "aten::_scaled_dot_product_kernel", Pass::Forward, 1.0);
        charge("layer/sdpa_backward", "aten::_scaled_dot_product_kernel_backward", Pass::Backward, 5.0);
        footprint
    }

    #[test]
    fn energies_are_those_of_modules_and_add_up() {
        let trees = measured_passes(&footprint(), "run", None).unwrap();
        let (pass, tree, _) = &trees[0];
        assert_eq!(*pass, Pass::Forward);
        let energy = |scope: &str| tree.nodes.iter().find(|node| node.scope == scope).unwrap().measured.0;
        assert_eq!((energy("layer/dense"), energy("layer/sdpa"), energy("layer")), (6.0, 5.0, 11.0));
        assert_eq!(tree.root().unwrap().measured.0, 11.0);
        assert_eq!((tree.batch_size, tree.seq_len), (4.0, 8.0));
        let kinds: Vec<&str> =
            tree.nodes.iter().filter(|node| node.level == Level::Leaf).map(|node| node.kind.as_str()).collect();
        assert_eq!(kinds, ["linear", "attention"]);
        let (_, backward, _) = &trees[1];
        assert_eq!(backward.root().unwrap().measured.0, 17.0);
        assert_eq!(backward.nodes.iter().find(|node| node.kind == "attention").unwrap().measured.0, 5.0);
    }

    #[test]
    fn tokens_of_all_samples_may_be_one_dimension() {
        let mut model = ModelTree::default();
        let facts = Facts { inputs: shapes(&[&[512, 256]]), ..Facts::default() };
        model.insert(Op::new("dense/MatMul", "MatMul", "dense/MatMul", Pass::Forward), facts);
        assert_eq!(input_size(&model, Some(8)), Some((8, 64)));
        assert_eq!(input_size(&model, Some(512)), Some((512, 256)));
        assert_eq!(input_size(&model, None), Some((512, 256)));
        assert_eq!(input_size(&ModelTree::default(), Some(8)), None);
    }

    #[test]
    fn a_run_that_teaches_nothing_says_why() {
        let mut without_sizes = footprint();
        without_sizes.model = ModelTree::default();
        without_sizes.ops = jouletree_model::OpTable::default();
        assert!(matches!(measured_passes(&without_sizes, "run", None), Err(FootprintError::NoSizes(_))));
        let mut without_energy = footprint();
        without_energy.energies.clear();
        assert!(matches!(measured_passes(&without_energy, "run", None), Err(FootprintError::NoEnergy(_))));
    }
}
