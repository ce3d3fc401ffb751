//! How uncertain powers are, and go together: the covariance of the logarithms of column powers.

use nalgebra::DMatrix;

use super::columns::Columns;
use super::fit::Fit;
use super::linear::{Part, multiply};
use super::options::Options;

/// The covariance of the logarithms of the powers of columns; the last is that of idle power.
#[derive(Debug, Clone)]
pub(super) struct Covariance {
    matrix: DMatrix<f64>,
    /// What the logarithm of an operation's power spreads by that has no column of its own, beside that of its column.
    lumped: [f64; 2],
    widening: f64,
}

impl Covariance {
    /// From the inverse of the Cholesky factor of the Hessian of effects.
    pub(super) fn of(columns: &Columns, fit: &Fit, root: &DMatrix<f64>, options: &Options) -> Covariance {
        let (effects, width) = (root.nrows(), columns.len() + 1);
        let mut roots = DMatrix::<f64>::zeros(effects, width);
        let mut add = |column: usize, effect: usize, weight: f64| {
            let from = &root.as_slice()[effect * effects..][..effects];
            let to = &mut roots.as_mut_slice()[column * effects..][..effects];
            to.iter_mut().zip(from).for_each(|(sum, more)| *sum += weight * more);
        };
        for column in 0..columns.len() {
            columns.effects_of(column).for_each(|(effect, weight)| add(column, effect, weight));
        }
        add(width - 1, effects - 1, 1.0);
        let mut matrix = DMatrix::zeros(width, width);
        let whole = Part::whole(&roots);
        multiply((matrix.as_mut_slice(), width, (0, 0)), 1.0, (whole.transposed(), whole), 0.0);
        let [own, role, _] = fit.variances;
        Covariance { matrix, lumped: [own, own + role], widening: options.widening }
    }

    /// The covariance of the logarithms of two columns.
    pub(super) fn get(&self, a: usize, b: usize) -> f64 {
        self.matrix[(a, b)]
    }

    /// The number of the column of idle power.
    pub(super) fn idle(&self) -> usize {
        self.matrix.nrows().saturating_sub(1)
    }

    /// What the logarithm of the power of an operation spreads by beside that of its column.
    pub(super) fn lumped(&self, columns: &Columns, op: usize) -> f64 {
        let Some(column) = columns.of.get(op) else { return 0.0 };
        match (columns.is_own(op), columns.has_role(*column as usize)) {
            (true, _) => 0.0,
            (_, true) => self.lumped[0],
            (_, false) => self.lumped[1],
        }
    }

    /// By which factor standard errors are widened, as variances are estimates, too.
    pub(super) fn widening(&self) -> f64 {
        self.widening
    }
}
