//! The samples of experiment-impact-tracker: lines of JSON, each with the whole power and the part that is the program's.

use serde::Serialize;

/// One sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Watts of processors and memory.
    pub rapl_power_draw_absolute: f64,
    /// The part of them that is the program's.
    pub rapl_estimated_attributable_power_draw: f64,
    /// Watts of GPUs.
    pub nvidia_draw_absolute: f64,
    /// The part of them that is the program's.
    pub nvidia_estimated_attributable_power_draw: f64,
    /// The CPUs that the program kept busy, as `top` counts them: 2.5 is two and a half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absolute_cpu_utilization: Option<f64>,
    /// The program's part of all that kept CPUs busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_relative_cpu_utilization: Option<f64>,
    /// Bytes of memory that the program holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absolute_mem_usage: Option<f64>,
    /// Their part of all memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absolute_mem_percent_usage: Option<f64>,
    /// Their part of the memory that is in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_mem_usage: Option<f64>,
    /// Grams per kilowatt-hour; null where not known.
    pub realtime_carbon_intensity: Option<f64>,
    /// How the watts came to be.
    pub kind: String,
}

/// The samples as lines.
pub fn lines(samples: &[Sample]) -> String {
    let line = |sample: &Sample| serde_json::to_string(sample).map(|line| line + "\n").unwrap_or_default();
    samples.iter().map(line).collect()
}
