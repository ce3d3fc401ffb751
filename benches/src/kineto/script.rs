//! What one training step calls, in order: forward through twelve layers, backward through every node, the optimizer.
//!
//! The calls are those PyTorch 2.15 records for a BERT of base size, written down as indented scripts.

use super::kernels::{KERNELS, Kernel};
use super::snippets::{LAYER, UPDATE, backward_of, parameters_of, snippet};

/// How many layers the model has.
const LAYERS: usize = 12;

/// One call of a step.
pub(super) struct Call {
    /// How many calls enclose it.
    pub(super) depth: usize,
    pub(super) name: String,
    /// Its recorded inputs as Kineto writes them; `None` for an annotation and for the engine's own calls.
    pub(super) inputs: Option<String>,
    /// Whether a span that the user set rather than an operator.
    pub(super) annotation: bool,
    /// Whether the autograd engine runs it.
    pub(super) backward: bool,
    pub(super) node: Option<Node>,
    /// The kernel it launches.
    pub(super) kernel: Option<&'static Kernel>,
}

/// What a call has to do with a node of the autograd graph; nodes are numbered within a step.
#[derive(Clone, Copy)]
pub(super) enum Node {
    /// It makes the node.
    Made(u64),
    /// It runs the node, the flow from the forward call ends here.
    Run(u64),
    /// It is the engine's call around the running of the node.
    Evaluated(u64),
}

/// The calls of one step. Without a GPU there are no kernels and no collectives.
pub(super) fn training_step(gpu: bool) -> Vec<Call> {
    let mut step = Script { gpu, backward: false, calls: Vec::new(), nodes: Vec::new() };
    step.add(0, "Optimizer.zero_grad#AdamW.zero_grad");
    step.add(0, "module::(root)");
    step.add(1, "module::bert");
    step.add(2, "module::bert.encoder");
    for layer in 0..LAYERS {
        step.add_all(3, &LAYER.replace("{}", &layer.to_string()));
    }
    step.backward = true;
    for (number, node) in step.nodes.clone().into_iter().enumerate().rev() {
        step.add_backward(number as u64, &node);
    }
    step.backward = false;
    step.add(0, "Optimizer.step#AdamW.step");
    for parameter in 0..16 * LAYERS {
        step.add_all(1, &UPDATE.replace("PARAMETER", if parameter % 2 == 0 { "w" } else { "b" }));
    }
    step.calls
}

struct Script {
    gpu: bool,
    /// Whether the backward pass is being written.
    backward: bool,
    calls: Vec<Call>,
    /// The autograd nodes made so far.
    nodes: Vec<String>,
}

impl Script {
    /// Adds every line of a script, its indentation on top of `depth`.
    fn add_all(&mut self, depth: usize, script: &str) {
        for line in script.lines().filter(|line| !line.is_empty()) {
            let text = line.trim_start();
            let depth = depth + (line.len() - text.len()) / 2;
            match text.strip_prefix('@') {
                Some(name) => self.add_all(depth, snippet(name)),
                None => self.add(depth, text),
            }
        }
    }

    /// Adds one line: name, inputs, `> node it makes`, `! kernel it launches`.
    fn add(&mut self, depth: usize, line: &str) {
        let (line, kernel) = line.split_once(" ! ").unwrap_or((line, ""));
        let (line, made) = line.split_once(" > ").unwrap_or((line, ""));
        let (name, inputs) = line.split_once(' ').unwrap_or((line, ""));
        let annotation = name.starts_with("module::") || name.starts_with("Optimizer.");
        if name.starts_with("c10d::") && !self.gpu {
            return;
        }
        let node = (!made.is_empty()).then(|| {
            self.nodes.push(made.to_owned());
            Node::Made(self.nodes.len() as u64 - 1)
        });
        self.calls.push(Call {
            depth,
            name: name.to_owned(),
            inputs: (!annotation).then(|| recorded_inputs(inputs)),
            annotation,
            backward: self.backward,
            node,
            kernel: KERNELS.iter().find(|known| self.gpu && known.key == kernel),
        });
    }

    /// Adds what the engine does for a node, and for the parameters that hang on it.
    fn add_backward(&mut self, number: u64, node: &str) {
        self.add_evaluation(node, Some(number), backward_of(node));
        for _ in 0..parameters_of(node) {
            self.add_evaluation("torch::autograd::AccumulateGrad", None, "aten::detach b\n  detach b");
        }
    }

    fn add_evaluation(&mut self, node: &str, number: Option<u64>, inside: &str) {
        self.calls.push(Call {
            depth: 0,
            name: format!("autograd::engine::evaluate_function: {node}"),
            inputs: None,
            annotation: false,
            backward: true,
            node: number.map(Node::Evaluated),
            kernel: None,
        });
        self.add(1, &format!("{node} x"));
        if let Some(call) = self.calls.last_mut() {
            call.node = number.map(Node::Run);
        }
        self.add_all(2, inside);
    }
}

/// The inputs of an operator as Kineto writes them, from a list of letters for tensors, `_` for nothing, lists in
/// brackets and scalars.
fn recorded_inputs(inputs: &str) -> String {
    let (mut values, mut types, mut strides, mut dims) = (vec![], vec![], vec![], vec![]);
    for input in inputs.split_whitespace() {
        let (value, kind, shape) = match tensor(input) {
            Some((kind, shape)) => (String::new(), kind, shape),
            None if input == "_" => (String::new(), "", &[][..]),
            None if input.starts_with('[') => (input.replace(',', ", "), "ScalarList", &[][..]),
            None => (input.to_owned(), "Scalar", &[][..]),
        };
        values.push(format!("\"{value}\""));
        types.push(format!("\"{kind}\""));
        strides.push(list(&contiguous(shape)));
        dims.push(list(shape));
    }
    let columns =
        [("Concrete Inputs", values), ("Input type", types), ("Input Strides", strides), ("Input Dims", dims)];
    columns.iter().map(|(key, list)| format!("\"{key}\": [{}], ", list.join(", "))).collect()
}

/// The type and the shape of the tensor of a letter.
fn tensor(letter: &str) -> Option<(&'static str, &'static [u64])> {
    Some(match letter {
        "x" => ("float", &[32, 128, 768]),
        "y" => ("float", &[4096, 768]),
        "w" => ("float", &[768, 768]),
        "b" => ("float", &[768]),
        "h" => ("float", &[32, 12, 128, 64]),
        "g" => ("float", &[384, 128, 64]),
        "s" => ("float", &[32, 12, 128, 128]),
        "d" => ("double", &[]),
        "t" => ("float", &[]),
        _ => return None,
    })
}

/// How far apart neighbours of each dimension are.
fn contiguous(shape: &[u64]) -> Vec<u64> {
    (1..=shape.len()).map(|inner| shape[inner..].iter().product()).collect()
}

fn list(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(", "))
}
