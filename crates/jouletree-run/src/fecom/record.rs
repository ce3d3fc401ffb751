//! A call as FECoM recorded it.

use jouletree_model::{Device, DeviceClass, Nanos, SampledPower};
use serde::Deserialize;
use serde_json::Number;

/// What a call is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FecomKind {
    /// The calls of a program, one by one.
    Method,
    /// A whole program, as one call.
    Project,
    /// A call with inputs of growing size.
    Size,
}

/// A call with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct FecomRecord {
    /// What it is part of.
    pub kind: FecomKind,
    /// The program: `images/cnn`.
    pub project: String,
    /// Which run of the program.
    pub experiment: u32,
    /// Which call of the run, counted from zero.
    pub call: u32,
    /// What was called, as FECoM names it.
    pub function: String,
    /// When.
    pub times: FecomTimes,
    /// With which settings.
    pub settings: FecomSettings,
    /// How large its input was.
    pub sizes: FecomSizes,
    /// What the samplers printed, from before the call to after it.
    pub sampled: Vec<SampledPower>,
}

/// The times of a call: its own in nanoseconds since the epoch, those of samplers on their own clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FecomTimes {
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// The newest line of `perf` then.
    pub start_perf: Nanos,
    /// And at the end.
    pub end_perf: Nanos,
    /// When `perf` was started.
    pub began_perf: Nanos,
    /// The newest line of `nvidia-smi` when it began.
    pub start_nvidia: Nanos,
    /// And at the end.
    pub end_nvidia: Nanos,
    /// When `nvidia-smi` was started.
    pub began_nvidia: Nanos,
}

/// The settings that matter to energies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FecomSettings {
    /// How far apart samples should be.
    pub interval: Nanos,
    /// How long before a call its baseline begins.
    pub baseline: Nanos,
}

/// The lengths of the pickles of a call's inputs, in bytes; `None` for what is not there or cannot be pickled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FecomSizes {
    /// Of positional arguments.
    pub args: Option<u64>,
    /// Of keyword arguments.
    pub kwargs: Option<u64>,
    /// Of the object whose method it is.
    pub object: Option<u64>,
}

impl FecomSizes {
    /// What the study calls the size of the input: arguments without the object.
    pub fn input(&self) -> Option<u64> {
        match (self.args, self.kwargs) {
            (None, None) => None,
            (args, kwargs) => Some(args.unwrap_or(0).saturating_add(kwargs.unwrap_or(0))),
        }
    }
}

/// The device that FECoM calls by this name.
pub(super) fn device(name: &str) -> Option<Device> {
    let class = match name {
        "cpu" => DeviceClass::Cpu,
        "ram" => DeviceClass::Dram,
        "gpu" => DeviceClass::Gpu,
        _ => return None,
    };
    Some(Device::new(class, 0))
}

/// A number of seconds as time, if there is one that fits.
pub(super) fn seconds(seconds: f64) -> Option<Nanos> {
    (seconds.abs() < 9e9).then(|| Nanos((seconds * 1e9).round() as i64))
}

/// The part of a record that both layouts have.
#[derive(Deserialize)]
#[serde(expecting = "an object with the times of a call")]
pub(super) struct RawTimes {
    start_time_execution: Number,
    end_time_execution: Number,
    start_time_perf: f64,
    end_time_perf: f64,
    sys_start_time_perf: Number,
    start_time_nvidia: f64,
    end_time_nvidia: f64,
    sys_start_time_nvidia: Number,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with FECoM's settings")]
pub(super) struct RawSettings {
    measurement_interval_s: f64,
    wait_per_stable_check_loop_s: f64,
}

#[derive(Deserialize, Default)]
#[serde(expecting = "an object with the sizes of inputs")]
pub(super) struct RawSizes {
    #[serde(default)]
    args_size: Option<u64>,
    #[serde(default)]
    kwargs_size: Option<u64>,
    #[serde(default)]
    object_size: Option<u64>,
}

impl RawTimes {
    pub(super) fn understood(&self) -> Result<FecomTimes, String> {
        let wrong = |name: &str| format!("`times.{name}` is no time");
        let epoch = |name: &str, number: &Number| {
            let nanos =
                number.as_i64().or_else(|| number.as_f64().filter(|ns| ns.abs() < 9e18).map(|ns| ns as i64));
            nanos.map(Nanos).ok_or_else(|| wrong(name))
        };
        let own = |name: &str, value: f64| seconds(value).ok_or_else(|| wrong(name));
        Ok(FecomTimes {
            start: epoch("start_time_execution", &self.start_time_execution)?,
            end: epoch("end_time_execution", &self.end_time_execution)?,
            start_perf: own("start_time_perf", self.start_time_perf)?,
            end_perf: own("end_time_perf", self.end_time_perf)?,
            began_perf: epoch("sys_start_time_perf", &self.sys_start_time_perf)?,
            start_nvidia: own("start_time_nvidia", self.start_time_nvidia)?,
            end_nvidia: own("end_time_nvidia", self.end_time_nvidia)?,
            began_nvidia: epoch("sys_start_time_nvidia", &self.sys_start_time_nvidia)?,
        })
    }
}

impl RawSettings {
    pub(super) fn understood(&self) -> Result<FecomSettings, String> {
        let time = |name: &str, value: f64| {
            let time = Some(value).filter(|value| (0.001..=1e6).contains(value)).and_then(seconds);
            time.ok_or_else(|| format!("`settings.{name}` is not between 0.001 and 1000000 seconds"))
        };
        Ok(FecomSettings {
            interval: time("measurement_interval_s", self.measurement_interval_s)?,
            baseline: time("wait_per_stable_check_loop_s", self.wait_per_stable_check_loop_s)?,
        })
    }
}

impl From<RawSizes> for FecomSizes {
    fn from(raw: RawSizes) -> FecomSizes {
        FecomSizes { args: raw.args_size, kwargs: raw.kwargs_size, object: raw.object_size }
    }
}
