//! Calls, functions, programs and sizes for people.

use std::collections::HashSet;

use jouletree_model::Joules;

use crate::cell::Cell;
use crate::colour;
use crate::columns::{Columns, Keep};
use crate::page::Page;

use super::args::{CallsArgs, WindowArg};
use super::rows::{CallRow, FunctionRow, ProjectRow, SizeRow, TrendRow};

/// For so many calls the reason is shown why the machine was not stable.
const MOST_RESTLESS: usize = 5;

/// Calls; below their resolution they have no number but that.
pub fn calls(rows: &[CallRow], arguments: &CallsArgs) -> Page {
    let header = [
        "#",
        "call",
        "site",
        "run",
        "device",
        "time, s",
        "gross, J",
        "idle, W",
        "net, J",
        "±, J",
        "other rule, J",
        "tail, s",
        "tail, J",
    ];
    let table = Columns::new(&header).left(4).shorten(2, Keep::End).shorten(1, Keep::End);
    let mut table = table.optional(&[3, 7, 10, 6, 11, 5]);
    if rows.iter().all(|row| row.site.is_none()) {
        table = table.without(&[2]);
    }
    if arguments.window == WindowArg::Fecom {
        table = table.without(&[9]);
    }
    for (number, row) in largest(rows, arguments.top, |row| Some(row.net?.0)) {
        let name = match row.number {
            Some(number) => format!("{} #{number}", row.function),
            None => row.function.clone(),
        };
        let net = match (&row.below_resolution, row.resolution) {
            (Some(_), Some(resolution)) => Cell::from(format!("< {:.3}", resolution.0)).styled(colour::quiet()),
            (None, None) if row.net.is_none() && row.gross.is_some() => {
                Cell::from("unknown").styled(colour::quiet())
            }
            _ => joules(row.net),
        };
        table.row(vec![
            Cell::from((number + 1).to_string()),
            Cell::from(name),
            Cell::from(row.site.clone().unwrap_or_default()),
            Cell::from(row.run.to_string()),
            Cell::from(row.device.as_str()),
            Cell::from(format!("{:.3}", row.duration_s)),
            joules(row.gross),
            thousandths(row.baseline.map(|power| power.0)),
            net,
            joules(row.resolution).styled(colour::quiet()),
            joules(row.other_net).styled(colour::quiet()),
            thousandths(row.tail_s),
            match row.tail_cut {
                Some(true) => Cell::from(format!("≥ {:.3}", row.tail.unwrap_or_default().0)),
                _ => joules(row.tail),
            },
        ]);
    }
    let mut page = Page::of(table);
    page.words(left_out(rows.len(), arguments.top, "calls"));
    waits(rows).into_iter().for_each(|line| page.words(line));
    let method = match arguments.window {
        WindowArg::Exact => {
            "gross is the process tree's share, as in every other view, or all of the device with --energy device; net is gross \
             beyond idling before the call, ± half its 95 % interval, and unknown where the program did not rest before it; < is \
             below resolution; the other rule is FECoM's, about the whole device (--window fecom)"
        }
        WindowArg::Fecom => "by FECoM's rule; the other rule is the exact one (--window exact)",
    };
    page.words(Cell::from(method).styled(colour::quiet()));
    page
}

/// How long calls waited for a stable machine, and why some began without.
pub fn waits(rows: &[CallRow]) -> Vec<String> {
    // A call has a row for each device.
    let mut seen = HashSet::new();
    let asked = rows.iter().enumerate().filter(|(_, row)| row.stability.is_some());
    let asked: Vec<(usize, &CallRow)> = asked.filter(|(_, row)| seen.insert((row.run, row.call))).collect();
    let (rested, restless): (Vec<_>, Vec<_>) =
        asked.iter().partition(|(_, row)| row.stability.as_deref() == Some("stable"));
    if asked.is_empty() {
        return Vec::new();
    }
    let seconds: f64 = asked.iter().filter_map(|(_, row)| row.waited_s).sum();
    let mut lines = vec![format!(
        "{} of {} calls began on a stable machine; they waited {seconds:.1} s in total",
        rested.len(),
        asked.len()
    )];
    lines.extend(restless.iter().take(MOST_RESTLESS).map(|(number, row)| {
        let (waited, why) = (row.waited_s.unwrap_or_default(), row.stability.as_deref().unwrap_or_default());
        format!("#{} began on an unstable machine after {waited:.1} s: {why}", number + 1)
    }));
    if restless.len() > MOST_RESTLESS {
        lines.push(format!("and {} more; --format json has the reasons", restless.len() - MOST_RESTLESS));
    }
    lines
}

