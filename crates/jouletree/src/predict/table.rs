//! A prediction for people: the annotated tree, bottlenecks, and what queries cost.

use jouletree_model::{Joules, Kind, Pass};
use jouletree_predict::irene::Basis;
use jouletree_predict::profile::{Branch, BreakdownRow, Predicted, Profile, Total, by_kind, by_module};

use jouletree_predict::tradeoff::Tariff;

use crate::cell::Cell;
use crate::columns::{Columns, Keep};
use crate::numbers::{energy_cell, percent, prediction_level, share};
use crate::page::Page;
use crate::{colour, numbers};

/// The page. `million` asks for a million queries, at a tariff if there is one; `shown` is how deep and how small.
pub fn page(
    profile: &Profile,
    passes: &[Predicted],
    optimizer: Option<Joules>,
    million: Option<Option<f64>>,
    (depth, min_share): (u16, f64),
) -> Page {
    let mut page = Page::default();
    let Some(first) = passes.first() else { return page };
    let total = Total::of(passes, optimizer);
    let what = if passes.len() > 1 { "a step of training" } else { "a call" };
    let size = if first.sequence > 1 {
        format!("{} samples of {} tokens", first.batch, first.sequence)
    } else {
        format!("{} samples", first.batch)
    };
    let bounds = total.interval.map_or_else(String::new, |interval| format!(" (90 %: {interval})"));
    page.words(Cell::from(format!("{}, {size}: {what} takes {}{bounds}", first.model, total.energy)));
    page.words(numbers::kind_cell(Some(Kind::Predicted)));
    page.words(Cell::from(trained_on(profile)).styled(colour::quiet()));
    if let Some(tree) = Branch::of(passes) {
        page.title("by node");
        page.table(tree_table(&tree, total.energy, depth, min_share / 100.0, optimizer));
    }
    for (title, rows) in [("by module", by_module(first)), ("by primitive", by_kind(first))] {
        page.title(if passes.len() > 1 { format!("{title}, forward pass") } else { title.to_owned() });
        page.table(breakdown(&rows));
    }
    if let Some(tariff) = million {
        page.title("a million queries");
        page.words(queries(first, tariff));
    }
    page
}

fn queries(predicted: &Predicted, tariff: Option<f64>) -> Cell {
    let million = predicted.per_million(tariff.map(Tariff));
    let bounds = million
        .kwh_interval
        .map_or_else(String::new, |[low, high]| format!(" ({} … {} kWh)", digits(low), digits(high)));
    let cost = million.cost.map_or_else(String::new, |cost| format!(", which cost {}", digits(cost)));
    Cell::from(format!("{} kWh{bounds}{cost}, when {} are asked at a time", digits(million.kwh), predicted.batch))
}

/// Three digits that count.
fn digits(value: f64) -> String {
    let places = (2 - value.abs().max(1e-12).log10().floor() as i32).clamp(0, 9);
    format!("{value:.*}", places as usize)
}

fn trained_on(profile: &Profile) -> String {
    let mut models: Vec<&str> = profile.trained_on.iter().map(|tree| tree.model.as_str()).collect();
    models.sort_unstable();
    models.dedup();
    format!(
        "from {} trees of {}, whose energies are {}",
        profile.trained_on.len(),
        models.join(", "),
        profile.trained_on_kind
    )
}

fn breakdown(rows: &[BreakdownRow]) -> Columns {
    let mut table = Columns::new(&["", "count", "energy", "share", ""]).left(4).names(0);
    for row in rows {
        table.row(vec![
            Cell::from(row.name.as_str()),
            Cell::from(row.count.to_string()).styled(colour::quiet()),
            energy_cell(row.energy.to_string(), row.share, Some(Kind::Predicted)),
            Cell::from(percent(row.share)),
            Cell::bar(row.share),
        ]);
    }
    table
}

struct Drawing {
    table: Columns,
    whole: Joules,
    smallest: f64,
}

fn tree_table(tree: &Branch, whole: Joules, depth: u16, smallest: f64, optimizer: Option<Joules>) -> Columns {
    let header =
        ["node", "kind", "energy", prediction_level(), "share", "", "forward", "backward", "glue", "basis"];
    let table = Columns::new(&header).left(1).left(5).left(9).shorten(0, Keep::Start).split_at(3, '…');
    let table = table.optional(&[9, 8, 1]).optional_together(&[6, 7]).optional(&[3, 5]);
    let has_passes = tree.energies.len() > 1;
    let mut hidden = Vec::new();
    if !has_passes {
        hidden.extend([6, 7]);
    }
    if !tree.has_interval() {
        hidden.push(3);
    }
    let mut drawing = Drawing { table: table.without(&hidden), whole, smallest };
    drawing.row("", tree);
    drawing.children(tree, "", depth);
    if let Some(energy) = optimizer {
        let part = share(energy, whole);
        drawing.table.row(vec![
            Cell::from("(optimizer)"),
            Cell::default(),
            energy_cell(energy.to_string(), part, Some(Kind::Predicted)),
            Cell::default(),
            Cell::from(percent(part)),
            Cell::bar(part),
        ]);
    }
    drawing.table
}

impl Drawing {
    fn row(&mut self, lead: &str, node: &Branch) {
        let energy = node.energy();
        let part = share(energy, self.whole);
        let weight = colour::number(part);
        let pass =
            |pass: Pass| Cell::from(node.energies.get(&pass).map(|energy| energy.to_string()).unwrap_or_default());
        let kind = match node.count {
            1 => node.kind.clone(),
            count => format!("{} × {count}", node.kind),
        };
        let basis = match (node.is_outside, node.basis) {
            (true, _) => "beyond all measured sizes",
            (false, Basis::SpecsOnly) => "size",
            (false, Basis::MeasuredLeaves) => "measured leaves",
            (false, Basis::OwnMeasured) => "measured",
        };
        let glue = if node.children.is_empty() { Joules::ZERO } else { node.glue };
        self.table.row(vec![
            Cell::below(lead, &node.name).styled(weight),
            Cell::from(kind).styled(colour::quiet()),
            energy_cell(energy.to_string(), part, Some(Kind::Predicted)),
            Cell::from(node.interval.map(|interval| interval.to_string()).unwrap_or_default())
                .styled(colour::quiet()),
            Cell::from(percent(part)).styled(weight),
            Cell::bar(part),
            pass(Pass::Forward),
            pass(Pass::Backward),
            Cell::from(if glue.0 > 0.0 { glue.to_string() } else { String::new() }).styled(colour::quiet()),
            Cell::from(basis).styled(colour::quiet()),
        ]);
    }

    fn children(&mut self, node: &Branch, lead: &str, depth: u16) {
        if depth == 0 {
            return;
        }
        let shown: Vec<&Branch> =
            node.children.iter().filter(|child| share(child.energy(), self.whole) >= self.smallest).collect();
        for (index, child) in shown.iter().enumerate() {
            let (branch, below) = if index + 1 == shown.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.row(&format!("{lead}{branch}"), child);
            self.children(child, &format!("{lead}{below}"), depth - 1);
        }
    }
}
