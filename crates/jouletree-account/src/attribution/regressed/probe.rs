//! The steps of an estimate one by one, for benchmarks.

use super::classify::classified;
use super::columns::{Catalog, Columns};
use super::estimate::{Sensor, activity, estimate};
use super::fit::{Model, Start};
use super::kernel::Kernel;
use super::options::Options;
use super::rows::Rows;
use super::statistics::Statistics;
use super::windows::Windows;
use crate::attribution::Observed;

/// A device made ready: its windows, and the columns of its operations. Its sensor is taken to be ideal.
#[derive(Debug)]
pub struct Probe {
    windows: Windows,
    catalog: Catalog,
    columns: Columns,
    options: Options,
}

/// Sufficient statistics.
#[derive(Debug)]
pub struct Gathered(Statistics);

impl Probe {
    /// Chooses columns.
    pub fn new(observed: &Observed<'_>) -> Probe {
        let (windows, catalog) = (Windows::of(observed.spans), classified(observed.ops));
        let options = Options::default();
        let columns = Columns::new(&catalog, &activity(observed, &windows, &Kernel::default()), &options);
        Probe { windows, catalog, columns, options }
    }

    /// How many columns and windows there are.
    pub fn size(&self) -> (usize, usize) {
        (self.columns.len(), self.windows.len())
    }

    /// From events to statistics.
    pub fn gather(&self, observed: &Observed<'_>) -> Gathered {
        let of = (self.columns.of.as_slice(), self.columns.len());
        let rows = Rows::of(observed.lanes, &self.windows, &Kernel::default(), of);
        Gathered(Statistics::of(&rows, &self.windows.joules))
    }

    /// From statistics to powers, from scratch; the steps it took.
    pub fn fit(&self, gathered: &Gathered) -> Option<usize> {
        let model = Model { columns: &self.columns, scale: self.windows.mean_power(), options: &self.options };
        let fit = model.fit(&gathered.0, Start::default(), self.options.iterations, false)?;
        Some(fit.iterations)
    }

    /// From events to powers, their errors and the validation.
    pub fn estimate(&self, observed: &Observed<'_>) -> bool {
        let sensor = Sensor { kernel: Kernel::default(), search: None, widths: Vec::new() };
        estimate(observed, &self.windows, &self.catalog, &sensor, &self.options).is_ok()
    }
}
