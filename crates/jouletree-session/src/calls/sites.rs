//! Calls by the line of the program that makes them, next to its source.

use std::collections::{BTreeMap, HashMap};

use jouletree_model::Joules;
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
    #[serde(rename = "gross_j")]
    pub gross: Joules,
    /// Without the calls inside of them: over all sites these add up.
    #[serde(rename = "exclusive_j")]
    pub exclusive: Joules,
    #[serde(rename = "net_j")]
    pub net: Option<Joules>,
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
            gross: Joules(0.0),
            exclusive: Joules(0.0),
            net: None,
            input_bytes: None,
        });
        sum.calls += 1;
        sum.seconds += row.duration_s;
        sum.gross += row.gross.unwrap_or_default();
        sum.exclusive += row.exclusive.unwrap_or_default();
        sum.net = added(sum.net, row.net);
        sum.input_bytes = added(sum.input_bytes, row.input_bytes);
    }
    let mut rows: Vec<SiteRow> = sites.into_values().collect();
    rows.sort_by(|a, b| b.exclusive.0.total_cmp(&a.exclusive.0));
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
