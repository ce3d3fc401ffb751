//! A program: a training step of a transformer, again and again.

use jouletree_model::{Event, Lane, Nanos, Op, OpId, OpTable, Pass, Step};

use super::random::Random;

/// Operations of one layer: name, type, usual duration in microseconds.
const FORWARD: [(&str, &str, f64); 28] = [
    ("ln1", "layernorm", 12.0),
    ("q", "matmul", 62.0),
    ("q_b", "bias", 7.0),
    ("k", "matmul", 62.0),
    ("k_b", "bias", 7.0),
    ("v", "matmul", 62.0),
    ("v_b", "bias", 7.0),
    ("split_q", "transpose", 8.0),
    ("split_k", "transpose", 8.0),
    ("split_v", "transpose", 8.0),
    ("qk", "bmm", 38.0),
    ("scale", "eltwise", 9.0),
    ("mask", "eltwise", 10.0),
    ("softmax", "softmax", 24.0),
    ("drop1", "dropout", 18.0),
    ("av", "bmm", 36.0),
    ("merge", "transpose", 8.0),
    ("proj", "matmul", 64.0),
    ("proj_b", "bias", 7.0),
    ("drop2", "dropout", 9.0),
    ("add1", "eltwise", 9.0),
    ("ln2", "layernorm", 12.0),
    ("fc1", "matmul", 231.0),
    ("gelu", "eltwise", 31.0),
    ("fc2", "matmul", 226.0),
    ("fc2_b", "bias", 7.0),
    ("drop3", "dropout", 9.0),
    ("add2", "eltwise", 9.0),
];

/// The power of types relative to that of a matrix product.
const BASE: [(&str, f64); 12] = [
    ("matmul", 1.0),
    ("bmm", 0.82),
    ("softmax", 0.45),
    ("layernorm", 0.42),
    ("eltwise", 0.38),
    ("dropout", 0.40),
    ("bias", 0.33),
    ("transpose", 0.30),
    ("reduce", 0.28),
    ("gather", 0.22),
    ("scatter", 0.30),
    ("optimizer", 0.52),
];

/// An operation of a step.
#[derive(Debug, Clone)]
pub struct Operation {
    pub path: String,
    pub kind: &'static str,
    /// Its path without the number of its layer.
    pub role: String,
    /// Its layer; none outside of layers.
    pub layer: Option<usize>,
    pub pass: Pass,
    /// Its usual duration in seconds.
    pub duration: f64,
}

/// One execution: begin and end in seconds, the number of its operation, its lane.
#[derive(Debug, Clone, Copy)]
pub struct Execution {
    pub start: f64,
    pub end: f64,
    pub op: usize,
    pub lane: usize,
}

/// How a program runs.
#[derive(Debug, Clone)]
pub struct Schedule {
    pub seconds: f64,
    pub layers: usize,
    pub lanes: usize,
    /// The range of the relative spread of durations; each operation has one of it.
    pub jitter: (f64, f64),
    /// The median pause between steps in seconds, and the spread of its logarithm.
    pub pause: (f64, f64),
    /// Every step lasts exactly so long.
    pub locked: Option<f64>,
    /// Durations are multiplied by this.
    pub scale: f64,
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule {
            seconds: 10.0,
            layers: 12,
            lanes: 1,
            jitter: (0.03, 0.10),
            pause: (0.8e-3, 0.4),
            locked: None,
            scale: 1.0,
        }
    }
}

/// What ran.
#[derive(Debug, Clone)]
pub struct Program {
    pub operations: Vec<Operation>,
    pub executions: Vec<Execution>,
    pub lanes: usize,
    pub seconds: f64,
}

/// The operations of one training step.
pub fn step(layers: usize) -> Vec<Operation> {
    let mut step = Vec::new();
    let mut add = |layer: Option<usize>, name: String, kind, pass, microseconds: f64| {
        let path = layer.map_or_else(|| name.clone(), |layer| format!("layer_{layer}/{name}"));
        let role = layer.map_or_else(|| name.clone(), |_| format!("layer_*/{name}"));
        step.push(Operation { path, kind, role, layer, pass, duration: microseconds * 1e-6 });
    };
    use Pass::{Backward, Forward, Optimizer};
    for (name, kind, duration) in
        [("word", "gather", 22.0), ("pos", "gather", 8.0), ("add", "eltwise", 9.0), ("ln", "layernorm", 12.0)]
    {
        add(None, format!("emb/emb_{name}"), kind, Forward, duration);
    }
    for layer in 0..layers {
        for (name, kind, duration) in FORWARD {
            add(Some(layer), name.to_owned(), kind, Forward, duration);
        }
    }
    for (name, kind, duration) in [
        ("head_fc", "matmul", 70.0),
        ("logits", "matmul", 496.0),
        ("logsoftmax", "softmax", 88.0),
        ("nll", "reduce", 12.0),
    ] {
        add(None, format!("head/{name}"), kind, Forward, duration);
    }
    for (name, kind, duration) in
        [("logits_dx", "matmul", 480.0), ("logits_dw", "matmul", 500.0), ("logsoftmax_d", "softmax", 95.0)]
    {
        add(None, format!("head/{name}"), kind, Backward, duration);
    }
    for layer in (0..layers).rev() {
        for (name, kind, duration) in FORWARD.iter().rev().copied() {
            match kind {
                "matmul" => {
                    add(Some(layer), format!("{name}_dx"), kind, Backward, duration * 1.03);
                    add(Some(layer), format!("{name}_dw"), kind, Backward, duration * 1.08);
                }
                "bmm" => {
                    add(Some(layer), format!("{name}_da"), kind, Backward, duration * 1.05);
                    add(Some(layer), format!("{name}_db"), kind, Backward, duration * 1.05);
                }
                "bias" => add(Some(layer), format!("{name}_d"), "reduce", Backward, 11.0),
                _ => add(Some(layer), format!("{name}_d"), kind, Backward, duration * 1.3),
            }
        }
    }
    add(None, "emb/emb_d".to_owned(), "scatter", Backward, 130.0);
    for layer in 0..layers {
        for name in ["m", "v", "upd"] {
            add(Some(layer), format!("adam_{name}"), "optimizer", Optimizer, 70.0);
        }
    }
    add(None, "emb/adam".to_owned(), "optimizer", Optimizer, 460.0);
    add(None, "norm".to_owned(), "reduce", Optimizer, 55.0);
    step
}

