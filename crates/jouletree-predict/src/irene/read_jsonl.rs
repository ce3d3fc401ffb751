//! The layout of one tree per line, as the authors' cleaned data are published: nested nodes that name their parameters
//! and their level themselves.

use std::io::{BufRead, BufReader};
use std::path::Path;

use jouletree_model::{Joules, Warning};
use serde::Deserialize;

use super::error::IreneError;
use super::read::{is_left_out, left_out_warning, open};
use super::shapes::{MEBIBYTE, MEGA};
use super::tree::{Dataset, Level, Node, Resources, Seconds, Specs, Tree};

#[derive(Deserialize)]
struct Line {
    model_name: String,
    batch_size: f64,
    seq_len: f64,
    frontend_tree: Written,
}

#[derive(Deserialize)]
struct Written {
    scope: String,
    instance_type: String,
    #[serde(rename = "type")]
    level: String,
    #[serde(default)]
    num_parameters: f64,
    flops: f64,
    mem_bytes: f64,
    cpu: Option<f64>,
    mem: Option<f64>,
    gpu: Option<f64>,
    gpu_mem: Option<f64>,
    gpu_clk: Option<f64>,
    gpu_mem_clk: Option<f64>,
    times_mean: Option<f64>,
    gpu_energy_mean: Option<f64>,
    ground_truth_energy: Option<f64>,
    #[serde(default)]
    child_nodes_obj: Vec<Written>,
}

/// Where a node was read, for messages.
struct NodeLocation<'a> {
    path: &'a Path,
    line: u64,
}

pub(crate) fn read_file(path: &Path) -> Result<Dataset, IreneError> {
    let mut data = Dataset::default();
    let mut left_out = false;
    let mut unseen = Unseen::default();
    for (number, text) in BufReader::new(open(path)?).lines().enumerate() {
        let text = text.map_err(|error| IreneError::Unreadable { path: path.to_owned(), error })?;
        if text.trim().is_empty() {
            continue;
        }
        let place = NodeLocation { path, line: number as u64 + 1 };
        let line: Line = serde_json::from_str(&text).map_err(|error| place.unreadable(&text, &error))?;
        for (name, value) in [("batch_size", line.batch_size), ("seq_len", line.seq_len)] {
            place.check("", name, value, value > 0.0)?;
        }
        if is_left_out(&line.model_name) {
            left_out = true;
            continue;
        }
        let mut nodes = Vec::new();
        flatten(line.frontend_tree, None, &place, &mut nodes, &mut unseen)?;
        data.trees.push(Tree::assemble(line.model_name, line.batch_size, line.seq_len, nodes, 0));
    }
    if data.trees.is_empty() {
        return Err(IreneError::Empty { path: path.to_owned() });
    }
    let source = path.display().to_string();
    data.warnings.extend(left_out.then(|| left_out_warning(&source)));
    data.warnings.extend(unseen.warning(&source));
    match units(&data.trees) {
        Some((flops, bytes)) => {
            for specs in data.trees.iter_mut().flat_map(|tree| &mut tree.nodes).map(|node| &mut node.specs) {
                specs.megaflops *= flops;
                specs.mebibytes *= bytes;
            }
        }
        None => data.warnings.push(Warning::new(
            source,
            "the units of `flops` and `mem_bytes` cannot be derived from layer normalisations; they are taken as millions \
             and MiB",
        )),
    }
    // The files list the models in any order; the models keep the order of their first line.
    let order: Vec<String> = data.models().into_iter().map(str::to_owned).collect();
    let rank = |tree: &Tree| order.iter().position(|model| *model == tree.model);
    data.trees.sort_by(|a, b| {
        rank(a).cmp(&rank(b)).then(a.batch_size.total_cmp(&b.batch_size)).then(a.seq_len.total_cmp(&b.seq_len))
    });
    Ok(data)
}

/// What one unit of operations and of memory is in millions and in MiB. The layout names no units, but a layer
/// normalisation has eight operations and four numbers of four bytes for each of its inputs.
fn units(trees: &[Tree]) -> Option<(f64, f64)> {
    const OPERATIONS_PER_BYTE: f64 = 8.0 / 16.0;
    let norm = trees.iter().flat_map(|tree| &tree.nodes).find(|node| node.kind == "layernorm")?;
    let ratio = norm.specs.megaflops / norm.specs.mebibytes;
    let candidates = [(1.0, 1.0), (1.0 / MEGA, 1.0), (1.0, 1.0 / MEBIBYTE), (1.0 / MEGA, 1.0 / MEBIBYTE)];
    candidates.into_iter().find(|(flops, bytes)| {
        let operations_per_byte = ratio * flops * MEGA / (bytes * MEBIBYTE);
        (operations_per_byte / OPERATIONS_PER_BYTE - 1.0).abs() < 0.01
    })
}