/// Functions, the largest first.
pub fn functions(rows: &[FunctionRow], top: usize) -> Page {
    let header = [
        "function",
        "project",
        "device",
        "runs",
        "calls",
        "mean, J",
        "median, J",
        "min, J",
        "max, J",
        "sd, J",
        "time, s",
    ];
    let table = Columns::new(&header).left(2).shorten(1, Keep::End).shorten(0, Keep::End);
    let mut table = table.optional(&[10, 3, 4, 9]);
    for (_, row) in largest(rows, top, |row| Some(row.mean.0)) {
        table.row(vec![
            Cell::from(row.function.as_str()),
            Cell::from(row.project.as_str()),
            Cell::from(row.device.as_str()),
            Cell::from(row.runs.to_string()),
            Cell::from(row.calls.to_string()),
            joules(Some(row.mean)),
            joules(Some(row.median)),
            joules(Some(row.min)),
            joules(Some(row.max)),
            joules(row.sd),
            thousandths(Some(row.mean_s)),
        ]);
    }
    let mut page = Page::of(table);
    page.words(left_out(rows.len(), top, "functions"));
    if rows.is_empty() {
        page.words("no call has a net energy: no reading is in any, or there was too little quiet time before; try --by site");
    }
    page
}

/// Programs against their calls, and what tests say of all of them.
pub fn projects(rows: &[ProjectRow]) -> Page {
    let header = [
        "project",
        "device",
        "whole, J",
        "last calls, J",
        "ratio",
        "all calls, J",
        "ratio",
        "outside, J",
        "tails, J",
        "calls",
        "without energy",
    ];
    let table = Columns::new(&header).left(1).shorten(0, Keep::End);
    let mut table = table.optional(&[10, 9, 8, 7]);
    for row in rows {
        let name = row.project.as_deref().unwrap_or("(all)");
        table.row(vec![
            Cell::from(name),
            Cell::from(row.device.as_str()),
            joules(Some(row.whole)),
            joules(Some(row.last_of_name)),
            thousandths(row.last_of_name_ratio),
            joules(Some(row.all_calls)),
            thousandths(row.all_calls_ratio),
            joules(Some(row.outside)),
            joules(Some(row.tails)),
            Cell::from(format!("{:.1}", row.calls)),
            Cell::from(row.without_energy.map(|calls| format!("{calls:.1}")).unwrap_or_default()),
        ]);
    }
    let mut page = Page::of(table);
    page.words(
        Cell::from(
            "whole is the process tree's share, as in `show`, or all of the device with --energy device; last calls: the last \
             call of each name, of names that every run has energy of, as FECoM sums; outside: what no call used",
        )
        .styled(colour::quiet()),
    );
    for row in rows.iter().filter(|row| row.wilcoxon_p.is_some()) {
        let number = |number: Option<f64>| number.map_or("unknown".to_owned(), scientific);
        page.words(format!(
            "{}: wholes are larger than calls, p = {} (Wilcoxon); differences normal, p = {} (Shapiro-Wilk); r = {}, p = {} \
             (Pearson)",
            row.device,
            number(row.wilcoxon_p),
            number(row.shapiro_p),
            row.pearson_r.map_or("unknown".to_owned(), |r| format!("{r:.3}")),
            number(row.pearson_p)
        ));
    }
    for row in rows.iter().filter(|row| row.before.is_some()) {
        let part = |part: Option<Joules>| format!("{:.3} J", part.unwrap_or_default().0);
        page.words(format!(
            "{}: of {} outside calls, {} were used before the first, {} between them and {} after the last; {} of it are \
             tails beyond idling",
            row.device,
            part(Some(row.outside)),
            part(row.before),
            part(row.between),
            part(row.after),
            part(Some(row.tails))
        ));
    }
    page
}

