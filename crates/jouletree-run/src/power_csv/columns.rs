//! The header of a power file: which field of a row says what.

use std::borrow::Cow;

use csv::ByteRecord;
use jouletree_model::{Nanos, PowerUnit, Warning};

use super::PowerProblem;
use super::number::{self, TimeUnit};

const TIME_COLUMNS: [(&str, TimeUnit); 5] = [
    ("epoch_ns", TimeUnit::Nanoseconds),
    ("epoch_us", TimeUnit::Microseconds),
    ("epoch_ms", TimeUnit::Milliseconds),
    ("time", TimeUnit::Rfc3339),
    ("timestamp", TimeUnit::Rfc3339),
];

/// Words in the name of a column that is a power or an energy in a unit we do not take.
const OTHER_UNITS: [&str; 22] = [
    "power",
    "energy",
    "w",
    "mw",
    "uw",
    "kw",
    "milliwatt",
    "milliwatts",
    "microwatt",
    "microwatts",
    "kilowatts",
    "watt",
    "wh",
    "kwh",
    "mwh",
    "j",
    "mj",
    "uj",
    "kj",
    "joule",
    "millijoules",
    "microjoules",
];

/// The columns of each quantity.
pub(super) struct Columns {
    names: Vec<String>,
    time: usize,
    time_unit: TimeUnit,
    reading: usize,
    pub(super) unit: PowerUnit,
    device: usize,
    domain: Option<usize>,
    kind: Option<usize>,
    unknown: Vec<usize>,
}

impl Columns {
    pub(super) fn from_header(header: &ByteRecord) -> Result<Columns, PowerProblem> {
        let names: Vec<String> = header.iter().map(|name| text(name.trim_ascii()).to_ascii_lowercase()).collect();
        if names.iter().any(|name| name.parse::<f64>().is_ok()) {
            return Err(PowerProblem::NoHeader);
        }
        let only = |wanted: &dyn Fn(&str) -> bool| -> Result<Option<usize>, PowerProblem> {
            let mut found = (0..names.len()).filter(|index| wanted(&names[*index]));
            match (found.next(), found.next()) {
                (Some(first), Some(second)) => {
                    Err(PowerProblem::Twice(names[first].clone(), names[second].clone()))
                }
                (first, _) => Ok(first),
            }
        };
        let missing = |wanted| PowerProblem::Missing { wanted, found: names.join(", ") };

        let time = only(&|name| TIME_COLUMNS.iter().any(|(time, _)| *time == name))?
            .ok_or_else(|| missing("epoch_ns, epoch_us, epoch_ms or time (RFC 3339)"))?;
        let time_unit = TIME_COLUMNS.iter().find(|(name, _)| *name == names[time]).map(|(_, unit)| *unit);
        let reading = only(&|name| name == "watts" || name == "joules")?.ok_or_else(|| {
            match names.iter().find(|name| is_other_unit(name)) {
                Some(name) => PowerProblem::OtherUnit(name.clone()),
                None => missing("watts (power) or joules (a cumulative counter)"),
            }
        })?;
        let device = only(&|name| name == "device")?.ok_or_else(|| missing("device"))?;
        let domain = only(&|name| name == "domain")?;
        let kind = only(&|name| name == "kind")?;
        let known = [Some(time), Some(reading), Some(device), domain, kind];
        let unknown = (0..names.len()).filter(|index| !known.contains(&Some(*index))).collect();
        let unit = if names[reading] == "watts" { PowerUnit::Watts } else { PowerUnit::Joules };
        let time_unit = time_unit.unwrap_or(TimeUnit::Rfc3339);
        Ok(Columns { names, time, time_unit, reading, unit, device, domain, kind, unknown })
    }

    /// Unknown columns, reported once.
    pub(super) fn warning(&self, source: &str) -> Option<Warning> {
        let names: Vec<&str> =
            self.unknown.iter().map(|index| self.names[*index].as_str()).filter(|name| !name.is_empty()).collect();
        let message = || format!("columns without meaning here were ignored: {}", names.join(", "));
        (!names.is_empty()).then(|| Warning::new(source, message()).at("line 1"))
    }

    /// More fields than columns are an error, too: `12,5` would be read as 12 without one.
    pub(super) fn check_length(&self, row: &ByteRecord) -> Result<(), PowerProblem> {
        let (wanted, found) = (self.names.len(), row.len());
        let surplus_is_empty = || row.iter().skip(wanted).all(|field| field.trim_ascii().is_empty());
        if found == wanted || (found > wanted && surplus_is_empty()) {
            return Ok(());
        }
        Err(PowerProblem::Length { wanted, found })
    }

    pub(super) fn time(&self, row: &ByteRecord) -> Result<Nanos, PowerProblem> {
        number::time(&self.names[self.time], self.time_unit, field(row, Some(self.time)))
    }

    pub(super) fn value(&self, row: &ByteRecord) -> Result<f64, PowerProblem> {
        number::amount(&self.names[self.reading], field(row, Some(self.reading)))
    }

    pub(super) fn device<'a>(&self, row: &'a ByteRecord) -> &'a [u8] {
        field(row, Some(self.device))
    }

    /// Empty when it is the whole device.
    pub(super) fn domain<'a>(&self, row: &'a ByteRecord) -> &'a [u8] {
        field(row, self.domain)
    }

    /// Empty when it is not given.
    pub(super) fn kind<'a>(&self, row: &'a ByteRecord) -> &'a [u8] {
        field(row, self.kind)
    }
}

/// The file was checked to be UTF-8 as a whole, so that nothing is lost.
pub(super) fn text(field: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(field)
}

fn field(row: &ByteRecord, index: Option<usize>) -> &[u8] {
    index.and_then(|index| row.get(index)).unwrap_or_default().trim_ascii()
}

fn is_other_unit(name: &str) -> bool {
    name.split(|c: char| !c.is_alphanumeric()).any(|word| OTHER_UNITS.contains(&word))
}