/// Depth is bounded: the parser refuses more than 128 levels.
fn flatten(
    written: Written,
    parent: Option<usize>,
    place: &NodeLocation<'_>,
    nodes: &mut Vec<Node>,
    unseen: &mut Unseen,
) -> Result<(), IreneError> {
    let scope = written.scope.as_str();
    let level = match written.level.as_str() {
        _ if parent.is_none() => Level::Model,
        "ml" | "ml-np" => Level::Leaf,
        "module" | "model" => Level::Module,
        _ => return Err(place.bad(scope, "type", written.level.clone(), "`model`, `module` or `ml` is needed")),
    };
    if level != Level::Leaf && written.child_nodes_obj.is_empty() {
        let wanted = "a node without children must be of the type `ml`";
        return Err(place.bad(scope, "type", written.level.clone(), wanted));
    }
    if level == Level::Leaf && !written.child_nodes_obj.is_empty() {
        return Err(place.bad(scope, "type", written.level.clone(), "a node with children must be a `module`"));
    }
    for (name, value) in
        [("num_parameters", written.num_parameters), ("flops", written.flops), ("mem_bytes", written.mem_bytes)]
    {
        place.check(scope, name, value, value >= 0.0)?;
    }
    let energy = written.ground_truth_energy.unwrap_or(f64::NAN);
    place.check(scope, "ground_truth_energy", energy, energy > 0.0)?;
    nodes.push(Node {
        scope: written.scope.clone(),
        kind: written.instance_type.to_lowercase(),
        level,
        parent,
        children: Vec::new(),
        specs: Specs {
            parameters: written.num_parameters,
            megaflops: written.flops,
            mebibytes: written.mem_bytes,
            product: None,
        },
        resources: resources(&written, place, unseen)?,
        measured: Joules(energy),
    });
    let here = nodes.len() - 1;
    for child in written.child_nodes_obj {
        flatten(child, Some(here), place, nodes, unseen)?;
    }
    Ok(())
}

/// Nodes of which a part of what was to be measured is missing.
#[derive(Default)]
struct Unseen {
    nodes: usize,
    /// The first of them, and what it lacks.
    first: Option<(String, &'static str)>,
}

impl Unseen {
    fn warning(self, source: &str) -> Option<Warning> {
        let (scope, field) = self.first?;
        let message = format!(
            "{} nodes lack a part of what was measured, such as `{scope}`, which has no `{field}`; they count as nodes of which \
             the energy alone is known",
            self.nodes
        );
        Some(Warning::new(source, message))
    }
}

/// What was measured of a node beside its energy, unless something is missing.
fn resources(
    written: &Written,
    place: &NodeLocation<'_>,
    unseen: &mut Unseen,
) -> Result<Option<Resources>, IreneError> {
    let fields = [
        ("cpu", written.cpu),
        ("mem", written.mem),
        ("gpu", written.gpu),
        ("gpu_mem", written.gpu_mem),
        ("gpu_clk", written.gpu_clk),
        ("gpu_mem_clk", written.gpu_mem_clk),
        ("times_mean", written.times_mean),
        ("gpu_energy_mean", written.gpu_energy_mean),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            let is_right = if name == "times_mean" { value > 0.0 } else { value >= 0.0 };
            place.check(&written.scope, name, value, is_right)?;
        }
    }
    let [
        Some(cpu),
        Some(mem),
        Some(gpu),
        Some(gpu_mem),
        Some(gpu_clk),
        Some(gpu_mem_clk),
        Some(time),
        Some(energy),
    ] = fields.map(|(_, value)| value)
    else {
        let missing = fields.iter().find(|(_, value)| value.is_none());
        if let (Some((name, _)), true) = (missing, fields.iter().any(|(_, value)| value.is_some())) {
            unseen.nodes += 1;
            unseen.first.get_or_insert_with(|| (written.scope.clone(), name));
        }
        return Ok(None);
    };
    let (time, device_energy) = (Seconds(time), Joules(energy));
    Ok(Some(Resources { cpu, mem, gpu, gpu_mem, gpu_clk, gpu_mem_clk, time, device_energy }))
}

impl NodeLocation<'_> {
    fn bad(&self, scope: &str, column: &str, value: String, wanted: &'static str) -> IreneError {
        let column = if scope.is_empty() { column.to_owned() } else { format!("{column} of {scope}") };
        IreneError::BadValue { path: self.path.to_owned(), line: self.line, column, value, wanted }
    }

    /// What is wrong with a line that is no tree. Python writes numbers that are none, which JSON does not know.
    fn unreadable(&self, text: &str, error: &serde_json::Error) -> IreneError {
        let near = error.column().saturating_sub(1);
        let is_at = |word: &&&str| {
            [near, error.column()].iter().any(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(**word)))
        };
        if let Some(word) = ["NaN", "Infinity"].iter().find(is_at) {
            let field = text.get(..near).and_then(|before| before.rsplit('"').nth(1)).unwrap_or_default();
            return self.bad("", field, (*word).to_owned(), "a number that is measured or counted is needed");
        }
        IreneError::BadLine { path: self.path.to_owned(), line: self.line, message: error.to_string() }
    }

    fn check(&self, scope: &str, name: &str, value: f64, right: bool) -> Result<(), IreneError> {
        if right && value.is_finite() {
            return Ok(());
        }
        Err(self.bad(scope, name, value.to_string(), "a number that is measured or counted is needed"))
    }
}
