//! Noise that is uneven or coloured: weights of windows, and the autoregression of residuals.

/// Residuals beyond so many standard deviations are not fitted.
const OUTLYING: f64 = 6.0;

/// The weight of each window: one over its standard deviation, the variance being α + β prediction² with both at least zero, by
/// least squares on squared residuals. Outlying windows, the first and the last are not fitted; the mean weight is one.
pub(super) fn weights(residuals: &[f64], predicted: &[f64]) -> Vec<f64> {
    let n = residuals.len() as f64;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / n;
    let level = mean(&mut predicted.iter().copied());
    let squares: Vec<f64> = residuals.iter().map(|residual| residual * residual).collect();
    let sizes: Vec<f64> = predicted.iter().map(|predicted| (predicted / level).powi(2)).collect();
    let (size, square) = (mean(&mut sizes.iter().copied()), mean(&mut squares.iter().copied()));
    let centred = || sizes.iter().map(|of| of - size);
    let along: f64 = centred().zip(&squares).map(|(size, square)| size * square).sum();
    let mut beta = (along / centred().map(|size| size * size).sum::<f64>().max(1e-300)).max(0.0);
    let mut alpha = square - beta * size;
    if alpha < 0.0 {
        (alpha, beta) = (0.0, square / size);
    }
    let variance = |of: &f64| (alpha + beta * of).max(0.05 * square);
    let mut weights: Vec<f64> = sizes.iter().map(|size| 1.0 / variance(size).sqrt()).collect();
    let last = weights.len().saturating_sub(1);
    for (index, (weight, residual)) in weights.iter_mut().zip(residuals).enumerate() {
        if residual.abs() * *weight > OUTLYING || index == 0 || index == last || !weight.is_finite() {
            *weight = 0.0;
        }
    }
    let mean = mean(&mut weights.iter().copied());
    if mean > 0.0 {
        weights.iter_mut().for_each(|weight| *weight /= mean);
    }
    weights
}

/// The autocovariances of residuals up to a lag.
fn autocovariances(residuals: &[f64], order: usize) -> Vec<f64> {
    let at = |lag: usize| residuals.iter().skip(lag).zip(residuals).map(|(a, b)| a * b).sum();
    (0..=order).map(at).collect()
}

/// The portmanteau statistic of residuals: how far from white they are.
pub(super) fn portmanteau(residuals: &[f64], order: usize) -> f64 {
    let covariances = autocovariances(residuals, order);
    let squares = covariances.iter().skip(1).map(|covariance| (covariance / covariances[0]).powi(2));
    residuals.len() as f64 * squares.sum::<f64>()
}

/// The autoregression of residuals by Yule and Walker, by Levinson's recursion.
pub(super) fn yule_walker(residuals: &[f64], order: usize) -> Vec<f64> {
    let r = autocovariances(residuals, order);
    let mut phi: Vec<f64> = Vec::with_capacity(order);
    let mut error = r[0];
    for lag in 1..=order {
        let predicted: f64 = phi.iter().enumerate().map(|(index, phi)| phi * r[lag - 1 - index]).sum();
        let reflection = (r[lag] - predicted) / error;
        let before = phi.clone();
        phi.iter_mut().zip(before.iter().rev()).for_each(|(phi, mirrored)| *phi -= reflection * mirrored);
        phi.push(reflection);
        error *= 1.0 - reflection * reflection;
    }
    phi
}

/// Residuals less what an autoregression predicts; the first ones, which have too few before them, are left out.
pub(super) fn whitened(residuals: &[f64], phi: &[f64]) -> Vec<f64> {
    let predicted = |index: usize| -> f64 {
        phi.iter().enumerate().map(|(back, phi)| phi * residuals[index - 1 - back]).sum()
    };
    (phi.len()..residuals.len()).map(|index| residuals[index] - predicted(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_autoregression_is_found_and_taken_away() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let mut series = vec![0.0, 0.0];
        for _ in 0..20_000 {
            let last = series.len();
            series.push(0.6 * series[last - 1] - 0.3 * series[last - 2] + uniform());
        }
        let phi = yule_walker(&series, 2);
        assert!((phi[0] - 0.6).abs() < 0.03 && (phi[1] + 0.3).abs() < 0.03, "{phi:?}");
        assert!(portmanteau(&series, 8) > 1000.0 && portmanteau(&whitened(&series, &phi), 8) < 30.0);
    }

    #[test]
    fn outliers_and_both_ends_have_no_weight() {
        let residuals: Vec<f64> = (0..100).map(|i| if i == 50 { 40.0 } else { [-1.0, 1.0][i % 2] }).collect();
        let weights = weights(&residuals, &[10.0; 100]);
        assert_eq!((weights[0], weights[50], weights[99]), (0.0, 0.0, 0.0));
        assert!((weights.iter().sum::<f64>() / 100.0 - 1.0).abs() < 1e-12);
    }
}
