//! The tree of layers as a table: names with the lines of a tree, bars, and energy by pass.

use jouletree_account::EnergyTree;
use jouletree_model::{Joules, Pass};
use jouletree_report::Slice;

use crate::cell::Cell;
use crate::cli::ViewArgs;
use crate::colour;
use crate::columns::{Columns, Keep};
use crate::numbers::{Numbers, energy_cell, error_cell, share};

/// All joules: the layers, as deep as asked for, the largest first, and what was used beside them.
pub fn tree(tree: &EnergyTree, numbers: &Numbers<'_>, view: &ViewArgs) -> Columns {
    let base = numbers.base();
    let header = [
        "layer",
        "energy",
        numbers.level(),
        "of run",
        base,
        "",
        "forward",
        "backward",
        "optimizer",
        "op power",
        "ops",
        "± own",
    ];
    let table = Columns::new(&header).left(5).shorten(0, Keep::Start).split_at(2, '…');
    let table = table.optional(&[10, 9, 2]).optional_together(&[6, 7, 8]).optional(&[5, 4]);
    let table = if numbers.have_bounds() { table } else { table.without(&[2]) };
    let table = if numbers.whole.has_base() { table } else { table.without(&[4]) };
    let table = if tree.has_errors() { table } else { table.without(&[11]) };
    let mut drawing = Drawing { table, numbers, whole: tree.energy, smallest: view.min_share / 100.0 };
    let beside = beside(numbers, tree.energy);
    if beside.is_empty() {
        drawing.row("", tree);
    } else {
        let mut row = other("", "(all)", numbers.whole.energy, numbers);
        let passes = Pass::ALL.map(|pass| drawing.pass(tree.passes.get(&pass)));
        row.extend(passes.into_iter().chain([Cell::default(), drawing.count(tree)]));
        drawing.table.row(row);
    }
    drawing.children(tree, "", view.depth, !beside.is_empty());
    for (place, (name, energy)) in beside.iter().enumerate() {
        let lead = if place + 1 == beside.len() { "└─ " } else { "├─ " };
        drawing.table.row(other(lead, &format!("({name})"), *energy, numbers));
    }
    drawing.table
}

/// Operations that a table does not list.
pub const OTHERS: &str = "other operations";

/// What a table of operations with `shown` joules does not list: other operations, and what was used outside of any.
pub fn beside(numbers: &Numbers<'_>, shown: Joules) -> Vec<(&'static str, Joules)> {
    let whole = numbers.whole;
    let others = whole.at(Slice::Operations).energy - shown;
    let others = (others.0 > 1e-9 * whole.energy.0).then_some((OTHERS, others));
    others.into_iter().chain(whole.beside_operations()).collect()
}

/// A row of energy that is in no layer.
fn other(lead: &str, name: &str, energy: Joules, numbers: &Numbers<'_>) -> Vec<Cell> {
    let part = numbers.whole.of_run(energy);
    let [run, _] = numbers.shares(energy, false);
    vec![
        Cell::below(lead, name).styled(colour::quiet()),
        energy_cell(numbers.text(energy), part, numbers.whole.kind),
        Cell::from(numbers.bounds_of(energy)).styled(colour::quiet()),
        run,
        Cell::default(),
        Cell::bar(part),
    ]
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
        let pass = |pass: Pass| self.pass(node.passes.get(&pass));
        let [run, base] = self.numbers.shares(node.energy, true);
        self.table.row(vec![
            Cell::below(lead, &node.name).styled(weight),
            self.numbers.across(&node.devices, node.energy, part),
            Cell::from(self.numbers.bounds_of_layer(node)).styled(colour::quiet()),
            run,
            base,
            Cell::bar(self.numbers.whole.of_run(node.energy)),
            pass(Pass::Forward),
            pass(Pass::Backward),
            pass(Pass::Optimizer),
            Cell::from(node.power().map(|power| power.to_string()).unwrap_or_default()),
            self.count(node),
            error_cell(node.standard_error),
        ]);
    }

    fn pass(&self, energy: Joules) -> Cell {
        match energy {
            Joules(0.0) => Cell::from("·").styled(colour::quiet()),
            energy => Cell::from(self.numbers.text(energy)).styled(colour::number(share(energy, self.whole))),
        }
    }

    fn count(&self, node: &EnergyTree) -> Cell {
        Cell::from(node.count.to_string()).styled(colour::quiet())
    }

    fn children(&mut self, node: &EnergyTree, lead: &str, depth: u16, more_follow: bool) {
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
            let (branch, below) =
                if index + 1 == rows && !more_follow { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.row(&format!("{lead}{branch}"), child);
            self.children(child, &format!("{lead}{below}"), depth - 1, false);
        }
    }
}
