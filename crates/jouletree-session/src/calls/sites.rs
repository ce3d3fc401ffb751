//! Calls by the line of the program that makes them, next to its source.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::measured::Measured;

/// All calls of a site on a device.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
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
