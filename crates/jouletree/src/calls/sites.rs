//! Calls by the line of the program that makes them, next to its source.

use std::collections::{BTreeMap, HashMap};

use jouletree_model::{Joules, Nanos};
use serde::Serialize;

use super::measured::Measured;
use crate::cell::Cell;
use crate::colour;
use crate::columns::{Columns, Keep};
use crate::page::Page;

/// All calls of a site on a device.
#[derive(Debug, Clone, Serialize)]
pub struct SiteRow {
    pub site: String,
    pub function: String,
    /// The line as it was when it ran; `None` where the run did not keep the file.
    pub source: Option<String>,
    pub device: String,
    pub calls: usize,
    pub seconds: f64,
    pub gross_j: f64,
    /// Without the calls inside of them: over all sites these add up.
    pub exclusive_j: f64,
    pub net_j: Option<f64>,
    pub input_bytes: Option<u64>,
}

/// The sites, the most energy of their own first.
pub fn rows(measured: &Measured) -> Vec<SiteRow> {
    let mut sites: BTreeMap<(String, String, String), SiteRow> = BTreeMap::new();
    for call in &measured.calls {
        let row = &call.row;
        let site = row.site.clone().unwrap_or_default();
        let key = (site.clone(), row.function.clone(), row.device.clone());
        let sum = sites.entry(key).or_insert_with(|| SiteRow {
            source: source(&site, &measured.sources),
            site,
            function: row.function.clone(),
            device: row.device.clone(),
            calls: 0,
            seconds: 0.0,
            gross_j: 0.0,
            exclusive_j: 0.0,
            net_j: None,
            input_bytes: None,
        });
        sum.calls += 1;
        sum.seconds += row.duration_s;
        sum.gross_j += row.gross_j.unwrap_or(0.0);
        sum.exclusive_j += row.exclusive_j.unwrap_or(0.0);
        sum.net_j = added(sum.net_j, row.net_j);
        sum.input_bytes = added(sum.input_bytes, row.input_bytes);
    }
    let mut rows: Vec<SiteRow> = sites.into_values().collect();
    rows.sort_by(|a, b| b.exclusive_j.total_cmp(&a.exclusive_j));
    rows
}

fn added<T: std::ops::Add<Output = T>>(sum: Option<T>, more: Option<T>) -> Option<T> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (sum, more) => sum.or(more),
    }
}

/// The line of a site `file:line:column`.
fn source(site: &str, sources: &HashMap<String, String>) -> Option<String> {
    let (place, _) = site.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    let line: usize = line.parse().ok()?;
    Some(sources.get(file)?.lines().nth(line.checked_sub(1)?)?.trim().to_owned())
}

/// The sites for people.
pub fn page(rows: &[SiteRow], top: usize) -> Page {
    let mut page = Page::default();
    let header = ["line", "call", "device", "calls", "time", "energy", "its own", "net", "source"];
    let mut table =
        Columns::new(&header).left(2).shorten(8, Keep::Start).shorten(1, Keep::End).shorten(0, Keep::End);
    // The line itself is what people look for; a narrow terminal shows its beginning.
    table = table.optional(&[4, 7, 2, 3]);
    for row in rows.iter().take(top) {
        table.row(vec![
            Cell::from(row.site.as_str()),
            Cell::from(row.function.as_str()),
            Cell::from(row.device.as_str()).styled(colour::quiet()),
            row.calls.to_string().into(),
            Nanos((row.seconds * 1e9) as i64).to_string().into(),
            Joules(row.gross_j).to_string().into(),
            Joules(row.exclusive_j).to_string().into(),
            row.net_j.map(|net| Joules(net).to_string()).unwrap_or_default().into(),
            Cell::from(row.source.as_deref().unwrap_or_default()).styled(colour::quiet()),
        ]);
    }
    page.title("by line of the program");
    page.table(table);
    if rows.len() > top {
        page.words(format!("and {} more", rows.len() - top));
    }
    page
}
