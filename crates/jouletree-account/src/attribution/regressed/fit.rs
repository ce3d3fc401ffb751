//! The fit: Gauss–Newton on the logarithms of powers, and the spreads of their levels by marginal likelihood.
//!
//! Power of a column = m exp(common + slope·size + type + role + own), idle power = m₀ exp(v): positive by construction. Each level
//! is normal around zero. After each step its variance and that of the noise are updated by MacKay's rule under a weak
//! hyper-prior. Where the data says nothing, all effects are zero and all operations have one power.

use nalgebra::DMatrix;

use super::columns::Columns;
use super::linear::{Cholesky, dot, times};
use super::options::{LEVELS, Options};
use super::statistics::Statistics;

/// How a fit begins.
#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    pub(super) effects: Option<Vec<f64>>,
    pub(super) variances: Option<[f64; LEVELS]>,
    pub(super) noise: Option<f64>,
}

/// The result.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    /// The effects; the last is that of idle power.
    pub(super) effects: Vec<f64>,
    /// The watts of each column in one lane; the last is idle power.
    pub(super) powers: Vec<f64>,
    /// The variances of the levels.
    pub(super) variances: [f64; LEVELS],
    /// The variance of the noise.
    pub(super) noise: f64,
    /// How many steps it took.
    pub(super) iterations: usize,
}

/// The fit of a model: what stays the same from step to step.
pub(super) struct Model<'a> {
    pub(super) columns: &'a Columns,
    /// The mean power of the device, in watts.
    pub(super) scale: f64,
    pub(super) options: &'a Options,
}

/// The curvature of the objective at some effects.
struct Curvature {
    precisions: Vec<f64>,
    powers: Vec<f64>,
    factor: Cholesky,
}

