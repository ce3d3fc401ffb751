//! The comparison for people: one table for each protocol, and the publication's tables by model and by primitive.

use std::collections::BTreeMap;

use jouletree_predict::irene::{EvaluationRow, FeatureSet, LevelErrors, Method, Protocol};

use crate::cell::Cell;
use crate::columns::Columns;
use crate::page::Page;

/// Everything on one page.
pub fn page(rows: &[EvaluationRow], seeds: u64) -> Page {
    let mut page = Page::default();
    let beginnings =
        if seeds == 1 { "one random beginning".to_owned() } else { format!("{seeds} random beginnings") };
    page.words("Errors of predictions in percent of the measured energy, means over all nodes;");
    page.words(format!("what is trained is a mean over {beginnings}, and ± its standard deviation."));
    for protocol in Protocol::ALL {
        let some: Vec<&EvaluationRow> = rows.iter().filter(|row| row.protocol == protocol).collect();
        if some.is_empty() {
            continue;
        }
        let published = if protocol == Protocol::Paper { " (tables 8 and 9)" } else { "" };
        page.title(format!("{}: {}{published}", protocol.name(), protocol.meaning()));
        page.table(methods(&some));
    }
    let Some(first) = Protocol::ALL.into_iter().find(|protocol| rows.iter().any(|row| row.protocol == *protocol))
    else {
        return page;
    };
    let full: Vec<&EvaluationRow> =
        rows.iter().filter(|row| row.protocol == first && is_main(row, rows)).collect();
    for (number, level) in [(5, "whole models"), (6, "modules")] {
        page.title(format!("{level}, by the model left out, protocol {} (table {number})", first.name()));
        page.table(by_model(&full, number == 5));
    }
    page.title(format!("primitives, by kind, protocol {} (table 7)", first.name()));
    page.table(by_kind(&full));
    page
}

/// Of a method under several groups of features, the fullest is in tables by model.
fn is_main(row: &EvaluationRow, rows: &[EvaluationRow]) -> bool {
    let rank = |features: FeatureSet| FeatureSet::ALL.iter().position(|known| *known == features);
    let same = rows.iter().filter(|other| other.method == row.method && other.protocol == row.protocol);
    same.map(|other| rank(other.features)).min() == Some(rank(row.features))
}

/// Methods and groups of features: tables 8 and 9.
fn methods(rows: &[&EvaluationRow]) -> Columns {
    let header = ["method", "features", "primitives", "modules", "models", "knows of what is left out"];
    let mut table = Columns::new(&header).left(0).left(1).left(5).optional(&[5]);
    for row in rows {
        table.row(vec![
            Cell::from(row.method.name()),
            row.features.name().into(),
            percent(row.ml, 0.0).into(),
            percent(row.module, row.module_sd).into(),
            percent(row.model, row.sd).into(),
            row.method.knows().into(),
        ]);
    }
    table
}

/// A row for each model, a column for each method.
fn by_model(rows: &[&EvaluationRow], is_model_level: bool) -> Columns {
    let value = |errors: &LevelErrors| if is_model_level { errors.model } else { errors.module };
    let mut models: Vec<&String> = rows.iter().flat_map(|row| row.by_model.keys()).collect();
    models.sort_unstable();
    models.dedup();
    let mut table = named("model", rows.iter().map(|row| row.method));
    let of = |errors: &BTreeMap<String, LevelErrors>, model: &str| errors.get(model).map_or(f64::NAN, value);
    for model in models {
        table.row(line(model, rows.iter().map(|row| (of(&row.by_model, model), of(&row.by_model_sd, model)))));
    }
    let all =
        |row: &&EvaluationRow| if is_model_level { (row.model, row.sd) } else { (row.module, row.module_sd) };
    table.row(line("all", rows.iter().map(all)));
    table
}

/// A row for each kind of primitive. IrEne's strategies have their primitives in common.
fn by_kind(rows: &[&EvaluationRow]) -> Columns {
    let mut rows = rows.to_vec();
    let first = rows.iter().position(|row| row.method.has_features());
    let mut place = 0;
    rows.retain(|row| {
        place += 1;
        row.method != Method::OracleSum && (!row.method.has_features() || first == Some(place - 1))
    });
    let mut kinds: Vec<&String> = rows.iter().flat_map(|row| row.by_kind.keys()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut table = named("primitive", rows.iter().map(|row| row.method));
    for kind in kinds {
        table.row(line(kind, rows.iter().map(|row| (row.by_kind.get(kind).copied().unwrap_or(f64::NAN), 0.0))));
    }
    table.row(line("all", rows.iter().map(|row| (row.ml, 0.0))));
    table
}

fn named(what: &'static str, methods: impl Iterator<Item = Method>) -> Columns {
    let header: Vec<&'static str> = [what].into_iter().chain(methods.map(Method::name)).collect();
    Columns::new(&header).names(0).wrapped()
}

/// A name, and errors with their spread.
fn line(name: &str, values: impl Iterator<Item = (f64, f64)>) -> Vec<Cell> {
    let cells = values.map(|(value, spread)| percent(value, spread).into());
    [Cell::from(name)].into_iter().chain(cells).collect()
}

/// An error, with its spread where there is one; two digits are enough for both.
fn percent(value: f64, spread: f64) -> String {
    let number = |value: f64| if value.abs() < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") };
    match (value.is_nan(), spread > 0.0) {
        (true, _) => "none".to_owned(),
        (false, true) => format!("{} ± {} %", number(value), number(spread)),
        (false, false) => format!("{} %", number(value)),
    }
}
