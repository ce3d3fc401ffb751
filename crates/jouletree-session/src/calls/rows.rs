//! Rows for programs, as JSON and CSV; `docs/json.md` documents every field.

use jouletree_account::calls::compare::{
    self, Against, Choice, FunctionSummary, Group, MEBIBYTE, ProjectSum, SizeFit, Trend,
};
use serde::Serialize;

use super::measured::{Measured, RunWhole};

/// A call on a device.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct CallRow {
    pub project: String,
    pub run: u32,
    pub call: u32,
    pub function: String,
    pub site: Option<String>,
    pub number: Option<u64>,
    pub thread: Option<u64>,
    pub parent: Option<u64>,
    pub device: String,
    /// Whose energy it is: that of the process `tree`, or all of the `device`.
    pub energy: &'static str,
    pub duration_s: f64,
    pub samples: u64,
    pub gross_j: Option<f64>,
    pub baseline_w: Option<f64>,
    pub baseline_sd_w: Option<f64>,
    pub baseline_n: Option<u64>,
    pub baseline_s: Option<f64>,
    pub net_j: Option<f64>,
    pub standard_error_j: Option<f64>,
    pub edges_j: Option<f64>,
    pub resolution_j: Option<f64>,
    pub below_resolution: Option<String>,
    pub other_net_j: Option<f64>,
    pub inclusive_j: Option<f64>,
    pub exclusive_j: Option<f64>,
    pub tail_s: Option<f64>,
    pub tail_j: Option<f64>,
    pub tail_cut: Option<bool>,
    pub input_bytes: Option<u64>,
    pub result_bytes: Option<u64>,
    pub shapes: Option<String>,
    pub waited_s: Option<f64>,
    pub stability: Option<String>,
}

/// A function on a device.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct FunctionRow {
    pub project: String,
    pub function: String,
    pub device: String,
    pub runs: usize,
    pub calls: usize,
    pub mean_j: f64,
    pub median_j: f64,
    pub min_j: f64,
    pub max_j: f64,
    pub sd_j: Option<f64>,
    pub mean_s: f64,
    pub input_bytes: Option<f64>,
}

/// A program on a device.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct ProjectRow {
    /// `None` for all programs together.
    pub project: Option<String>,
    pub device: String,
    pub energy: &'static str,
    pub whole_j: f64,
    pub last_of_name_j: f64,
    pub all_calls_j: f64,
    pub last_of_name_ratio: Option<f64>,
    pub all_calls_ratio: Option<f64>,
    pub repeated_j: f64,
    pub outside_j: f64,
    pub before_j: Option<f64>,
    pub between_j: Option<f64>,
    pub after_j: Option<f64>,
    pub tails_j: f64,
    pub whole_tail_j: Option<f64>,
    pub calls: f64,
    pub without_energy: Option<f64>,
    pub shapiro_p: Option<f64>,
    pub wilcoxon_p: Option<f64>,
    pub pearson_r: Option<f64>,
    pub pearson_p: Option<f64>,
}

/// Energy against size.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct SizeRow {
    pub project: String,
    pub function: String,
    pub device: String,
    pub calls: usize,
    pub with_energy: usize,
    pub steps: usize,
    pub least_mib: Option<f64>,
    pub most_mib: Option<f64>,
    pub slope_j_per_mib: Option<f64>,
    pub slope_low: Option<f64>,
    pub slope_high: Option<f64>,
    pub intercept_j: Option<f64>,
    pub r: Option<f64>,
    pub p: Option<f64>,
    pub problem: Option<String>,
}

/// Energies of many functions against something.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct TrendRow {
    pub device: String,
    pub against: &'static str,
    pub functions: &'static str,
    pub points: usize,
    pub slope: Option<f64>,
    pub slope_low: Option<f64>,
    pub slope_high: Option<f64>,
    pub slope_unit: &'static str,
    pub r: Option<f64>,
    pub p: Option<f64>,
    pub problem: Option<String>,
}

impl From<&Trend> for TrendRow {
    fn from(trend: &Trend) -> TrendRow {
        let line = trend.line.as_ref().ok();
        let (against, slope_unit) = match trend.against {
            Against::Time => ("time", "W"),
            Against::Size => ("size", "J/MiB"),
        };
        TrendRow {
            device: trend.device.to_string(),
            against,
            functions: match trend.group {
                Group::All => "all",
                Group::Long => "over 1 s",
                Group::Short => "up to 1 s",
                Group::Large => "over 1 MiB",
                Group::Small => "up to 1 MiB",
                Group::Steps => "all, each size",
            },
            points: trend.count,
            slope: line.map(|line| line.slope),
            slope_low: line.and_then(|line| line.slope_interval).map(|(low, _)| low),
            slope_high: line.and_then(|line| line.slope_interval).map(|(_, high)| high),
            slope_unit,
            r: line.and_then(|line| line.r),
            p: line.and_then(|line| line.p),
            problem: trend.line.as_ref().err().map(ToString::to_string),
        }
    }
}

