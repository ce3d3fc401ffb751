//! Measured trees that this repository makes itself, in both published layouts: three small models whose primitives
//! follow a law of power to the digit and whose modules add a known glue. They replace data that may not be copied.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

pub const HEADER: &str = "batch_size,seq_len,flops,mem_bytes,cpu,mem,gpu,gpu_mem,gpu_clk,gpu_mem_clk,times_mean,\
                          gpu_energy_mean,energy_mean,level_name,model_name";
/// Joules at the wall per joule of the device.
pub const GAIN: f64 = 1.1;
/// The power of the rest of the machine.
pub const REST: f64 = 80.0;
/// Joules that a module adds per primitive it calls.
pub const GLUE_PER_PRIMITIVE: f64 = 0.002;

const WIDTH: f64 = 64.0;
const MEBI: f64 = 1_048_576.0;

/// A node with its place in the tree.
#[derive(Clone, Debug)]
pub struct Made {
    pub scope: String,
    pub kind: &'static str,
    pub table: &'static str,
    pub flops: f64,
    pub bytes: f64,
    pub time: f64,
    pub device: f64,
    pub energy: f64,
    pub children: Vec<Made>,
}

/// One call of a model.
pub struct Call {
    pub model: &'static str,
    pub batch: f64,
    pub seq: f64,
    pub root: Made,
}

impl Made {
    /// The same counts in other units.
    pub fn rescale(&mut self, flops: f64, bytes: f64) {
        self.flops *= flops;
        self.bytes *= bytes;
        self.children.iter_mut().for_each(|child| child.rescale(flops, bytes));
    }
}

fn leaf(scope: String, kind: &'static str, table: &'static str, flops: f64, elements: f64) -> Made {
    let (flops, bytes) = (flops / 1e6, elements * 4.0 / MEBI);
    let time = 2e-5 + 1e-6 * flops + 2e-5 * bytes;
    let device = 0.002 + 1e-4 * flops + 1e-3 * bytes;
    Made {
        scope,
        kind,
        table,
        flops,
        bytes,
        time,
        device,
        energy: GAIN * device + REST * time,
        children: Vec::new(),
    }
}

fn module(scope: &str, kind: &'static str, table: &'static str, children: Vec<Made>) -> Made {
    let primitives = children.iter().filter(|child| child.table.starts_with("ml")).count() as f64;
    let total = |of: fn(&Made) -> f64| children.iter().map(of).sum::<f64>();
    // The glue follows the same law, so that a node's own measurements agree with its energy.
    let glue = GLUE_PER_PRIMITIVE * primitives;
    let (glue_device, glue_time) = (0.5 * glue / GAIN, 0.5 * glue / REST);
    let (flops, bytes) = (total(|child| child.flops), total(|child| child.bytes));
    let (time, device) = (total(|child| child.time) + glue_time, total(|child| child.device) + glue_device);
    let energy = total(|child| child.energy) + glue;
    Made { scope: scope.into(), kind, table, flops, bytes, time, device, energy, children }
}

fn product(scope: String, kind: &'static str, batch: f64, rows: f64, inner: f64, outer: f64) -> Made {
    let (flops, elements) = match kind {
        "Linear" => {
            (2.0 * rows * inner * outer + rows * outer, batch * inner * outer + rows * inner + 3.0 * rows * outer)
        }
        _ => (2.0 * rows * inner * outer, inner * outer + rows * (inner + outer)),
    };
    leaf(scope, kind, "ml1", flops, elements)
}

