//! `power.parquet`: the energy each device had used by each instant, as accounting used it, bit for bit.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray};
use jouletree_model::{Device, EnergySeries, Joules, Kind, MeteredSeries, Nanos, Scope};

use crate::RunError;
use crate::table::{Column, Form, Rows, Table, TableWriter, names};

const COLUMNS: [Column; 7] = [
    Column::new("device", Form::Name),
    Column::new("domain", Form::Text).or_null(),
    SCOPE,
    Column::new("kind", Form::Name),
    Column::new("t_ns", Form::Time),
    Column::new("joules", Form::Joules),
    Column::new("flags", Form::Flags),
];

/// Whose energy it is.
const SCOPE: Column = Column::new("scope", Form::Name);
/// Files of version 1 have no scopes. There, what the process tree of a recording used of a device has this domain.
const OURS: &str = "ours";

/// Nothing is known from this point to the next.
const GAP: i32 = 1;

/// How many points are turned into columns at a time.
const CHUNK: usize = 1 << 16;

/// Writes series to a new file, where a row is a point. A series without points leaves nothing behind.
pub fn write_power_parquet(path: &Path, power: &[MeteredSeries]) -> Result<(), RunError> {
    let meter = |one: &'_ MeteredSeries| (one.device.clone(), one.domain.clone(), one.scope, one.kind);
    let meters = power.iter().map(meter);
    let mut points = PointWriter::create(path, meters)?;
    for (meter, metered) in power.iter().enumerate() {
        for (time, joules, gap) in metered.series.points() {
            points.push(meter, time, joules, gap)?;
        }
    }
    points.finish()
}

/// The device, the part of it, whose energy it is, and how it came to be known.
pub(crate) type Meter = (Device, Option<String>, Scope, Kind);

/// Writes points of several meters as they come.
pub(crate) struct PointWriter {
    table: TableWriter,
    devices: Vec<String>,
    domains: Vec<Option<String>>,
    scopes: Vec<Scope>,
    kinds: Vec<Kind>,
    /// The meter, the time, the energy and the flags of each point that waits.
    meters: Vec<usize>,
    times: Vec<i64>,
    joules: Vec<f64>,
    flags: Vec<i32>,
}

impl PointWriter {
    /// Begins a new file for the points of these meters.
    pub(crate) fn create(path: &Path, meters: impl Iterator<Item = Meter>) -> Result<PointWriter, RunError> {
        let mut known = HashSet::new();
        let (mut devices, mut domains) = (Vec::new(), Vec::new());
        let (mut scopes, mut kinds) = (Vec::new(), Vec::new());
        for (device, domain, scope, kind) in meters {
            if !known.insert((device.clone(), domain.clone(), scope)) {
                return Err(RunError::Inconsistent(format!("{device} {domain:?} is metered twice")));
            }
            devices.push(device.to_string());
            domains.push(domain);
            scopes.push(scope);
            kinds.push(kind);
        }
        let table = TableWriter::create(path, &COLUMNS)?;
        let (meters, times, joules, flags) = Default::default();
        Ok(PointWriter { table, devices, domains, scopes, kinds, meters, times, joules, flags })
    }

    /// Adds a point of a meter, later than those before.
    pub(crate) fn push(&mut self, meter: usize, time: Nanos, joules: Joules, gap: bool) -> Result<(), RunError> {
        self.meters.push(meter);
        self.times.push(time.0);
        self.joules.push(joules.0);
        self.flags.push(i32::from(gap) * GAP);
        if self.meters.len() >= CHUNK { self.write() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> Result<(), RunError> {
        self.write()?;
        self.table.finish()
    }

    fn write(&mut self) -> Result<(), RunError> {
        let meters = std::mem::take(&mut self.meters);
        if meters.is_empty() {
            return Ok(());
        }
        let keys = || meters.iter().map(|meter| i32::try_from(*meter).unwrap_or(i32::MAX)).collect();
        let domains = meters.iter().map(|meter| self.domains.get(*meter).and_then(|domain| domain.as_deref()));
        let columns: Vec<ArrayRef> = vec![
            names(keys(), &self.devices)?,
            Arc::new(domains.collect::<StringArray>()),
            names(keys(), self.scopes.iter().map(|scope| scope.as_str()))?,
            names(keys(), self.kinds.iter().map(|kind| kind.as_str()))?,
            Arc::new(Int64Array::from(std::mem::take(&mut self.times))),
            Arc::new(Float64Array::from(std::mem::take(&mut self.joules))),
            Arc::new(Int32Array::from(std::mem::take(&mut self.flags))),
        ];
        self.table.write(columns)
    }
}

/// Reads series back, in the order of their first rows; rows of different meters may be mixed.
pub fn read_power_parquet(path: &Path) -> Result<Vec<MeteredSeries>, RunError> {
    let columns: Vec<Column> = COLUMNS.into_iter().filter(|column| column.name != SCOPE.name).collect();
    let table = Table::open(path, &columns)?.with_optional(SCOPE)?;
    let has_scopes = table.has(SCOPE);
    let mut power: Vec<MeteredSeries> = Vec::new();
    let mut by_meter = HashMap::new();
    table.each(|rows| read_rows(rows, has_scopes, &mut power, &mut by_meter))?;
    Ok(power)
}

fn read_rows(
    rows: &Rows<'_>,
    has_scopes: bool,
    power: &mut Vec<MeteredSeries>,
    by_meter: &mut HashMap<(Device, Option<String>, Scope), usize>,
) -> Result<(), RunError> {
    let (devices, domains, kinds) = (rows.texts("device")?, rows.texts("domain")?, rows.texts("kind")?);
    let (times, joules, flags) = (rows.times("t_ns")?, rows.joules("joules")?, rows.flags("flags")?);
    let scopes = has_scopes.then(|| rows.texts(SCOPE.name)).transpose()?;
    let mut current = None;
    for row in 0..rows.len() {
        let domain = (!arrow_array::Array::is_null(domains, row)).then(|| domains.value(row));
        let scope = scopes.map(|scopes| scopes.value(row));
        let spelling = (devices.value(row), domain, scope, kinds.value(row));
        let index = match current {
            Some((known, index)) if known == spelling => index,
            _ => {
                let device: Device = spelling.0.parse().map_err(|error| rows.wrong(row, error))?;
                let kind: Kind = spelling.3.parse().map_err(|error| rows.wrong(row, error))?;
                let (domain, scope) = match (domain, scope) {
                    (Some(OURS), None) => (None, Scope::Tree),
                    (domain, None) => (domain, Scope::Device),
                    (domain, Some(name)) => (domain, scope_named(name).map_err(|error| rows.wrong(row, error))?),
                };
                let domain = domain.map(str::to_owned);
                let index = *by_meter.entry((device.clone(), domain.clone(), scope)).or_insert(power.len());
                if index == power.len() {
                    power.push(MeteredSeries { device, domain, scope, kind, series: EnergySeries::default() });
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

fn scope_named(name: &str) -> Result<Scope, String> {
    Scope::named(name).ok_or_else(|| format!("unknown scope `{name}`; upgrade jouletree"))
}