impl From<&FunctionSummary> for FunctionRow {
    fn from(summary: &FunctionSummary) -> FunctionRow {
        FunctionRow {
            project: summary.project.to_string(),
            function: summary.function.to_string(),
            device: summary.device.to_string(),
            runs: summary.runs,
            calls: summary.net.count,
            mean_j: summary.net.mean,
            median_j: summary.net.median,
            min_j: summary.net.min,
            max_j: summary.net.max,
            sd_j: summary.net.deviation,
            mean_s: summary.seconds.mean,
            input_bytes: summary.input_bytes,
        }
    }
}

impl From<&SizeFit> for SizeRow {
    fn from(fit: &SizeFit) -> SizeRow {
        let line = fit.line.as_ref().ok();
        let sizes = || fit.points.iter().map(|(bytes, _)| bytes / MEBIBYTE);
        SizeRow {
            project: fit.project.to_string(),
            function: fit.function.to_string(),
            device: fit.device.to_string(),
            calls: fit.calls,
            with_energy: fit.with_energy,
            steps: fit.points.len(),
            least_mib: sizes().reduce(f64::min),
            most_mib: sizes().reduce(f64::max),
            slope_j_per_mib: line.map(|line| line.slope),
            slope_low: line.and_then(|line| line.slope_interval).map(|(low, _)| low),
            slope_high: line.and_then(|line| line.slope_interval).map(|(_, high)| high),
            intercept_j: line.map(|line| line.intercept),
            r: line.and_then(|line| line.r),
            p: line.and_then(|line| line.p),
            problem: fit.line.as_ref().err().map(ToString::to_string),
        }
    }
}

/// Programs against their calls: those of FECoM by net energy, with its tests of all of them; runs by all energy.
pub fn project_rows(measured: &Measured, choice: Choice) -> Vec<ProjectRow> {
    let sums = compare::projects(&measured.calls(), &measured.projects());
    let tests = compare::project_tests(&sums, choice);
    let mut rows: Vec<ProjectRow> = sums
        .iter()
        .map(|sum| {
            let tests = tests.iter().find(|tests| sum.project.is_none() && tests.device == sum.device);
            let correlation = tests.and_then(|tests| tests.correlation.ok());
            ProjectRow {
                shapiro_p: tests.and_then(|tests| tests.normality.ok()).map(|normality| normality.p),
                wilcoxon_p: tests.and_then(|tests| tests.larger.ok()).map(|larger| larger.p),
                pearson_r: correlation.map(|correlation| correlation.r),
                pearson_p: correlation.map(|correlation| correlation.p),
                ..ProjectRow::from(sum)
            }
        })
        .collect();
    rows.extend(measured.wholes.iter().map(ProjectRow::from));
    rows
}

impl From<&ProjectSum> for ProjectRow {
    fn from(sum: &ProjectSum) -> ProjectRow {
        ProjectRow {
            project: sum.project.as_ref().map(ToString::to_string),
            device: sum.device.to_string(),
            energy: "net",
            whole_j: sum.whole.0,
            last_of_name_j: sum.last_of_name.0,
            all_calls_j: sum.all_calls.0,
            last_of_name_ratio: sum.ratio(Choice::LastOfName),
            all_calls_ratio: sum.ratio(Choice::All),
            repeated_j: sum.repeated().0,
            outside_j: sum.outside().0,
            before_j: None,
            between_j: None,
            after_j: None,
            tails_j: sum.tails.0,
            whole_tail_j: Some(sum.whole_tail.0),
            calls: sum.calls,
            without_energy: Some(sum.without_energy),
            shapiro_p: None,
            wilcoxon_p: None,
            pearson_r: None,
            pearson_p: None,
        }
    }
}

impl From<&RunWhole> for ProjectRow {
    fn from(whole: &RunWhole) -> ProjectRow {
        let nested = &whole.nested;
        let inside = nested.total - nested.outside;
        let ratio = |part: f64| Some(part / nested.total.0).filter(|ratio| ratio.is_finite());
        ProjectRow {
            project: Some(whole.project.to_string()),
            device: whole.device.to_string(),
            energy: "gross",
            whole_j: nested.total.0,
            last_of_name_j: whole.last_of_name.0,
            all_calls_j: inside.0,
            last_of_name_ratio: ratio(whole.last_of_name.0),
            all_calls_ratio: ratio(inside.0),
            repeated_j: (inside - whole.last_of_name).0,
            outside_j: nested.outside.0,
            before_j: Some(nested.before.0),
            between_j: Some((nested.outside - nested.before - nested.after).0),
            after_j: Some(nested.after.0),
            tails_j: whole.tails.0,
            whole_tail_j: None,
            calls: nested.exclusive.len() as f64,
            without_energy: None,
            shapiro_p: None,
            wilcoxon_p: None,
            pearson_r: None,
            pearson_p: None,
        }
    }
}