fn call(model: &'static str, kind: &'static str, layers: usize, batch: f64, seq: f64) -> Call {
    let rows = batch * seq;
    let norm = |scope: String| leaf(scope, "LayerNorm", "ml1", 8.0 * rows * WIDTH, 4.0 * rows * WIDTH);
    let heads = batch * 2.0 * seq * seq;
    let mut below = vec![module(
        "embeddings",
        "Embeddings",
        "module",
        vec![
            leaf("embeddings.word".into(), "Embedding", "ml1", 0.0, rows * WIDTH + 2.0 * rows),
            norm("embeddings.norm".into()),
        ],
    )];
    let mut blocks = Vec::new();
    for layer in 0..layers {
        let at = |name: &str| format!("encoder.layer.{layer}.{name}");
        let attention = module(
            &at("attention"),
            "Attention",
            "module",
            vec![
                product(at("attention.query"), kind, batch, rows, WIDTH, 3.0 * WIDTH),
                leaf(at("attention"), "MatMul", "ml2", 64.0 * heads, heads + rows * WIDTH),
                leaf(at("attention"), "MatMul", "ml2", 64.0 * heads, heads + rows * WIDTH),
                leaf(at("attention"), "Softmax", "ml2", 5.0 * heads, 3.0 * heads),
            ],
        );
        let output = module(
            &at("output"),
            "Output",
            "module",
            vec![
                product(at("output.wide"), kind, batch, rows, WIDTH, 4.0 * WIDTH),
                product(at("output.narrow"), kind, batch, rows, 4.0 * WIDTH, WIDTH),
                norm(at("output.norm")),
            ],
        );
        blocks.push(module(&format!("encoder.layer.{layer}"), "Layer", "module", vec![attention, output]));
    }
    below.push(module("encoder", "Encoder", "module", blocks));
    Call { model, batch, seq, root: module("", "Model", "model", below) }
}

/// Two models of one family and one of another, at six sizes.
pub fn calls() -> Vec<Call> {
    let models = [("made-small", "Linear", 2), ("made-large", "Linear", 4), ("made-other", "Conv1D", 3)];
    let mut calls = Vec::new();
    for (model, kind, layers) in models {
        for batch in [8.0, 16.0, 24.0] {
            for seq in [32.0, 128.0] {
                calls.push(call(model, kind, layers, batch, seq));
            }
        }
    }
    calls
}

/// The rows of one of the four tables.
pub fn table(calls: &[Call], name: &str) -> String {
    let mut text = format!("{HEADER}\n");
    for call in calls {
        rows(call, &call.root, name, &mut text);
    }
    text
}

fn rows(call: &Call, made: &Made, name: &str, text: &mut String) {
    if made.table == name {
        let level_name =
            if name == "model" { call.model.to_owned() } else { format!("{}:{}", made.scope, made.kind) };
        writeln!(
            text,
            "{},{},{},{},8.5,10,95,40,1900,3802,{},{},{},{level_name},{}",
            call.batch, call.seq, made.flops, made.bytes, made.time, made.device, made.energy, call.model
        )
        .expect("text takes anything");
    }
    for child in &made.children {
        rows(call, child, name, text);
    }
}

/// The four tables in a folder.
pub fn write_folder(folder: &Path, calls: &[Call]) {
    for name in ["ml1", "ml2", "module", "model"] {
        fs::write(folder.join(format!("{name}_level_features.csv")), table(calls, name))
            .expect("a writable folder");
    }
}

/// One line per call.
pub fn jsonl(calls: &[Call]) -> String {
    let line = |call: &Call| {
        let tree = nested(&call.root);
        json!({"model_name": call.model, "batch_size": call.batch, "seq_len": call.seq, "frontend_tree": tree})
    };
    calls.iter().map(|call| format!("{}\n", line(call))).collect()
}

fn nested(made: &Made) -> Value {
    let level = if made.table.starts_with("ml") { "ml" } else { made.table };
    json!({
        "scope": format!("root.{}", made.scope), "instance_type": made.kind, "type": level, "num_parameters": 0,
        "flops": made.flops, "mem_bytes": made.bytes, "cpu": 8.5, "mem": 10, "gpu": 95, "gpu_mem": 40,
        "gpu_clk": 1900, "gpu_mem_clk": 3802, "times_mean": made.time, "gpu_energy_mean": made.device,
        "ground_truth_energy": made.energy,
        "child_nodes_obj": made.children.iter().map(nested).collect::<Vec<Value>>(),
    })
}
