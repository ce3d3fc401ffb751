//! The constants of the estimator.

/// Levels of the hierarchy: each operation, its role (the same operation in every self-similar layer), its type.
pub(super) const LEVELS: usize = 3;

/// How the estimator works. The defaults are those it was tried with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    /// The medians of the hyper-prior of the relative standard deviations: of operations, roles, types.
    pub(super) typical: [f64; LEVELS],
    /// The standard deviation of their logarithms.
    pub(super) typical_sd: f64,
    /// The prior standard deviation of the common level.
    pub(super) common_sd: f64,
    /// The prior standard deviation of the slope over the logarithm of the duration.
    pub(super) size_sd: f64,
    /// The part of the mean power that an idle device is taken to use, before anything is known.
    pub(super) idle_share: f64,
    /// The prior standard deviation of the logarithm of idle power.
    pub(super) idle_sd: f64,
    /// At most so many columns.
    pub(super) columns: usize,
    /// An operation has a column of its own only if it ran so often.
    pub(super) executions: u64,
    /// At most so many steps of a fit.
    pub(super) iterations: usize,
    /// The change of logarithms below which a fit has converged.
    pub(super) tolerance: f64,
    /// The order of the autoregression of residuals.
    pub(super) order: usize,
    /// The portmanteau statistic above which residuals are not white.
    pub(super) coloured: f64,
    /// Into how many folds windows are cut for validation.
    pub(super) folds: usize,
    /// How many windows in a row are left out together.
    pub(super) block: usize,
    /// How many standard errors better than equal shares the prediction of left-out windows must be.
    pub(super) least_t: f64,
    /// How many windows of a part-time sensor are scaled together.
    pub(super) duty_block: usize,
    /// By how much intervals are widened, as variances are estimates, too.
    pub(super) widening: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            typical: [0.06, 0.20, 0.50],
            typical_sd: 0.7,
            common_sd: 2.0,
            size_sd: 0.15,
            idle_share: 0.25,
            idle_sd: 0.7,
            columns: 1000,
            executions: 3,
            iterations: 40,
            tolerance: 1e-5,
            order: 8,
            coloured: 30.0,
            folds: 5,
            block: 50,
            least_t: 1.5,
            duty_block: 50,
            widening: 1.15,
        }
    }
}
