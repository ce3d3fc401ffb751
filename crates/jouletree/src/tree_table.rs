//! The tree of layers as a table: names with the lines of a tree, bars, and energy by pass.

use jouletree_account::EnergyTree;
use jouletree_model::{Joules, Pass};

use crate::cell::Cell;
use crate::cli::ViewArgs;
use crate::colour;
use crate::columns::{Columns, Keep};
use crate::numbers::{Numbers, error_cell, percent, share};

/// The layers, as deep as asked for, the largest first.
pub fn tree(tree: &EnergyTree, numbers: &Numbers<'_>, view: &ViewArgs) -> Columns {
    let header = [
        "layer",
        "energy",
        numbers.level(),
        "share",
        "",
        "forward",
        "backward",
        "optimizer",
        "power",
        "ops",
        "± own",
    ];
    let table = Columns::new(&header).left(4).shorten(0, Keep::Start).split_at(2, '…');
    let table = table.optional(&[9, 8, 2]).optional_together(&[5, 6, 7]).optional(&[4]);
    let table = if numbers.have_bounds() { table } else { table.without(&[2]) };
    let table = if tree.has_errors() { table } else { table.without(&[10]) };
    let mut drawing = Drawing { table, numbers, whole: tree.energy, smallest: view.min_share / 100.0 };
    drawing.row("", tree);
    drawing.children(tree, "", view.depth);
    drawing.table
}

/// A tree on its way into a table.
struct Drawing<'a> {
    table: Columns,
    numbers: &'a Numbers<'a>,
    whole: Joules,
    /// The smallest share of the whole that is worth a row.
    smallest: f64,
}

impl Drawing<'_> {
    fn row(&mut self, lead: &str, node: &EnergyTree) {
        let part = share(node.energy, self.whole);
        let weight = colour::number(part);
        let pass = |pass: Pass| match node.passes.get(&pass) {
            Joules(0.0) => Cell::from("·").styled(colour::quiet()),
            energy => Cell::from(energy.to_string()).styled(colour::number(share(energy, self.whole))),
        };
        self.table.row(vec![
            Cell::below(lead, &node.name).styled(weight),
            self.numbers.across(&node.devices, node.energy, part),
            Cell::from(self.numbers.bounds_of_layer(node)).styled(colour::quiet()),
            Cell::from(percent(part)).styled(weight),
            Cell::bar(part),
            pass(Pass::Forward),
            pass(Pass::Backward),
            pass(Pass::Optimizer),
            Cell::from(node.power().map(|power| power.to_string()).unwrap_or_default()),
            Cell::from(node.count.to_string()).styled(colour::quiet()),
            error_cell(node.standard_error),
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
            self.row(&format!("{lead}{branch}"), child);
            self.children(child, &format!("{lead}{below}"), depth - 1);
        }
    }
}
