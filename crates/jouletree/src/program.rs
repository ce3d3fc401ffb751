//! What a program noted about itself as tables: its steps by what they do, its parts, its windows and its stages.

use jouletree_model::{Joules, Nanos, Spread};
use jouletree_report::{PartRow, PhaseRow, StageRow, WindowRow, parts_by_name};

use crate::cell::Cell;
use crate::colour;
use crate::columns::{Columns, Keep};
use crate::numbers::{energy_cell, kind_cell, percent, written};

/// A table lists so many phases and functions, the largest.
const MOST_PHASES: usize = 12;
/// A sentence names so many.
const MOST_NAMED: usize = 3;

/// Stages as a table; they make the whole run.
pub fn stage_table(rows: &[StageRow], spread: Option<Spread>) -> Columns {
    let text = |energy| written(energy, spread);
    let header = ["stage", "energy", "of run", "forward", "backward", "optimizer", "between ops", "outside steps"];
    let mut table = Columns::new(&header).shorten(0, Keep::Start).optional_together(&[3, 4, 5]);
    for row in rows {
        let parts = [row.forward, row.backward, row.optimizer, row.between_operations, row.outside];
        let first = [row.stage.clone(), text(row.energy), percent(row.run_share)];
        let part = |energy: Joules| if energy.0 == 0.0 { "·".to_owned() } else { text(energy) };
        table.row([first.to_vec(), parts.map(part).to_vec()].concat());
    }
    table
}

/// Steps as a table.
pub fn phase_table(rows: &[PhaseRow], spread: Option<Spread>) -> Columns {
    let energy = |joules, kind| energy_cell(written(joules, spread), None, kind);
    let header =
        ["steps", "count", "recorded", "energy", "per step", "per sample", "wall time", "all / recorded", "kind"];
    let mut table = Columns::new(&header).shorten(0, Keep::Start).left(8).optional(&[7, 2, 6, 5]);
    if rows.iter().all(|row| row.recorded == row.steps) {
        table = table.without(&[7]);
    }
    let mut largest: Vec<&PhaseRow> = rows.iter().collect();
    largest.sort_by(|a, b| b.energy.0.total_cmp(&a.energy.0));
    let (largest, smaller) = largest.split_at(largest.len().min(MOST_PHASES));
    let is_shown = |row: &&PhaseRow| largest.iter().any(|shown| std::ptr::eq(*shown, *row));
    for row in rows.iter().filter(is_shown) {
        table.row(vec![
            Cell::from(named(row)),
            row.steps.to_string().into(),
            row.recorded.to_string().into(),
            energy(row.energy, row.kind),
            energy(row.step, row.kind),
            row.sample.map(|sample| energy(sample, row.kind)).unwrap_or_default(),
            time(row.seconds).into(),
            row.factor.map_or_else(|| "none recorded".to_owned(), |factor| format!("{factor:.3}")).into(),
            kind_cell(row.kind),
        ]);
    }
    if let Some(first) = smaller.first() {
        let total = |of: fn(&PhaseRow) -> usize| smaller.iter().map(|row| of(row)).sum::<usize>().to_string();
        table.row(vec![
            Cell::from(format!("({} smaller)", smaller.len())),
            total(|row| row.steps).into(),
            total(|row| row.recorded).into(),
            energy(smaller.iter().map(|row| row.energy).sum(), first.kind),
            Cell::default(),
            Cell::default(),
            time(smaller.iter().map(|row| row.seconds).sum()).into(),
        ]);
    }
    table
}

/// Where steps ran in several processes at the same time, in words.
pub fn process_words(rows: &[PhaseRow]) -> Vec<String> {
    let together = rows.iter().filter(|row| row.processes > 1);
    let words =
        |row: &PhaseRow| format!("{}: {} steps in each of {} processes", named(row), row.steps, row.processes);
    together.take(MOST_NAMED).map(words).collect()
}

/// In which steps operations were recorded, unless in all.
pub fn recorded_words(rows: &[PhaseRow]) -> String {
    if rows.iter().all(|row| row.recorded == row.steps) {
        return String::new();
    }
    let recorded: Vec<&PhaseRow> = rows.iter().filter(|row| row.recorded > 0).collect();
    let words = |row: &&PhaseRow| {
        let function = if row.function.is_empty() { String::new() } else { format!(" of {}", row.function) };
        let each =
            if row.processes > 1 { format!(" in each of {} processes", row.processes) } else { String::new() };
        format!("{} of {} {} steps{function}{each}", row.recorded, row.steps, row.phase)
    };
    let mut named: Vec<String> = recorded.iter().take(MOST_NAMED).map(words).collect();
    if recorded.len() > MOST_NAMED {
        named.push("others".to_owned());
    }
    match named.as_slice() {
        [] => String::new(),
        named => format!(" in {} (all steps: --all-steps)", named.join(", ")),
    }
}

/// The phase and the function of steps.
pub fn named(row: &PhaseRow) -> String {
    if row.function.is_empty() { row.phase.to_string() } else { format!("{} {}", row.phase, row.function) }
}

/// The parts that make the whole run as a table.
pub fn part_table(rows: &[PartRow], spread: Option<Spread>) -> Columns {
    let energy = |joules, kind| energy_cell(written(joules, spread), None, kind);
    let header = ["part", "energy", "of run", "", "in operations", "time"];
    let mut table = Columns::new(&header).shorten(0, Keep::Start).left(3).optional(&[5, 4, 3]);
    for (name, row) in parts_by_name(rows).into_iter().filter(|(_, row)| row.energy.0 > 0.0) {
        let operations = (row.operations.0 > 0.0).then(|| energy(row.operations, row.kind));
        table.row(vec![
            Cell::from(name),
            energy_cell(written(row.energy, spread), row.share, row.kind),
            Cell::from(percent(row.share)).styled(colour::number(row.share)),
            Cell::bar(row.share),
            operations.unwrap_or_default(),
            row.seconds.map(time).unwrap_or_default().into(),
        ]);
    }
    let (whole, kind) = (rows.iter().map(|row| row.energy).sum(), rows.first().and_then(|row| row.kind));
    table.row(vec![Cell::from("all"), energy(whole, kind), percent(1.0).into()]);
    table
}

/// Windows as a table.
pub fn window_table(rows: &[WindowRow], spread: Option<Spread>) -> Columns {
    let energy = |joules, kind| energy_cell(written(joules, spread), None, kind);
    let header = ["window", "count", "energy", "each", "time", "kind"];
    let mut table = Columns::new(&header).shorten(0, Keep::Start).left(5);
    for row in rows {
        table.row(vec![
            Cell::from(&*row.window),
            row.count.to_string().into(),
            energy(row.energy, row.kind),
            energy(row.mean, row.kind),
            time(row.seconds).into(),
            kind_cell(row.kind),
        ]);
    }
    table
}

fn time(seconds: f64) -> String {
    Nanos((seconds * 1e9).round() as i64).to_string()
}