impl Model<'_> {
    /// The powers of columns and of the idle device.
    fn powers(&self, effects: &[f64]) -> Vec<f64> {
        let Options { idle_share, .. } = self.options;
        let (idle, own) = effects.split_last().map_or((0.0, [].as_slice()), |(idle, own)| (*idle, own));
        let power = |part: f64, sum: f64| part * self.scale * sum.clamp(-8.0, 4.0).exp();
        let sums = self.columns.sums(own);
        sums.into_iter().map(|sum| power(1.0 - idle_share, sum)).chain([power(*idle_share, idle)]).collect()
    }

    fn precisions(&self, variances: &[f64; LEVELS]) -> Vec<f64> {
        let Options { common_sd, size_sd, idle_sd, .. } = self.options;
        let mut precisions = Vec::with_capacity(self.columns.effects() + 1);
        for (range, variance) in self.columns.levels().into_iter().zip(variances) {
            precisions.extend(range.map(|_| 1.0 / variance));
        }
        precisions.extend([common_sd, size_sd, idle_sd].map(|sd| 1.0 / (sd * sd)));
        precisions
    }

    /// The Cholesky factor of the Hessian of the penalized squares. Own effects belong to one column each, so only the others are
    /// multiplied out.
    fn curvature(
        &self,
        statistics: &Statistics,
        effects: &[f64],
        variances: &[f64; LEVELS],
        noise: f64,
    ) -> Option<Curvature> {
        let (columns, width) = (self.columns, statistics.cross.len());
        let (n, own, effects_count) = (columns.len(), columns.own, columns.effects());
        let (precisions, powers) = (self.precisions(variances), self.powers(effects));
        let size = effects_count + 1;
        let mut matrix = DMatrix::zeros(size, size);
        // What several columns share, by effect: sums of rows of the scaled Gram matrix.
        let low = size - own;
        let mut shared = DMatrix::<f64>::zeros(width, low);
        let mut scaled = vec![0.0; width];
        for column in 0..=n {
            let gram = &statistics.gram.as_slice()[column * width..(column + 1) * width];
            let power = powers[column] / noise;
            scaled.iter_mut().zip(gram).zip(&powers).for_each(|((to, gram), other)| *to = gram * other * power);
            if column < own {
                let target = &mut matrix.as_mut_slice()[column * size..][..own];
                target.copy_from_slice(&scaled[..own]);
            }
            let mut add = |effect: usize, weight: f64| {
                let sums = &mut shared.as_mut_slice()[(effect - own) * width..][..width];
                sums.iter_mut().zip(&scaled).for_each(|(sum, more)| *sum += weight * more);
            };
            if column == n {
                add(effects_count, 1.0);
            } else {
                columns.shared_effects_of(column).for_each(|(effect, weight)| add(effect, weight));
            }
        }
        for effect in 0..low {
            let sums = &shared.as_slice()[effect * width..][..width];
            for (column, sum) in sums.iter().enumerate().take(own) {
                matrix.as_mut_slice()[column * size + own + effect] = *sum;
            }
            let target = &mut matrix.as_mut_slice()[(own + effect) * size..][..size];
            for (column, sum) in sums.iter().enumerate().take(n) {
                for (other, weight) in columns.shared_effects_of(column) {
                    target[other] += weight * sum;
                }
            }
            target[effects_count] += sums[n];
        }
        for (effect, precision) in precisions.iter().enumerate() {
            matrix[(effect, effect)] += precision;
        }
        Some(Curvature { precisions, powers, factor: Cholesky::of(matrix)? })
    }

    /// Fits from `start` on, in at most `iterations` steps. Variances stay as they are where `is_frozen`. `None` where numbers
    /// degenerate.
    pub(super) fn fit(
        &self,
        statistics: &Statistics,
        start: Start,
        iterations: usize,
        is_frozen: bool,
    ) -> Option<Fit> {
        let (options, columns) = (self.options, self.columns);
        let count = statistics.count.max(1) as f64;
        let effects_count = columns.effects();
        let mut variances = start.variances.unwrap_or(options.typical.map(|sd| sd * sd));
        let mut noise = start.noise.unwrap_or(0.05 * 0.05 * statistics.square / count);
        let mut effects = start.effects.unwrap_or_else(|| vec![0.0; effects_count + 1]);
        let residual = |powers: &[f64]| statistics.residual(powers, &times(&statistics.gram, powers));
        let mut taken = 0;
        for iteration in 0..iterations {
            taken = iteration + 1;
            let Curvature { precisions, powers, factor } =
                self.curvature(statistics, &effects, &variances, noise)?;
            let gram_powers = times(&statistics.gram, &powers);
            let gradient: Vec<f64> = powers
                .iter()
                .zip(statistics.cross.iter().zip(&gram_powers))
                .map(|(power, (cross, predicted))| power * (cross - predicted))
                .collect();
            let mut slope = columns.by_effect(&gradient);
            slope.push(gradient.last().copied().unwrap_or_default());
            for ((slope, precision), effect) in slope.iter_mut().zip(&precisions).zip(&effects) {
                *slope = *slope / noise - precision * effect;
            }
            let step = factor.solve(&slope);
            let longest = step.iter().fold(0.0_f64, |longest, step| longest.max(step.abs()));
            if !longest.is_finite() {
                return None;
            }
            let penalty = |effects: &[f64]| -> f64 {
                effects.iter().zip(&precisions).map(|(effect, precision)| precision * effect * effect).sum()
            };
            let before = statistics.residual(&powers, &gram_powers) / noise + penalty(&effects);
            let mut length = (1.0 / longest.max(1e-300)).min(1.0);
            let mut moved = 0.0;
            let mut left = None;
            // Shorter until the objective does not rise.
            for _ in 0..10 {
                let tried: Vec<f64> =
                    effects.iter().zip(&step).map(|(effect, step)| effect + length * step).collect();
                let squares = residual(&self.powers(&tried));
                if squares / noise + penalty(&tried) <= before {
                    (effects, moved, left) = (tried, length * longest, Some(squares));
                    break;
                }
                length *= 0.5;
            }
            if is_frozen {
                if moved < options.tolerance {
                    break;
                }
                continue;
            }
            let squares = left.unwrap_or_else(|| statistics.residual(&powers, &gram_powers));
            let inverse = diagonal_of_inverse(&factor.inverse());
            let old = (noise, variances);
            let mut determined = 0.0;
            for (level, range) in columns.levels().into_iter().enumerate() {
                let spread: f64 = inverse[range.clone()].iter().sum();
                let well = range.len() as f64 - spread / variances[level];
                determined += well;
                let size = effects[range].iter().map(|effect| effect * effect).sum();
                variances[level] = options.updated_variance(level, variances[level], well, size);
            }
            let wide = inverse.iter().zip(&precisions).skip(effects_count - 2);
            let freedom = determined + 3.0 - wide.map(|(spread, precision)| spread * precision).sum::<f64>();
            noise = squares / (count - freedom).max(1.0);
            let change = variances.iter().zip(&old.1).map(|(new, old)| (new / old).ln().abs());
            let change = change.fold((noise / old.0).ln().abs().max(moved), f64::max);
            if !change.is_finite() {
                return None;
            }
            if change < options.tolerance {
                break;
            }
        }
        let powers = self.powers(&effects);
        Some(Fit { effects, powers, variances, noise, iterations: taken })
    }

    /// The inverse of the Cholesky factor of the Hessian at a fit: the covariance of effects is its square.
    pub(super) fn root_of_covariance(&self, statistics: &Statistics, fit: &Fit) -> Option<DMatrix<f64>> {
        let curvature = self.curvature(statistics, &fit.effects, &fit.variances, fit.noise)?;
        Some(curvature.factor.inverse())
    }
}

impl Fit {
    /// Where the next fit of similar data begins.
    pub(super) fn start(&self) -> Start {
        let Fit { effects, variances, noise, .. } = self;
        Start { effects: Some(effects.clone()), variances: Some(*variances), noise: Some(*noise) }
    }
}

impl Options {
    /// The variance s² of a level of which `well` effects are well determined and whose squares sum up to `size`: the root of
    /// -well + size/s² - (ln s - ln typical)/h².
    fn updated_variance(&self, level: usize, variance: f64, well: f64, size: f64) -> f64 {
        let (typical, hyper) = (self.typical[level].ln(), self.typical_sd * self.typical_sd);
        let mut log = 0.5 * variance.ln();
        for _ in 0..60 {
            let ratio = size * (-2.0 * log).exp();
            let step = (-well + ratio - (log - typical) / hyper) / (2.0 * ratio + 1.0 / hyper);
            log += step.clamp(-1.0, 1.0);
            if step.abs() < 1e-14 {
                break;
            }
        }
        (2.0 * log).exp()
    }
}

/// The diagonal of the inverse of `L Lᵀ`, of which the inverse of L is given.
fn diagonal_of_inverse(inverse: &DMatrix<f64>) -> Vec<f64> {
    inverse.as_slice().chunks_exact(inverse.nrows().max(1)).map(|column| dot(column, column)).collect()
}
