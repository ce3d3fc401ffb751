//! Calibrations of a made-up machine whose energies follow a law that is known.

use serde_json::{Value, json};

/// Joules of a million operations, of a mebibyte, and of a call on the made-up machine.
const LAW: [f64; 3] = [2e-4, 3e-3, 1e-3];
/// What a block takes beside its parts.
pub const GLUE: f64 = 4e-3;

fn shape(sizes: &[u64]) -> Value {
    json!([{"type": "float32", "dims": sizes}])
}

/// What the machine takes for a dense layer, a norm or an activation.
fn taken(flops: f64, elements: f64) -> f64 {
    LAW[0] * flops / 1e6 + LAW[1] * elements * 4.0 / 1048576.0 + LAW[2]
}

/// A model of two equal blocks, each with a dense layer, an activation and a norm, and all that was measured of it.
pub fn tree(model: &str, batch: u64, width: u64) -> Value {
    let (mut nodes, mut measured, mut total) = (Vec::new(), Vec::new(), 0.0);
    let mut measure = |path: &str, joules: f64| {
        measured.push(json!({"path": path, "energy_j": joules, "sd_j": 0.0, "seconds": 1e-3, "calls": 9, "stable_rounds": 3}));
    };
    for block in 0..2 {
        let block = format!("block.{block}");
        let (rows, inner, outer) = (batch as f64, width as f64, 2.0 * width as f64);
        let made = rows * outer;
        let parts = [
            ("dense", "Linear", [batch, width], [batch, 2 * width], width * 2 * width + 2 * width),
            ("act", "GELU", [batch, 2 * width], [batch, 2 * width], 0),
            ("norm", "LayerNorm", [batch, 2 * width], [batch, 2 * width], 4 * width),
        ];
        let energies = [
            taken(2.0 * rows * inner * outer + made, inner * outer + rows * inner + outer + made),
            taken(42.0 * made, 2.0 * made),
            taken(8.0 * made, 2.0 * made),
        ];
        nodes.push(json!({"path": block, "type": "Block", "name": block, "pass": "forward", "is_module": true}));
        for ((name, class, inputs, outputs, parameters), joules) in parts.iter().zip(energies) {
            let path = format!("{block}/{name}");
            nodes.push(json!({
                "path": path, "type": class, "name": path, "pass": "forward", "is_module": true,
                "parameters": parameters, "inputs": shape(inputs), "outputs": shape(outputs),
            }));
            measure(&path, joules);
        }
        let sum = energies.iter().sum::<f64>() + GLUE;
        measure(&block, sum);
        total += sum;
    }
    measure("", total);
    json!({"model": model, "batch": batch, "sequence": 1, "tree": {"nodes": nodes, "edges": []}, "nodes": measured})
}

pub fn calibration() -> Value {
    let mut trees = Vec::new();
    for model in ["narrow", "wide"] {
        for (batch, width) in [(1, 64), (4, 64), (16, 128), (2, 256), (8, 512), (32, 256)] {
            let width = if model == "wide" { 3 * width } else { width };
            trees.push(tree(model, batch, width));
        }
    }
    json!({
        "version": 1, "framework": "made up", "kind": "derived", "trees": trees, "warnings": ["it rained"],
        "protocol": {"seconds": 1.0, "rounds": 3, "cool_down_s": 0.0, "standby_tolerance": 0.1},
        "standby": [{"device": "host/cpu:0", "watts": 7.5, "sd_watts": 0.1, "stretches": 5}],
    })
}
