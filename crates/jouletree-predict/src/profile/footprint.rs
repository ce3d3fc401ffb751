//! A prediction as a footprint, so that everything that shows a run shows it, too.

use jouletree_model::{
    Device, DeviceEnergy, Facts, Footprint, Joules, Kind, ModelTree, Nanos, Op, OpEnergy, OpTable, Pass,
    PredictedInterval, Warning,
};

use super::predicted::Predicted;
use crate::irene::Level;

/// The footprint of predicted passes on one device: primitives are its operations, and the glue of a module is one.
pub fn as_footprint(passes: &[Predicted], device: Device) -> Footprint {
    let mut ops = OpTable::default();
    let mut model = ModelTree::default();
    let (mut energies, mut intervals) = (Vec::new(), Vec::new());
    for predicted in passes {
        for node in &predicted.nodes {
            let is_leaf = node.level == Level::Leaf;
            intervals.extend(node.interval.map(|interval| PredictedInterval {
                path: node.path.as_str().into(),
                pass: predicted.pass,
                energy: node.energy,
                interval,
            }));
            if !is_leaf {
                let facts = Facts {
                    is_module: true,
                    parameters: Some(node.parameters as u64),
                    flops: Some((node.megaflops * 1e6) as u64),
                    ..Facts::default()
                };
                model.insert(Op::new(&*node.path, &*node.kind, &*node.path, predicted.pass), facts);
            }
            let (path, op_type) = match (is_leaf, node.path.is_empty()) {
                (true, _) => (node.path.clone(), node.kind.as_str()),
                (false, true) => ("(glue)".to_owned(), "glue"),
                (false, false) => (format!("{}/(glue)", node.path), "glue"),
            };
            if node.glue.0 > 0.0 {
                let op = ops.intern(Op::new(&*path, op_type, &*path, predicted.pass));
                let (energy, busy, standard_error) = (node.glue, Nanos(0), None);
                energies.push(OpEnergy { device: 0, op, stage: 0, energy, busy, count: 1, standard_error });
            }
        }
    }
    let attributed: Joules = energies.iter().map(|charged| charged.energy).sum();
    let balance = DeviceEnergy {
        device,
        total: Some(attributed),
        attributed,
        unattributed: Joules::ZERO,
        outside_trace: Joules::ZERO,
        kind: Some(Kind::Predicted),
        busy: Nanos(0),
        metered: Nanos(0),
        uncovered: Nanos(0),
    };
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in passes.iter().flat_map(|predicted| &predicted.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    Footprint { devices: vec![balance], ops, energies, intervals, model, warnings, ..Footprint::default() }
}

/// Adds what the optimiser takes in a step to the first device.
pub fn add_optimizer(footprint: &mut Footprint, energy: Joules) {
    if let Some(balance) = footprint.devices.first_mut() {
        let path = "(optimizer)";
        let op = footprint.ops.intern(Op::new(path, "optimizer", path, Pass::Optimizer));
        footprint.energies.push(OpEnergy {
            device: 0,
            op,
            stage: 0,
            energy,
            busy: Nanos(0),
            count: 1,
            standard_error: None,
        });
        balance.attributed += energy;
        balance.total = Some(balance.attributed);
    }
}
