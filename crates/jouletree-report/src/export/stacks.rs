//! Stacks: a footprint as profilers see programs, where a layer calls the layers inside it.

use std::collections::BTreeMap;

use jouletree_account::{Labels, components, label};
use jouletree_model::{DeviceEnergy, Footprint, Joules, Nanos, Op, Pass};

/// The frame above energy that no operation was charged with.
pub(super) const UNATTRIBUTED: &str = "(unattributed)";
/// Below it: used while operations were recorded and none ran.
const IDLE: &str = "(no operation ran)";
/// Below it: used while no operations were recorded.
const OUTSIDE: &str = "(outside the trace)";

/// What the operations of one place in the model used, the outermost layer first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stack {
    pub frames: Vec<String>,
    pub energy: Joules,
    pub busy: Nanos,
}

/// What the operations of one device used.
#[derive(Debug)]
pub(super) struct DeviceStacks<'a> {
    pub balance: &'a DeviceEnergy,
    /// By frames, so that those of one layer follow each other.
    pub stacks: Vec<Stack>,
}

/// The frames of an operation: its layers and itself. The last one has its mark, and its pass where that is not the forward
/// pass, so that operations of one layer do not become one.
pub(super) fn frames(op: &Op, mark: Option<&str>) -> Vec<String> {
    let mut frames: Vec<String> = components(&op.path).map(str::to_owned).collect();
    if frames.is_empty() {
        let names = [&*op.name, &*op.op_type, "(unnamed)"];
        frames.extend(names.into_iter().find(|name| !name.is_empty()).map(str::to_owned));
    }
    if let Some(leaf) = frames.last_mut() {
        *leaf = label(leaf, mark).into_owned();
        if op.pass != Pass::Forward {
            *leaf = format!("{leaf} ({})", op.pass);
        }
    }
    frames
}

/// The stacks of every device that has any, with those of unattributed energy, so that the stacks of a device that was
/// metered sum up to what was measured.
pub(super) fn by_device(footprint: &Footprint) -> Vec<DeviceStacks<'_>> {
    let labels = Labels::of(&footprint.ops);
    let mut sums: Vec<BTreeMap<Vec<String>, (Joules, Nanos)>> = vec![BTreeMap::new(); footprint.devices.len()];
    for charged in &footprint.energies {
        let (Some(op), Some(sums)) = (footprint.ops.get(charged.op), sums.get_mut(charged.device)) else {
            continue;
        };
        let sum = sums.entry(frames(op, labels.mark(charged.op))).or_default();
        sum.0 += charged.energy;
        sum.1 += charged.busy;
    }
    let devices = footprint.devices.iter().zip(sums).map(|(balance, sums)| {
        let stack = |(frames, (energy, busy))| Stack { frames, energy, busy };
        let charged = sums.into_iter().map(stack);
        DeviceStacks { balance, stacks: charged.chain(unattributed(balance)).collect() }
    });
    devices.filter(|device| !device.stacks.is_empty()).collect()
}

/// What no operation was charged with.
pub(super) fn unattributed(balance: &DeviceEnergy) -> impl Iterator<Item = Stack> {
    let outside = balance.outside_trace.0.clamp(0.0, balance.unattributed.0.max(0.0));
    let parts = [(IDLE, balance.unattributed.0 - outside), (OUTSIDE, outside)];
    parts.into_iter().filter(|(_, energy)| *energy > 0.0).map(|(name, energy)| Stack {
        frames: vec![UNATTRIBUTED.to_owned(), name.to_owned()],
        energy: Joules(energy),
        busy: Nanos(0),
    })
}

/// Whether other devices of the same footprint include the energy of a device, so that it must not be added to them.
pub(super) fn is_told_by_others(balance: &DeviceEnergy, footprint: &Footprint) -> bool {
    footprint.devices.iter().any(|other| other.total.is_some() && balance.device.holds(&other.device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_without_a_path_has_a_name_all_the_same() {
        let frames = |path: &str, kind: &str, name: &str, pass| frames(&Op::new(path, kind, name, pass), None);
        assert_eq!(frames("a//b/MatMul", "t", "n", Pass::Forward), ["a", "b", "MatMul"]);
        assert_eq!(frames("a/MatMul", "t", "n", Pass::Backward), ["a", "MatMul (backward)"]);
        assert_eq!(frames("", "t", "n", Pass::Optimizer), ["n (optimizer)"]);
        assert_eq!(frames("/", "t", "", Pass::Forward), ["t"]);
        assert_eq!(frames("", "", "", Pass::Forward), ["(unnamed)"]);
    }

    #[test]
    fn operations_of_one_path_and_pass_have_their_marks() {
        let op = |pass| Op::new("a/MatMul", "MatMul", "n", pass);
        assert_eq!(frames(&op(Pass::Forward), Some("2")), ["a", "MatMul (2)"]);
        assert_eq!(frames(&op(Pass::Backward), Some("dW")), ["a", "MatMul (dW) (backward)"]);
    }
}
