//! Energy against the size of the input: the line of least squares, and how sure its slope is.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::hypothesis::{Moments, TestError, two_sided};

/// A line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// How many points it is of.
    pub count: usize,
    /// What one more of x adds.
    pub slope: f64,
    /// The ends of the slope's 95 % interval; `None` with two points.
    pub slope_interval: Option<(f64, f64)>,
    /// Where it meets x = 0.
    pub intercept: f64,
    /// Pearson's correlation; `None` when all y are the same.
    pub r: Option<f64>,
    /// How likely a slope as steep, of either sign, is by chance; `None` likewise.
    pub p: Option<f64>,
}

/// The line of least squares through points of different x.
pub fn line(points: &[(f64, f64)]) -> Result<Line, TestError> {
    let Moments { count, x, y, xx, yy, xy } = Moments::of(points)?;
    if xx <= 0.0 {
        return Err(TestError::Constant);
    }
    let slope = xy / xx;
    let intercept = y - slope * x;
    let freedom = count as f64 - 2.0;
    let left: f64 = points.iter().map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
    let error = (left / freedom / xx).sqrt();
    let quantile = StudentsT::new(0.0, 1.0, freedom).ok().map(|student| student.inverse_cdf(0.975));
    let r = (yy > 0.0).then(|| (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0));
    Ok(Line {
        count,
        slope,
        slope_interval: quantile.map(|quantile| (slope - quantile * error, slope + quantile * error)),
        intercept,
        r,
        p: r.map(|_| two_sided(slope / error, freedom)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_scipy() {
        // scipy.stats.linregress of SciPy 1.17; the interval with scipy.stats.t.ppf.
        let points = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8), (5.0, 9.0), (7.5, 11.0)];
        let found = line(&points).unwrap();
        let (low, high) = found.slope_interval.unwrap();
        let pairs = [
            (found.slope, 1.384186046511628),
            (found.intercept, 1.4759689922480623),
            (low, 0.9407940116336722),
            (high, 1.8275780813895839),
            (found.r.unwrap(), 0.9743961387559381),
            (found.p.unwrap(), 0.0009749441615778563),
        ];
        for (found, wanted) in pairs {
            assert!((found / wanted - 1.0_f64).abs() < 1e-9, "{found} {wanted}");
        }
    }

    #[test]
    fn an_exact_line_is_found_exactly() {
        let found = line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
        assert_eq!((found.slope, found.intercept, found.slope_interval), (2.0, 1.0, Some((2.0, 2.0))));
        let two = line(&[(0.0, 1.0), (1.0, 3.0)]).unwrap();
        assert_eq!((two.slope, two.slope_interval, two.p), (2.0, None, Some(1.0)));
        let flat = line(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]).unwrap();
        assert_eq!((flat.slope, flat.r, flat.p), (0.0, None, None));
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0)]), Err(TestError::Constant));
    }
}
