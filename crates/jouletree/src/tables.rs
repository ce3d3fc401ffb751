//! Tables for people.

use anyhow::Result;
use jouletree_account::{EnergyTree, Tef, TefEntry, t2e};
use jouletree_model::{DeviceEnergy, Footprint, Joules, Nanos, Pass, StepEnergy};
use serde::Serialize;

use crate::cli::ViewArgs;
use crate::columns::{Columns, Keep};

/// How wide a bar of the whole is.
const BAR: usize = 20;

/// The whole story: balance, layers, operations, passes.
pub fn report(footprint: &Footprint, tef: &Tef, ranked: &[&TefEntry], view: &ViewArgs) -> String {
    let tree_of_layers = tree(&t2e(tef, &[]), view);
    let unattributed: Vec<String> = footprint.devices.iter().filter_map(unattributed).collect();
    [
        devices(footprint),
        unattributed.concat(),
        heading("by layer", &tree_of_layers),
        heading(&format!("top {} operations", ranked.len()), &operations(tef, ranked)),
        heading("by pass", &passes(tef)),
    ]
    .concat()
}

fn heading(title: &str, table: &str) -> String {
    format!("\n{title}\n{table}")
}

/// What no operation was charged with, in words.
fn unattributed(balance: &DeviceEnergy) -> Option<String> {
    balance.measured?;
    let inside = balance.unattributed - balance.outside_trace;
    Some(format!(
        "{}: not attributed are {} while no operation ran and {} before and after the trace\n",
        balance.device,
        Joules(inside.0.max(0.0)),
        balance.outside_trace
    ))
}

/// What was attributed and what not, device by device, in words.
pub fn balances(footprint: &Footprint) -> String {
    let told = footprint.devices.iter().enumerate().filter_map(|(number, balance)| {
        let measured = balance.measured.filter(|measured| measured.0 > 0.0)?;
        let recorded = Joules((measured - balance.outside_trace).0.max(0.0));
        if balance.attributed.0 <= 0.0 {
            return Some(format!("{}: {measured}; no operation was recorded\n", balance.device));
        }
        let part = |part: Joules| format!("{part} ({})", percent(share(part, recorded)));
        // Profilers also see what runs between the steps that were chosen.
        let in_steps: Joules = footprint.steps.iter().filter(|step| step.device == number).map(|step| step.energy).sum();
        let attributed = if footprint.steps.is_empty() { balance.attributed } else { in_steps };
        let idle = Joules((recorded - attributed).0.max(0.0));
        Some(format!(
            "{}: {measured}, of which {} while operations were not recorded and {recorded} while they were; of these \
             {} went to operations and {} were used while none ran\n",
            balance.device,
            balance.outside_trace,
            part(attributed),
            part(idle)
        ))
    });
    told.collect()
}

