//! Tables of measured layers: one file of comma-separated values for each kind, plain or compressed with gzip.
//!
//! A table needs the kind's parameters and `cpu_energy` in kWh; `macs` and `session` are used where they are there.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use jouletree_model::{Joules, Warning};

use super::{Layer, LayerKind};
use crate::operators::{Operator, Shape};

/// The table of networks, and of their layers measured alone.
pub(super) const LAYERWISE: &str = "architectures_layerwise";

/// A layer and the energy of one pass through it.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredLayer {
    /// What was measured.
    pub layer: Layer,
    /// The same as an operator.
    pub operator: Operator,
    /// The energy of one pass.
    pub energy: Joules,
    /// The campaign that it was measured in; empty when the table does not say.
    pub session: String,
}

/// All measured layers of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerTable {
    /// Their kind.
    pub kind: LayerKind,
    /// The rows, in the file's order.
    pub rows: Vec<MeasuredLayer>,
}

/// The tables of a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// One for each kind that is there.
    pub tables: Vec<LayerTable>,
    /// What was left out.
    pub warnings: Vec<Warning>,
}

/// A table that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file or the folder cannot be read.
    #[error("{path}: {error}; name a folder with tables of measured layers")]
    Io {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The file is not made of comma-separated values.
    #[error("{path}: {error}")]
    Csv {
        /// The file.
        path: String,
        /// Why.
        error: csv::Error,
    },
    /// A column is missing.
    #[error("{path}: no column `{column}`; it has: {found}")]
    Column {
        /// The file.
        path: String,
        /// What is missing.
        column: String,
        /// The columns that are there.
        found: String,
    },
    /// No row can be used.
    #[error("{0}: no row that could be used; it needs at least one measured layer")]
    Empty(String),
    /// No table at all.
    #[error("{0}: no tables of layers; expected files such as conv2d.csv or conv2d.csv.gz")]
    NoTables(String),
}

/// A table's rows by the names of its columns.
pub(super) struct Rows {
    pub(super) path: String,
    header: csv::StringRecord,
    pub(super) records: Vec<csv::StringRecord>,
}

impl Rows {
    /// Reads `<stem>.csv` or `<stem>.csv.gz`; `None` when there is neither.
    pub(super) fn find(folder: &Path, stem: &str) -> Result<Option<Rows>, TableError> {
        let names = [format!("{stem}.csv"), format!("{stem}.csv.gz")];
        match names.iter().map(|name| folder.join(name)).find(|path| path.exists()) {
            Some(path) => Rows::read(&path).map(Some),
            None => Ok(None),
        }
    }

    fn read(path: &PathBuf) -> Result<Rows, TableError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| TableError::Io { path: name.clone(), error })?;
        let file = BufReader::new(file);
        let reader: Box<dyn Read> = match path.extension() {
            Some(extension) if extension == "gz" => Box::new(MultiGzDecoder::new(file)),
            _ => Box::new(file),
        };
        let wrong = |error| TableError::Csv { path: name.clone(), error };
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(reader);
        let header = reader.headers().map_err(wrong)?.clone();
        let records = reader.records().collect::<Result<_, _>>().map_err(wrong)?;
        Ok(Rows { path: name, header, records })
    }

    /// Where a column is.
    pub(super) fn column(&self, name: &str) -> Result<usize, TableError> {
        self.header.iter().position(|column| column == name).ok_or_else(|| TableError::Column {
            path: self.path.clone(),
            column: name.to_owned(),
            found: self.header.iter().collect::<Vec<_>>().join(", "),
        })
    }
}

