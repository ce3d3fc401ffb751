//! The table of models: one row each, with a name, an accuracy and an energy in joules or kilowatt-hours.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use jouletree_model::{Joules, Kind};

use super::Candidate;

/// A table that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TradeoffError {
    /// The file cannot be read.
    #[error("{path}: {error}; check that the path is right")]
    Io {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A line that is no row.
    #[error("{path}: {error}")]
    Csv {
        /// The file.
        path: String,
        /// Why.
        error: csv::Error,
    },
    /// A column is missing.
    #[error("{path}: no column `{column}`; a table of models has name, accuracy, and energy_j or energy_kwh")]
    Column {
        /// The file.
        path: String,
        /// What is missing.
        column: &'static str,
    },
    /// Energies in two units.
    #[error("{0}: it has both energy_j and energy_kwh; leave one of them out")]
    TwoUnits(String),
    /// A value is not what its column holds.
    #[error("{path}: line {line}: `{column}` is `{value}`; {wanted}")]
    Value {
        /// The file.
        path: String,
        /// The line, counted from one.
        line: u64,
        /// The column.
        column: String,
        /// The value in the file.
        value: String,
        /// What should.
        wanted: &'static str,
    },
    /// Nothing in it.
    #[error("{0}: it has no models; give at least one row of name, accuracy and energy")]
    Empty(String),
}

/// Reads a table of models from a file.
pub fn read_models(path: &Path) -> Result<Vec<Candidate>, TradeoffError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| TradeoffError::Io { path: name.clone(), error })?;
    read_from(&name, BufReader::new(file))
}

/// Where a value is.
struct ValueLocation<'a> {
    path: &'a str,
    line: u64,
}

impl ValueLocation<'_> {
    fn wrong(&self, column: &str, value: &str, wanted: &'static str) -> TradeoffError {
        let (path, column, value) = (self.path.to_owned(), column.to_owned(), value.to_owned());
        TradeoffError::Value { path, line: self.line, column, value, wanted }
    }

    fn number(&self, column: &str, text: &str, wanted: &'static str) -> Result<f64, TradeoffError> {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.wrong(column, text, wanted))
    }
}

fn read_from(path: &str, input: impl Read) -> Result<Vec<Candidate>, TradeoffError> {
    let wrong = |error| TradeoffError::Csv { path: path.to_owned(), error };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(input);
    let header = reader.headers().map_err(wrong)?.clone();
    if header.is_empty() {
        return Err(TradeoffError::Empty(path.to_owned()));
    }
    let find = |name: &str| header.iter().position(|column| column == name);
    let need = |name: &'static str| {
        find(name).ok_or_else(|| TradeoffError::Column { path: path.to_owned(), column: name })
    };
    let (name, accuracy) = (need("name")?, need("accuracy")?);
    let (unit, joules, energy) = match (find("energy_j"), find("energy_kwh")) {
        (Some(_), Some(_)) => return Err(TradeoffError::TwoUnits(path.to_owned())),
        (Some(column), None) => ("j", 1.0, column),
        (None, Some(column)) => ("kwh", Joules::PER_KILOWATT_HOUR, column),
        (None, None) => return Err(TradeoffError::Column { path: path.to_owned(), column: "energy_j" }),
    };
    let [sd, low, high] = ["sd", "low", "high"].map(|what| find(&format!("{what}_{unit}")));
    let kind = find("kind");
    let mut models = Vec::new();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let place = ValueLocation { path, line: record.position().map_or(0, csv::Position::line) };
        let text = |column: usize| record.get(column).unwrap_or_default();
        // An empty cell of a column that need not be there says nothing.
        let optional = |column: Option<usize>| column.map(text).filter(|text| !text.is_empty());
        if text(name).is_empty() {
            return Err(place.wrong("name", "", "every model needs a name"));
        }
        let energies = "an energy above 0 is needed";
        let used = place.number("energy", text(energy), energies)? * joules;
        if used <= 0.0 {
            return Err(place.wrong("energy", text(energy), energies));
        }
        let bound = |column: Option<usize>, what: &str| {
            let wanted = "a number of 0 or more is needed";
            let number = optional(column).map(|text| place.number(what, text, wanted)).transpose()?;
            match number {
                Some(number) if number < 0.0 => Err(place.wrong(what, &number.to_string(), wanted)),
                number => Ok(number.map(|number| number * joules)),
            }
        };
        let ends = match (bound(low, "low")?, bound(high, "high")?, bound(sd, "sd")?) {
            (Some(low), Some(high), _) if low <= used && used <= high => Some((Joules(low), Joules(high))),
            (Some(low), Some(_), _) => {
                return Err(place.wrong("low", &(low / joules).to_string(), "low ≤ energy ≤ high is needed"));
            }
            (_, _, Some(sd)) => Some((Joules((used - sd).max(0.0)), Joules(used + sd))),
            _ => None,
        };
        let kind =
            match optional(kind) {
                None => None,
                Some(text) => Some(text.parse::<Kind>().map_err(|_| {
                    place.wrong("kind", text, "kinds are measured, derived, estimated and predicted")
                })?),
            };
        models.push(Candidate {
            name: text(name).to_owned(),
            accuracy: place.number("accuracy", text(accuracy), "a number is needed")?,
            energy: Joules(used),
            ends,
            kind,
        });
    }
    if models.is_empty() {
        return Err(TradeoffError::Empty(path.to_owned()));
    }
    Ok(models)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Candidate>, String> {
        read_from("models.csv", text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn both_units_and_both_kinds_of_intervals() {
        let models =
            read("name, accuracy, energy_kwh, sd_kwh, kind\na,0.9,2e-6,1e-6,predicted\nb,0.8,1e-6,,\n").unwrap();
        assert!((models[0].energy.0 - 7.2).abs() < 1e-12);
        let (low, high) = models[0].ends.unwrap();
        assert!((low.0 - 3.6).abs() < 1e-12 && (high.0 - 10.8).abs() < 1e-12);
        assert_eq!((models[0].kind, models[1].ends, models[1].kind), (Some(Kind::Predicted), None, None));
        let models = read("energy_j,name,accuracy,low_j,high_j\n5,a,90,4,7\n").unwrap();
        assert_eq!(models[0].ends, Some((Joules(4.0), Joules(7.0))));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, wanted) in [
            ("", "no models"),
            ("name,accuracy,energy_j\n", "no models"),
            ("name,energy_j\na,1\n", "no column `accuracy`"),
            ("name,accuracy,energy\na,1,1\n", "no column `energy_j`"),
            ("name,accuracy,energy_j,energy_kwh\na,1,1,1\n", "both energy_j and energy_kwh"),
            ("name,accuracy,energy_j\na,1,2\nb,NaN,2\n", "line 3: `accuracy` is `NaN`"),
            ("name,accuracy,energy_j\na,1,-2\n", "line 2: `energy` is `-2`; an energy above 0"),
            ("name,accuracy,energy_j\n,1,2\n", "needs a name"),
            ("name,accuracy,energy_j,kind\na,1,2,guessed\n", "`kind` is `guessed`"),
            ("name,accuracy,energy_j,low_j,high_j\na,1,2,3,4\n", "low ≤ energy ≤ high"),
            ("name,accuracy,energy_j\na,1\n", "models.csv"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
