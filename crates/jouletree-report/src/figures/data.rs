//! The numbers behind each figure as CSV, written in full, for those who draw their own.

use jouletree_account::EnergyTree;
use jouletree_model::{Joules, Pass, in_spreadsheet};

use super::distribution;
use super::top::Top;
use crate::Study;

/// Energy by stage.
pub(super) fn stages(study: &Study) -> String {
    let header = [
        "stage",
        "forward_j",
        "backward_j",
        "optimizer_j",
        "between_operations_j",
        "outside_j",
        "energy_j",
        "sd_j",
    ];
    table(
        &header,
        study.stages.iter().map(|stage| {
            let passes = stage.passes.map(|(energy, _)| energy.0.to_string());
            let rest = [stage.between, stage.outside, stage.energy()].map(|energy| energy.0.to_string());
            [&[text(&stage.name)][..], &passes, &rest, &[known(stage.deviation.map(|sd| sd.0))]].concat()
        }),
    )
}

/// The operations of a list.
pub(super) fn top(study: &Study, top: Top) -> String {
    let ranked = match top {
        Top::Energy => &study.top_energy,
        Top::Power => &study.top_power,
    };
    let header = [
        "operation",
        "type",
        "pass",
        "device",
        "energy_j",
        "energy_sd_j",
        "power_w",
        "power_sd_w",
        "busy_s",
        "count",
    ];
    table(
        &header,
        ranked.iter().map(|ranked| {
            let entry = &ranked.entry;
            vec![
                text(&entry.label()),
                text(&entry.op_type),
                entry.pass.to_string(),
                entry.device.to_string(),
                entry.energy.0.to_string(),
                known(ranked.energy_deviation.map(|sd| sd.0)),
                known(entry.power().map(|power| power.0)),
                known(ranked.power_deviation.map(|sd| sd.0)),
                entry.busy.seconds().to_string(),
                entry.count.to_string(),
            ]
        }),
    )
}

/// Power over a step, piece by piece.
pub(super) fn power(study: &Study) -> String {
    let pieces = study.power.step.iter().flat_map(|step| &step.tracks).flat_map(|track| {
        track.watts.iter().enumerate().map(|(number, watts)| {
            let at = |number: usize| (track.piece.seconds() * number as f64).to_string();
            vec![
                track.device.to_string(),
                if track.is_ours { "tree" } else { "device" }.to_owned(),
                track.kind.to_string(),
                at(number),
                at(number + 1),
                known(watts.map(|watts| watts.0)),
                known(track.deviations.get(number).copied().flatten().map(|sd| sd.0)),
            ]
        })
    });
    table(&["device", "scope", "kind", "start_s", "end_s", "watts", "sd_w"], pieces)
}

/// Every layer and operation, each after the layer that holds it.
pub(super) fn icicle(study: &Study) -> String {
    let (mut rows, mut waiting) = (Vec::new(), vec![(&study.tree, 0)]);
    while let Some((node, depth)) = waiting.pop() {
        let passes = Pass::ALL.map(|pass| node.passes.get(&pass).0.to_string());
        rows.push([&[text(&node.path), depth.to_string(), node.energy.0.to_string()][..], &passes].concat());
        waiting.extend(node.children.iter().rev().map(|child| (child, depth + 1)));
    }
    table(&["path", "depth", "energy_j", "forward_j", "backward_j", "optimizer_j"], rows.into_iter())
}

/// The boxes of a layer's diagram, and below them its arrows.
pub(super) fn diagram(layer: &EnergyTree, pass: Option<Pass>) -> String {
    let part =
        |kind: &str, name: &str, energy: f64| vec![kind.to_owned(), text(name), String::new(), energy.to_string()];
    let own = Some(layer.own).filter(|own| *own > Joules::ZERO && pass.is_none());
    let children = layer.children.iter().map(|child| {
        let kind = if child.is_composite() { "layer" } else { "operation" };
        part(kind, &child.name, distribution::energy(child, pass))
    });
    let is_shown = |from: Pass, to: Pass| pass.is_none_or(|pass| from == pass && to == pass);
    let arrows = layer.edges.iter().filter(|edge| is_shown(edge.from_pass, edge.to_pass));
    let arrows = arrows.map(|edge| vec!["arrow".to_owned(), text(&edge.from), text(&edge.to), String::new()]);
    let rows = own.map(|own| part("itself", &layer.name, own.0)).into_iter().chain(children).chain(arrows);
    table(&["kind", "name", "to", "energy_j"], rows)
}

fn text(text: &str) -> String {
    in_spreadsheet(text).into_owned()
}

fn known(number: Option<f64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    for row in std::iter::once(header).chain(rows) {
        // Memory can always be written, and all rows have one length.
        let _ = table.write_record(row);
    }
    table.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