/// A whole number, also when it is written as `3.0`.
pub(super) fn whole(text: &str) -> Option<u64> {
    let number: f64 = text.parse().ok()?;
    ((0.0..9e15).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// An energy in joules that a pass can have taken, from kilowatt-hours.
pub(super) fn energy(text: &str) -> Option<Joules> {
    let hours: f64 = text.parse().ok()?;
    (hours.is_finite() && hours > 0.0).then_some(Joules(hours * Joules::PER_KILOWATT_HOUR))
}

/// All tables of layers in a folder.
pub fn read_tables(folder: &Path) -> Result<Tables, TableError> {
    std::fs::read_dir(folder).map_err(|error| TableError::Io { path: folder.display().to_string(), error })?;
    let mut found = Tables { tables: Vec::new(), warnings: Vec::new() };
    for kind in LayerKind::ALL {
        if let Some(rows) = Rows::find(folder, kind.as_str())? {
            let table = layers(kind, &rows, &mut found.warnings)?;
            found.tables.push(table);
        }
    }
    if found.tables.is_empty() {
        return Err(TableError::NoTables(folder.display().to_string()));
    }
    Ok(found)
}

/// Layers of real networks, measured alone: the tables `archconfigs_<kind>` of a folder.
pub fn read_real_layers(folder: &Path, warnings: &mut Vec<Warning>) -> Result<Vec<LayerTable>, TableError> {
    let mut tables = Vec::new();
    for kind in LayerKind::ALL {
        if let Some(rows) = Rows::find(folder, &format!("archconfigs_{kind}"))? {
            tables.push(layers(kind, &rows, warnings)?);
        }
    }
    Ok(tables)
}

/// Layers of whole networks, each measured alone: the rows of `architectures_layerwise` that are no network. Where the table
/// does not say what the layers of a kind are, there are none of it.
pub fn read_network_layers(folder: &Path, warnings: &mut Vec<Warning>) -> Result<Vec<LayerTable>, TableError> {
    let Some(mut rows) = Rows::find(folder, LAYERWISE)? else { return Ok(Vec::new()) };
    let Ok(module) = rows.column("module") else { return Ok(Vec::new()) };
    let all = std::mem::take(&mut rows.records);
    let mut tables = Vec::new();
    for kind in LayerKind::ALL {
        let is_meant = |record: &&csv::StringRecord| {
            record.get(module).is_some_and(|class| class.eq_ignore_ascii_case(kind.as_str()))
        };
        rows.records = all.iter().filter(is_meant).cloned().collect();
        let column = |name: &&str| match *name {
            // Activations take what the layer before them gives.
            "input_size" if kind != LayerKind::Linear => rows.column("input_elems_per_sample"),
            name => rows.column(name),
        };
        let columns: Result<Vec<usize>, TableError> = kind.parameters().iter().map(column).collect();
        let (Ok(columns), false) = (columns, rows.records.is_empty()) else { continue };
        let mut table = layers_in(kind, &rows, &columns, warnings)?;
        for row in &mut table.rows {
            // Networks overwrite what their activations are given.
            if let Shape::Relu { elements, .. } = *row.operator.shape() {
                let in_place = Operator::new(row.layer.key(), Shape::Relu { elements, in_place: true });
                row.operator = in_place.unwrap_or_else(|_| row.operator.clone());
            }
        }
        tables.push(table);
    }
    Ok(tables)
}

fn layers(kind: LayerKind, rows: &Rows, warnings: &mut Vec<Warning>) -> Result<LayerTable, TableError> {
    let columns: Vec<usize> = kind.parameters().iter().map(|name| rows.column(name)).collect::<Result<_, _>>()?;
    layers_in(kind, rows, &columns, warnings)
}

/// The layers whose parameters are in these columns.
fn layers_in(
    kind: LayerKind,
    rows: &Rows,
    columns: &[usize],
    warnings: &mut Vec<Warning>,
) -> Result<LayerTable, TableError> {
    let energy_column = rows.column("cpu_energy")?;
    let session_column = rows.column("session").ok();
    let mut measured = Vec::with_capacity(rows.records.len());
    for (index, record) in rows.records.iter().enumerate() {
        let mut skip = |why: String| {
            let message = format!("{why}; the row is left out");
            warnings.push(Warning::new(rows.path.clone(), message).at(format!("row {}", index + 1)));
        };
        let text = |column: usize| record.get(column).unwrap_or_default();
        let Some(values) = columns.iter().map(|column| whole(text(*column))).collect::<Option<Vec<u64>>>() else {
            skip(format!("one of {} is not a whole number", kind.parameters().join(", ")));
            continue;
        };
        let Some(energy) = energy(text(energy_column)) else {
            skip(format!("`cpu_energy` is `{}`, not a positive number", text(energy_column)));
            continue;
        };
        let layer = Layer { kind, values };
        match layer.operator() {
            Ok(operator) => {
                let session = session_column.map(text).unwrap_or_default().to_owned();
                measured.push(MeasuredLayer { layer, operator, energy, session });
            }
            Err(reason) => skip(reason),
        }
    }
    if measured.is_empty() {
        return Err(TableError::Empty(rows.path.clone()));
    }
    Ok(LayerTable { kind, rows: measured })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("linear.csv"), text).unwrap();
        folder
    }

    #[test]
    fn rows_are_read_in_joules() {
        let text =
            "output_size,input_size,batch_size,cpu_energy,session\n5,3,2,1e-6,00\n5,3,2.0,nan,00\n5,x,2,1,00\n";
        let tables = read_tables(folder(text).path()).unwrap();
        let row = &tables.tables[0].rows[0];
        assert_eq!((row.layer.key().as_str(), row.session.as_str()), ("linear|2,3,5", "00"));
        assert!((row.energy.0 - 3.6).abs() < 1e-12);
        let warnings: Vec<String> = tables.warnings.iter().map(Warning::to_string).collect();
        assert!(warnings[0].contains("row 2") && warnings[0].contains("`nan`"), "{warnings:?}");
        assert!(warnings[1].contains("row 3") && warnings[1].contains("whole number"), "{warnings:?}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = |text: &str| read_tables(folder(text).path()).unwrap_err().to_string();
        assert!(error("batch_size,input_size,cpu_energy\n1,2,3\n").contains("no column `output_size`"));
        assert!(error("batch_size,input_size,output_size,cpu_energy\n").contains("no row"));
        assert!(error("").contains("no column"));
        let empty = tempfile::tempdir().unwrap();
        assert!(read_tables(empty.path()).unwrap_err().to_string().contains("conv2d.csv"));
    }

    #[test]
    fn the_layers_of_networks_are_the_rows_that_are_no_network() {
        let folder = tempfile::tempdir().unwrap();
        let text = "module,layer_idx,batch_size,input_size,output_size,input_elems_per_sample,cpu_energy\n\
                    VGG,0,2,,,150528,1e-5\nReLU,2,2,,,4096,1e-8\nLinear,3,2,4096,1000,4096,1e-7\nConv2d,1,2,,,150528,1e-6\n";
        fs::write(folder.path().join("architectures_layerwise.csv"), text).unwrap();
        let mut warnings = Vec::new();
        let tables = read_network_layers(folder.path(), &mut warnings).unwrap();
        let keys: Vec<String> = tables.iter().flat_map(|table| &table.rows).map(|row| row.layer.key()).collect();
        // What convolutions are, no column says.
        assert_eq!(keys, ["linear|2,4096,1000", "relu|2,4096"]);
        let in_place = Shape::Relu { elements: 8192, in_place: true };
        assert_eq!((tables[1].rows[0].operator.shape(), warnings.len()), (&in_place, 0));
        let empty = tempfile::tempdir().unwrap();
        assert!(read_network_layers(empty.path(), &mut warnings).unwrap().is_empty());
    }
}
