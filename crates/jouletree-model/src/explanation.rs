//! What attribution did on a device and why, for people and programs.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Device, Joules, Nanos, Watts};

/// How the energy of one device was attributed, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The device.
    pub device: Device,
    /// The policy that was used.
    pub used: String,
    /// Why shares are equal; `None` where powers were estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was learned; `None` where it did not come to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
}

/// What was learned about a device and its sensor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// How the sensor sees the device.
    pub sensor: SensorFound,
    /// The readings that were fitted.
    pub readings: usize,
    /// The operations that have a power of their own.
    pub own_powers: usize,
    /// The operations that share a power with others of their role or type, as they ran too seldom or there are too many.
    pub shared_powers: usize,
    /// By how much powers differ, as relative standard deviations.
    pub spread: PowerSpread,
    /// The power of the idle device while the program ran.
    pub idle_w: Watts,
    /// The noise of a reading, relative to a mean reading.
    pub noise: f64,
    /// What is left of readings when powers are taken away.
    pub residuals: Residuals,
    /// How well readings are predicted that were left out.
    pub left_out: LeftOut,
}

/// How a sensor sees a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SensorFound {
    /// `ideal`, `ticks`, `low-pass` or `part-time`.
    pub shape: String,
    /// The period of its ticks, or the time constant of its low-pass, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
    /// The part of the time that it sees.
    pub duty: f64,
    /// The usual length of a reading.
    pub reading_s: f64,
    /// By how much readings are late.
    pub lag_s: f64,
    /// The standard error of the lag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_error_s: Option<f64>,
    /// By how much the clocks drift, in parts per million; zero where no drift is significant.
    pub drift_ppm: f64,
}

/// By how much powers differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerSpread {
    /// Between types of operations.
    pub types: f64,
    /// Between roles of one type.
    pub roles: f64,
    /// Between operations of one role.
    pub operations: f64,
}

/// The structure of residuals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Residuals {
    /// The portmanteau statistic: above 30 they are not white.
    pub portmanteau: f64,
    /// The autoregression that was taken away; empty where they are white.
    pub autoregression: Vec<f64>,
}

/// How well left-out readings are predicted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The error of estimated powers: root mean square.
    pub regressed_j: Joules,
    /// That of equal shares.
    pub equal_j: Joules,
    /// The mean gain in squared error over its standard error.
    pub t: f64,
}

impl Explanation {
    /// Whether powers were estimated.
    pub fn is_regressed(&self) -> bool {
        self.reason.is_none()
    }
}

impl fmt::Display for Explanation {
    /// Some lines for people, without a newline at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.device, self.used)?;
        if let Some(reason) = &self.reason {
            write!(f, ": {reason}")?;
        }
        let Some(learned) = &self.learned else { return Ok(()) };
        let Learned { sensor, spread, residuals, left_out, .. } = learned;
        let percent = |part: f64| format!("{:.1} %", part * 100.0);
        write!(f, "\n  sensor       {sensor}")?;
        write!(
            f,
            "\n  identified   {} powers of single operations; {} operations share one; idle {:.1} W",
            learned.own_powers, learned.shared_powers, learned.idle_w.0
        )?;
        write!(
            f,
            "\n  powers differ by {} between types, {} between roles, {} between operations",
            percent(spread.types),
            percent(spread.roles),
            percent(spread.operations)
        )?;
        let (regressed, equal) = (left_out.regressed_j.0, left_out.equal_j.0);
        let gain = if equal > 0.0 { 1.0 - regressed / equal } else { 0.0 };
        write!(
            f,
            "\n  left out     readings are predicted {} better than by equal shares ({regressed:.3} J against {equal:.3} J, t = {:.1})",
            percent(gain),
            left_out.t
        )?;
        let structure = match residuals.autoregression.as_slice() {
            [] => "white".to_owned(),
            [first, ..] => format!("coloured, first coefficient {first:.2}"),
        };
        write!(
            f,
            "\n  residuals    {structure} (portmanteau {:.0}); noise {} of a reading; {} readings",
            residuals.portmanteau,
            percent(learned.noise),
            learned.readings
        )
    }
}

impl fmt::Display for SensorFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
        write!(f, "{}", self.shape)?;
        match self.time_s {
            Some(time) => write!(f, " of {}", milliseconds(time))?,
            None if self.duty < 1.0 => write!(f, ", sees {:.0} % of the time", self.duty * 100.0)?,
            None => {}
        }
        write!(f, "; a reading every {}; late by {}", milliseconds(self.reading_s), milliseconds(self.lag_s))?;
        if let Some(error) = self.lag_error_s {
            write!(f, " ± {}", milliseconds(error))?;
        }
        if self.drift_ppm != 0.0 {
            write!(f, ", clocks drift by {:.1} ppm", self.drift_ppm)?;
        }
        Ok(())
    }
}

/// The lag as a time.
impl SensorFound {
    /// By how much readings are late.
    pub fn lag(&self) -> Nanos {
        Nanos((self.lag_s * 1e9).round() as i64)
    }
}
