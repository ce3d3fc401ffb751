//! `power.parquet`: the energy each device had used by each instant, as accounting used it, bit for bit.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray};
use jouletree_model::{Device, EnergySeries, Joules, Kind, Nanos};

use crate::RunError;
use crate::table::{Column, Form, Rows, Table, TableWriter, names};

const COLUMNS: [Column; 6] = [
    Column::new("device", Form::Name),
    Column::new("domain", Form::Text).or_null(),
    Column::new("kind", Form::Name),
    Column::new("t_ns", Form::Time),
    Column::new("joules", Form::Joules),
    Column::new("flags", Form::Flags),
];

/// Nothing is known from this point to the next.
const GAP: i32 = 1;

/// How many points are turned into columns at a time.
const CHUNK: usize = 1 << 16;

/// The energy one meter saw.
#[derive(Debug, Clone, PartialEq)]
pub struct MeteredSeries {
    /// The device it watches.
    pub device: Device,
    /// The part of the device it watches; `None` for the whole device.
    pub domain: Option<String>,
    /// How the numbers came to be.
    pub kind: Kind,
    /// The energy by time.
    pub series: EnergySeries,
}

/// Writes series to a new file, where a row is a point. A series without points leaves nothing behind.
pub fn write_power_parquet(path: &Path, power: &[MeteredSeries]) -> Result<(), RunError> {
    let mut meters = HashMap::new();
    for metered in power {
        if meters.insert((&metered.device, &metered.domain), ()).is_some() {
            let problem = format!("{} {:?} is metered twice", metered.device, metered.domain);
            return Err(RunError::Inconsistent(problem));
        }
    }
    let mut table = TableWriter::create(path, &COLUMNS)?;
    for metered in power {
        let points: Vec<(Nanos, Joules, bool)> = metered.series.points().collect();
        for points in points.chunks(CHUNK) {
            let rows = points.len();
            let columns: Vec<ArrayRef> = vec![
                names(vec![0; rows], [metered.device.to_string()])?,
                Arc::new(StringArray::from(vec![metered.domain.as_deref(); rows])),
                names(vec![0; rows], [metered.kind.as_str()])?,
                Arc::new(Int64Array::from_iter_values(points.iter().map(|(time, _, _)| time.0))),
                Arc::new(Float64Array::from_iter_values(points.iter().map(|(_, joules, _)| joules.0))),
                Arc::new(Int32Array::from_iter_values(points.iter().map(|(_, _, gap)| i32::from(*gap) * GAP))),
            ];
            table.write(columns)?;
        }
    }
    table.finish()
}

/// Reads series back, in the order of their first rows; rows of different meters may be mixed.
pub fn read_power_parquet(path: &Path) -> Result<Vec<MeteredSeries>, RunError> {
    let table = Table::open(path, &COLUMNS)?;
    let mut power: Vec<MeteredSeries> = Vec::new();
    let mut by_meter = HashMap::new();
    table.each(|rows| read_rows(rows, &mut power, &mut by_meter))?;
    Ok(power)
}

fn read_rows(
    rows: &Rows<'_>,
    power: &mut Vec<MeteredSeries>,
    by_meter: &mut HashMap<(Device, Option<String>), usize>,
) -> Result<(), RunError> {
    let (devices, domains, kinds) = (rows.texts("device")?, rows.texts("domain")?, rows.texts("kind")?);
    let (times, joules, flags) = (rows.times("t_ns")?, rows.joules("joules")?, rows.flags("flags")?);
    let mut current = None;
    for row in 0..rows.len() {
        let domain = (!arrow_array::Array::is_null(domains, row)).then(|| domains.value(row));
        let spelling = (devices.value(row), domain, kinds.value(row));
        let index = match current {
            Some((known, index)) if known == spelling => index,
            _ => {
                let device: Device = spelling.0.parse().map_err(|error| rows.wrong(row, error))?;
                let kind: Kind = spelling.2.parse().map_err(|error| rows.wrong(row, error))?;
                let domain = domain.map(str::to_owned);
                let index = *by_meter.entry((device.clone(), domain.clone())).or_insert(power.len());
                if index == power.len() {
                    power.push(MeteredSeries { device, domain, kind, series: EnergySeries::default() });
                } else if power[index].kind != kind {
                    return Err(rows.wrong(row, format_args!("{device} is both {} and {kind}", power[index].kind)));
                }
                index
            }
        };
        current = Some((spelling, index));
        let flag = flags[row];
        if flag & !GAP != 0 {
            return Err(rows.wrong(row, format_args!("flags {flag} has unknown bits; upgrade jouletree")));
        }
        let point = power[index].series.push(Nanos(times[row]), Joules(joules[row]), flag & GAP != 0);
        point.map_err(|error| rows.wrong(row, error))?;
    }
    Ok(())
}