fn share(part: Joules, whole: Joules) -> f64 {
    if whole.0 > 0.0 { part.0 / whole.0 } else { 0.0 }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A bar of eighths of a character.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// The balance of every device.
pub fn devices(footprint: &Footprint) -> String {
    let header = ["device", "kind", "measured", "attributed", "unattributed", "busy", "metered"];
    let mut table = Columns::new(&header).left(0).left(1);
    for balance in &footprint.devices {
        let Some(measured) = balance.measured else {
            table.row(vec![balance.device.to_string(), "no power".to_owned()]);
            continue;
        };
        let with_share = |energy: Joules| format!("{energy} ({})", percent(share(energy, measured)));
        table.row(vec![
            balance.device.to_string(),
            balance.kind.map(|kind| kind.to_string()).unwrap_or_default(),
            measured.to_string(),
            with_share(balance.attributed),
            with_share(balance.unattributed),
            balance.busy.to_string(),
            balance.metered.to_string(),
        ]);
    }
    table.text()
}

/// The layers, as deep as asked for, the largest first.
pub fn tree(tree: &EnergyTree, view: &ViewArgs) -> String {
    let header = ["layer", "energy", "share", "", "forward", "backward", "optimizer", "power", "ops"];
    let table = Columns::new(&header).left(3).shorten(0, Keep::Start).optional(&[8, 7, 3]);
    let mut drawing = Drawing { table, whole: tree.energy, smallest: view.min_share / 100.0 };
    drawing.row(&tree.name, tree);
    drawing.children(tree, "", view.depth);
    drawing.table.text()
}

/// A tree on its way into a table.
struct Drawing {
    table: Columns,
    whole: Joules,
    /// The smallest share of the whole that is worth a row.
    smallest: f64,
}

impl Drawing {
    fn row(&mut self, name: &str, node: &EnergyTree) {
        let pass = |pass: Pass| match node.passes.get(&pass) {
            Joules(0.0) => "·".to_owned(),
            energy => energy.to_string(),
        };
        let part = share(node.energy, self.whole);
        self.table.row(vec![
            name.to_owned(),
            node.energy.to_string(),
            percent(part),
            bar(part),
            pass(Pass::Forward),
            pass(Pass::Backward),
            pass(Pass::Optimizer),
            node.power().map(|power| power.to_string()).unwrap_or_default(),
            node.count.to_string(),
        ]);
    }

    fn children(&mut self, node: &EnergyTree, lead: &str, depth: u16) {
        if depth == 0 {
            return;
        }
        let worth_a_row = |child: &&EnergyTree| share(child.energy, self.whole) >= self.smallest;
        let mut shown: Vec<&EnergyTree> = node.children.iter().filter(worth_a_row).collect();
        let small: Vec<&EnergyTree> = node.children.iter().filter(|child| !worth_a_row(child)).collect();
        let rest = match small.as_slice() {
            // A layer whose parts are all small is shown whole.
            _ if shown.is_empty() && self.smallest > 0.0 => return,
            [] => None,
            [only] => {
                shown.push(only);
                None
            }
            several => Some(EnergyTree::sum(format!("({} smaller)", several.len()), several)),
        };
        let rows = shown.len() + usize::from(rest.is_some());
        for (index, child) in shown.into_iter().chain(&rest).enumerate() {
            let (branch, below) = if index + 1 == rows { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.row(&format!("{lead}{branch}{}", child.name), child);
            self.children(child, &format!("{lead}{below}"), depth - 1);
        }
    }
}

/// Operations in the order given.
pub fn operations(tef: &Tef, entries: &[&TefEntry]) -> String {
    let total = tef.total();
    let header = ["operation", "type", "pass", "device", "energy", "share", "power", "time", "count"];
    let mut table =
        Columns::new(&header).left(2).left(3).shorten(1, Keep::Start).shorten(0, Keep::End).optional(&[1, 8, 7]);
    for entry in entries {
        table.row(vec![
            entry.path.to_string(),
            entry.op_type.to_string(),
            entry.pass.to_string(),
            entry.device.to_string(),
            if entry.approximate { format!("≈ {}", entry.energy) } else { entry.energy.to_string() },
            percent(share(entry.energy, total)),
            entry.power().map(|power| power.to_string()).unwrap_or_default(),
            entry.busy.to_string(),
            entry.count.to_string(),
        ]);
    }
    table.text()
}

/// Forward, backward, optimizer.
pub fn passes(tef: &Tef) -> String {
    let total = tef.total();
    let mut table = Columns::new(&["pass", "energy", "share", ""]).left(0).left(3);
    for (pass, energy) in tef.by_pass().iter() {
        let part = share(energy, total);
        table.row(vec![pass.to_string(), energy.to_string(), percent(part), bar(part)]);
    }
    table.text()
}

/// What each step used.
pub fn steps(footprint: &Footprint) -> String {
    if footprint.steps.is_empty() {
        return "the trace does not tell steps\n".to_owned();
    }
    let mut table = Columns::new(&["step", "device", "energy", "time"]).left(0).left(1);
    for StepEnergy { device, step, energy, busy } in &footprint.steps {
        let device = footprint.devices.get(*device).map(|balance| balance.device.to_string()).unwrap_or_default();
        let busy: Nanos = *busy;
        table.row(vec![step.0.to_string(), device, energy.to_string(), busy.to_string()]);
    }
    table.text()
}

/// Rows as CSV with a header.
pub fn csv<T: Serialize>(rows: &[T]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
