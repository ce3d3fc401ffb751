//! Scripts: what the stand-in plays, written in TOML. Times count from the script's start.

use serde::{Deserialize, Serialize};

use crate::Power;

/// What a machine with GPUs does.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The start by the monotonic clock, in nanoseconds; when it is not given, the first `nvmlInit`.
    pub start_mono_ns: Option<i64>,
    /// What `nvmlInit` answers instead of success, as NVML's number: 9 when the driver is not loaded.
    pub init_error: Option<u32>,
    /// The GPUs, in the order of their numbers.
    pub gpu: Vec<Gpu>,
}

/// One GPU and what goes wrong with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// NVML's number of its architecture: 4 Pascal, 5 Volta, 7 Ampere, 9 Hopper.
    pub architecture: u32,
    /// The power that it draws.
    pub power: Power,
    /// Whether it counts energy; it answers `NotSupported` otherwise.
    pub energy_counter: bool,
    /// Whether field 186, instant power, is there.
    pub instant_power: bool,
    /// Whether `nvmlDeviceGetPowerUsage` is there.
    pub power_usage: bool,
    /// How often counter and power are updated.
    pub update_ms: f64,
    /// The window that an instant power is the mean of; 0 for the power at the update itself.
    pub window_ms: f64,
    /// The window that `nvmlDeviceGetPowerUsage` and field 185 are the mean of.
    pub average_ms: f64,
    /// The power limit that is enforced.
    pub limit_watts: f64,
    /// From when to when the counter does not change, to catch up afterwards.
    pub stall_s: Option<(f64, f64)>,
    /// From when every call answers `GpuLost`.
    pub lost_at_s: Option<f64>,
    /// From when it is no longer among the GPUs that are counted.
    pub gone_at_s: Option<f64>,
    /// When calls do not return.
    pub hang: Vec<Hang>,
    /// Whether it is cut into instances.
    pub mig: bool,
    /// The processes on it.
    pub process: Vec<Busy>,
}

/// A stretch of time in which calls do not return before its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hang {
    /// Its beginning.
    pub at_s: f64,
    /// Its length; for ever when it is not given.
    pub for_ms: Option<f64>,
}

/// A process that uses a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Busy {
    /// Its number.
    pub pid: u32,
    /// The percentage of time that it keeps the GPU's processors busy.
    pub sm: u32,
}

impl Default for Gpu {
    fn default() -> Gpu {
        Gpu {
            name: "Fake GPU (no hardware)".to_owned(),
            architecture: 5,
            power: Power::Constant { watts: 100.0 },
            energy_counter: true,
            instant_power: true,
            power_usage: true,
            update_ms: 20.0,
            window_ms: 0.0,
            average_ms: 0.0,
            limit_watts: 300.0,
            stall_s: None,
            lost_at_s: None,
            gone_at_s: None,
            hang: Vec::new(),
            mig: false,
            process: Vec::new(),
        }
    }
}

impl Gpu {
    /// The same GPU without a counter of energy, as those before Volta.
    pub fn without_counter(self) -> Gpu {
        Gpu { energy_counter: false, ..self }
    }

    /// The last update at or before an instant.
    pub fn updated(&self, at: f64) -> f64 {
        let period = self.update_ms / 1e3;
        (at / period).floor() * period
    }

    /// What the counter of energy says at an instant, in millijoules.
    pub fn counted_millijoules(&self, at: f64) -> u64 {
        let stalled = self.stall_s.is_some_and(|(start, end)| at >= start && at < end);
        let shown = match self.stall_s {
            Some((start, _)) if stalled => self.updated(start),
            _ => self.updated(at),
        };
        // A driver that was loaded long before.
        let before = 123_456_789.0;
        (before + self.power.joules(0.0, shown) * 1e3) as u64
    }

    /// What the instant power says at an instant, in milliwatts.
    pub fn instant_milliwatts(&self, at: f64) -> u32 {
        self.mean_milliwatts(at, self.window_ms / 1e3)
    }

    /// What the average power says at an instant, in milliwatts.
    pub fn average_milliwatts(&self, at: f64) -> u32 {
        self.mean_milliwatts(at, self.average_ms / 1e3)
    }

    fn mean_milliwatts(&self, at: f64, window: f64) -> u32 {
        let shown = self.updated(at);
        let watts =
            if window > 0.0 { self.power.joules(shown - window, shown) / window } else { self.power.watts(shown) };
        (watts * 1e3).round() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_survives_being_written() {
        let gpu = Gpu {
            power: Power::Ramp { from: 1.0, to: 2.0, seconds: 3.0 },
            stall_s: Some((0.5, 1.0)),
            hang: vec![Hang { at_s: 1.0, for_ms: Some(200.0) }, Hang { at_s: 2.0, for_ms: None }],
            process: vec![Busy { pid: 7, sm: 30 }],
            ..Gpu::default()
        };
        let script = Script { start_mono_ns: Some(5), init_error: None, gpu: vec![gpu] };
        assert_eq!(toml::from_str::<Script>(&toml::to_string(&script).unwrap()).unwrap(), script);
    }

    #[test]
    fn a_misspelt_script_is_refused() {
        assert!(toml::from_str::<Script>("[[gpu]]\nupdate_ns = 5").is_err());
    }

    #[test]
    fn readings_stand_still_between_updates_and_average_over_their_window() {
        let power = Power::Ramp { from: 0.0, to: 100.0, seconds: 1.0 };
        let gpu = Gpu { power, update_ms: 100.0, window_ms: 25.0, average_ms: 1000.0, ..Gpu::default() };
        assert_eq!(gpu.instant_milliwatts(0.5), gpu.instant_milliwatts(0.599));
        assert_eq!(gpu.instant_milliwatts(0.55), 48_750);
        assert_eq!(gpu.average_milliwatts(1.05), 50_000);
        assert_eq!(gpu.counted_millijoules(0.55) - gpu.counted_millijoules(0.0), 12_500);
    }

    #[test]
    fn a_stalled_counter_catches_up() {
        let gpu = Gpu { stall_s: Some((0.1, 0.5)), ..Gpu::default() };
        assert_eq!(gpu.counted_millijoules(0.11), gpu.counted_millijoules(0.49));
        assert_eq!(gpu.counted_millijoules(0.5) - gpu.counted_millijoules(0.0), 50_000);
    }
}