/// The lane of an operation where there are several: gradients of weights and the optimizer run beside the main chain.
fn lane_of(number: usize, path: &str, lanes: usize) -> usize {
    let ends = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
    if lanes == 1 {
        0
    } else if path.ends_with("_dw") || path.contains("adam") || path.ends_with("_b_d") {
        1 + number % (lanes - 1)
    } else if ends(&["split_k", "split_k_d", "/k", "/k_b"]) {
        1
    } else if lanes > 2 && ends(&["split_v", "split_v_d", "/v", "/v_b"]) {
        2
    } else {
        0
    }
}

impl Program {
    pub fn new(random: &mut Random, schedule: &Schedule) -> Program {
        let operations = step(schedule.layers);
        let spreads: Vec<f64> =
            operations.iter().map(|_| random.between(schedule.jitter.0, schedule.jitter.1)).collect();
        let lanes: Vec<usize> = operations
            .iter()
            .enumerate()
            .map(|(number, operation)| lane_of(number, &operation.path, schedule.lanes))
            .collect();
        let joins: Vec<bool> = operations
            .iter()
            .map(|operation| ["qk", "proj", "norm"].iter().any(|name| operation.path.contains(name)))
            .collect();
        let mut executions = Vec::new();
        let mut offset = 0.3e-3;
        while offset < schedule.seconds {
            let mut free = vec![0.0_f64; schedule.lanes];
            let mut chain = 0.0_f64;
            for (op, operation) in operations.iter().enumerate() {
                let lane = lanes[op];
                let spread = spreads[op];
                let duration =
                    operation.duration * schedule.scale * (spread * random.normal() - spread * spread / 2.0).exp();
                let mut start = free[lane].max(if lane == 0 { 0.0 } else { chain }) + random.exponential(1e-6);
                if lane == 0 && joins[op] && schedule.lanes > 1 {
                    start = free.iter().copied().fold(start, f64::max);
                }
                let end = start + duration;
                executions.push(Execution { start: offset + start, end: offset + end, op, lane });
                free[lane] = end;
                chain = if lane == 0 { end } else { chain };
            }
            let total = free.iter().copied().fold(0.0, f64::max);
            let pause = schedule.pause.0 * (schedule.pause.1 * random.normal()).exp();
            offset += total + schedule.locked.map_or(pause, |locked| (locked - total).max(2e-6));
        }
        executions.retain(|execution| execution.end < schedule.seconds);
        let (lanes, seconds) = (schedule.lanes, schedule.seconds);
        Program { operations, executions, lanes, seconds }
    }

    /// The dynamic watts of each operation: by type, role, layer, operation and duration.
    pub fn powers(&self, random: &mut Random) -> Vec<f64> {
        let mut drawn = std::collections::BTreeMap::new();
        let mut level = |key: String, sd: f64, random: &mut Random| -> f64 {
            *drawn.entry(key).or_insert_with(|| (sd * random.normal()).exp())
        };
        let power = |operation: &Operation| {
            let base = BASE.iter().find(|(kind, _)| *kind == operation.kind).unwrap().1;
            let intensity = (operation.duration / 60e-6).clamp(0.1, 10.0).powf(0.12);
            240.0
                * base
                * level(format!("type {}", operation.kind), 0.15, random)
                * level(format!("role {}", operation.role), 0.15, random)
                * level(format!("layer {:?}", operation.layer), 0.03, random)
                * level(format!("op {}", operation.path), 0.04, random)
                * intensity
        };
        self.operations.iter().map(power).collect()
    }

    /// The operations as a trace has them.
    pub fn ops(&self) -> OpTable {
        let mut ops = OpTable::default();
        for operation in &self.operations {
            let path = operation.path.as_str();
            ops.intern(Op::new(path, operation.kind, path, operation.pass));
        }
        ops
    }

    /// The executions as a trace has them.
    pub fn lanes(&self, origin: Nanos) -> Vec<Lane> {
        let mut lanes = vec![Vec::new(); self.lanes];
        let at = |seconds: f64| Nanos(origin.0 + (seconds * 1e9).round() as i64);
        for Execution { start, end, op, lane } in &self.executions {
            let (start, end) = (at(*start), at(*end));
            lanes[*lane].push(Event { start, end, op: OpId(*op as u32), step: Step::NONE });
        }
        lanes.into_iter().map(|events| Lane::new(0, "stream", events)).collect()
    }
}
