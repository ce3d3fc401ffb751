//! Rows for programs, as JSON and CSV; `docs/json.md` documents every field.

use jouletree_account::calls::compare::{
    self, Against, Choice, FunctionSummary, Group, MEBIBYTE, ProjectSum, SizeFit, Trend,
};
use jouletree_model::{Joules, Watts};
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
    #[serde(rename = "gross_j")]
    pub gross: Option<Joules>,
    #[serde(rename = "baseline_w")]
    pub baseline: Option<Watts>,
    #[serde(rename = "baseline_sd_w")]
    pub baseline_sd: Option<Watts>,
    pub baseline_n: Option<u64>,
    pub baseline_s: Option<f64>,
    #[serde(rename = "net_j")]
    pub net: Option<Joules>,
    #[serde(rename = "standard_error_j")]
    pub standard_error: Option<Joules>,
    #[serde(rename = "edges_j")]
    pub edges: Option<Joules>,
    #[serde(rename = "resolution_j")]
    pub resolution: Option<Joules>,
    pub below_resolution: Option<String>,
    #[serde(rename = "other_net_j")]
    pub other_net: Option<Joules>,
    #[serde(rename = "inclusive_j")]
    pub inclusive: Option<Joules>,
    #[serde(rename = "exclusive_j")]
    pub exclusive: Option<Joules>,
    pub tail_s: Option<f64>,
    #[serde(rename = "tail_j")]
    pub tail: Option<Joules>,
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
    #[serde(rename = "mean_j")]
    pub mean: Joules,
    #[serde(rename = "median_j")]
    pub median: Joules,
    #[serde(rename = "min_j")]
    pub min: Joules,
    #[serde(rename = "max_j")]
    pub max: Joules,
    #[serde(rename = "sd_j")]
    pub sd: Option<Joules>,
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
    #[serde(rename = "whole_j")]
    pub whole: Joules,
    #[serde(rename = "last_of_name_j")]
    pub last_of_name: Joules,
    #[serde(rename = "all_calls_j")]
    pub all_calls: Joules,
    pub last_of_name_ratio: Option<f64>,
    pub all_calls_ratio: Option<f64>,
    #[serde(rename = "repeated_j")]
    pub repeated: Joules,
    #[serde(rename = "outside_j")]
    pub outside: Joules,
    #[serde(rename = "before_j")]
    pub before: Option<Joules>,
    #[serde(rename = "between_j")]
    pub between: Option<Joules>,
    #[serde(rename = "after_j")]
    pub after: Option<Joules>,
    #[serde(rename = "tails_j")]
    pub tails: Joules,
    #[serde(rename = "whole_tail_j")]
    pub whole_tail: Option<Joules>,
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
    #[serde(rename = "intercept_j")]
    pub intercept: Option<Joules>,
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
            mean: Joules(summary.net.mean),
            median: Joules(summary.net.median),
            min: Joules(summary.net.min),
            max: Joules(summary.net.max),
            sd: summary.net.deviation.map(Joules),
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
            intercept: line.map(|line| Joules(line.intercept)),
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
            whole: sum.whole,
            last_of_name: sum.last_of_name,
            all_calls: sum.all_calls,
            last_of_name_ratio: sum.ratio(Choice::LastOfName),
            all_calls_ratio: sum.ratio(Choice::All),
            repeated: sum.repeated(),
            outside: sum.outside(),
            before: None,
            between: None,
            after: None,
            tails: sum.tails,
            whole_tail: Some(sum.whole_tail),
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
            whole: nested.total,
            last_of_name: whole.last_of_name,
            all_calls: inside,
            last_of_name_ratio: ratio(whole.last_of_name.0),
            all_calls_ratio: ratio(inside.0),
            repeated: inside - whole.last_of_name,
            outside: nested.outside,
            before: Some(nested.before),
            between: Some(nested.outside - nested.before - nested.after),
            after: Some(nested.after),
            tails: whole.tails,
            whole_tail: None,
            calls: nested.exclusive.len() as f64,
            without_energy: None,
            shapiro_p: None,
            wilcoxon_p: None,
            pearson_r: None,
            pearson_p: None,
        }
    }
}