/// Energy against size.
pub fn sizes(rows: &[SizeRow]) -> Page {
    let header = ["function", "project", "device", "MiB", "steps", "with energy", "J/MiB", "95 %", "r", "p"];
    let table = Columns::new(&header)
        .left(2)
        .shorten(1, Keep::End)
        .shorten(0, Keep::End)
        .split_at(7, '…')
        .split_at(3, '…');
    let mut table = table.optional(&[5, 4, 9, 3, 7]);
    for row in rows {
        table.row(vec![
            Cell::from(row.function.as_str()),
            Cell::from(row.project.as_str()),
            Cell::from(row.device.as_str()),
            Cell::from(pair(row.least_mib, row.most_mib, 2)),
            Cell::from(row.steps.to_string()),
            Cell::from(format!("{} of {}", row.with_energy, row.calls)),
            match &row.problem {
                Some(_) => Cell::from("no line").styled(colour::quiet()),
                None => Cell::from(row.slope_j_per_mib.map(|slope| format!("{slope:.4}")).unwrap_or_default()),
            },
            Cell::from(pair(row.slope_low, row.slope_high, 4)),
            Cell::from(row.r.map(|r| format!("{r:.3}")).unwrap_or_default()),
            Cell::from(row.p.map(scientific).unwrap_or_default()),
        ]);
    }
    Page::of(table)
}

/// Energies of many functions against time and size.
pub fn trends(rows: &[TrendRow]) -> Page {
    let header = ["device", "energy against", "functions", "points", "slope", "95 %", "r", "p"];
    let mut table = Columns::new(&header).left(0).left(1).left(2).split_at(5, '…').optional(&[5]);
    for row in rows {
        table.row(vec![
            Cell::from(row.device.as_str()),
            Cell::from(row.against),
            Cell::from(row.functions),
            Cell::from(row.points.to_string()),
            match (&row.problem, row.slope) {
                (None, Some(slope)) => Cell::from(format!("{slope:.3} {}", row.slope_unit)),
                _ => Cell::from("no line").styled(colour::quiet()),
            },
            Cell::from(pair(row.slope_low, row.slope_high, 3)),
            Cell::from(row.r.map(|r| format!("{r:.3}")).unwrap_or_default()),
            Cell::from(row.p.map(scientific).unwrap_or_default()),
        ]);
    }
    let mut page = Page::of(table);
    page.words(Cell::from("mean net energy of each function; r and p are Pearson's").styled(colour::quiet()));
    page
}

/// Two numbers, if both are known.
fn pair(low: Option<f64>, high: Option<f64>, digits: usize) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{low:.digits$} … {high:.digits$}"),
        _ => String::new(),
    }
}

/// Rows with their numbers: all in their order, or the largest of them.
fn largest<T>(rows: &[T], top: usize, value: impl Fn(&T) -> Option<f64>) -> Vec<(usize, &T)> {
    let mut numbered: Vec<(usize, &T)> = rows.iter().enumerate().collect();
    if rows.len() > top {
        let size = |row: &T| value(row).unwrap_or(f64::NEG_INFINITY);
        numbered.sort_by(|(_, a), (_, b)| size(b).total_cmp(&size(a)));
        numbered.truncate(top);
    }
    numbered
}

fn left_out(count: usize, top: usize, what: &str) -> String {
    match count.checked_sub(top) {
        Some(left) if left > 0 => format!("the {top} largest of {count} {what}; --top N shows more"),
        _ => String::new(),
    }
}

/// Joules with three digits after the point.
fn joules(energy: Option<Joules>) -> Cell {
    thousandths(energy.map(|energy| energy.0))
}

fn thousandths(value: Option<f64>) -> Cell {
    let written = value.map(|value| format!("{value:.3}")).unwrap_or_default();
    // What is nothing to three digits has no sign.
    Cell::from(if written == "-0.000" { "0.000".to_owned() } else { written })
}

/// A probability with two digits that count.
fn scientific(value: f64) -> String {
    if (0.001..=1.0).contains(&value) { format!("{value:.3}") } else { format!("{value:.1e}") }
}
