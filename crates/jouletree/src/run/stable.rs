//! What rest is, if calls wait for it: a rule, and what is changed of it.

use clap::{Args, ValueEnum};
use jouletree_account::calls::{IdleBand, Limits, StabilityLimits};
use jouletree_model::{Nanos, Watts};

#[derive(Args, Default)]
pub struct StableArgs {
    /// Hold each recorded call back until the machine is stable: `idle` wants the power steady and at its idle level, `fecom`
    /// waits as FECoM does, steady alone, a minute and more for each call
    #[arg(long, value_name = "RULE", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "idle")]
    pub stable: Option<Rule>,
    /// How long rest is waited for before a call, in seconds
    #[arg(long, value_name = "S", requires = "stable", value_parser = quantity)]
    pub stable_timeout: Option<f64>,
    /// How often a wait that was in vain is begun again; FECoM does so for ever
    #[arg(long, value_name = "N", requires = "stable")]
    pub stable_retries: Option<u32>,
    /// Calls within so many seconds after a stable one share its wait
    #[arg(long, value_name = "S", requires = "stable", value_parser = quantity)]
    pub stable_share: Option<f64>,
    /// By how much the power may vary, in percent of its mean
    #[arg(long, value_name = "PERCENT", requires = "stable", value_parser = quantity)]
    pub stable_variation: Option<f64>,
    /// How far the power may be from its idle level, in watts
    #[arg(long, value_name = "W", requires = "stable", value_parser = quantity)]
    pub stable_band: Option<f64>,
    /// How warm processors may be, in °C
    #[arg(long, value_name = "C", requires = "stable", value_parser = quantity)]
    pub stable_temperature: Option<f64>,
    /// How warm graphics processors may be, in °C
    #[arg(long, value_name = "C", requires = "stable", value_parser = quantity)]
    pub stable_gpu_temperature: Option<f64>,
}

/// What rest is.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rule {
    /// Steady, cool, and at the idle level
    Idle,
    /// Steady and cool, by FECoM's limits and time-outs, with at most three retries by default
    Fecom,
}

impl StableArgs {
    /// The conditions of a stable machine; `None` when calls are not held back.
    pub fn limits(&self) -> Option<StabilityLimits> {
        let mut limits = match self.stable? {
            Rule::Idle => StabilityLimits::default(),
            // No wait is endless.
            Rule::Fecom => StabilityLimits { retries: Some(3), ..StabilityLimits::fecom() },
        };
        if let Some(seconds) = self.stable_timeout {
            limits.time_out = nanos(seconds);
            limits.every = Nanos(limits.every.0.min(limits.time_out.0));
        }
        limits.retries = self.stable_retries.or(limits.retries);
        limits.shared_for = self.stable_share.map_or(limits.shared_for, nanos);
        let absolute = self.stable_band.map(|watts| IdleBand { relative: 0.0, absolute: Watts(watts) });
        let changed = |of: Limits, celsius: Option<f64>| Limits {
            celsius: celsius.or(of.celsius),
            variation: self.stable_variation.map(|percent| percent / 100.0).or(of.variation),
            idle: absolute.or(of.idle),
        };
        limits.cpu = changed(limits.cpu, self.stable_temperature);
        limits.dram = changed(limits.dram, None);
        limits.gpu = changed(limits.gpu, self.stable_gpu_temperature);
        Some(limits)
    }
}

fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as i64)
}

fn quantity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e6).contains(&value) => Ok(value),
        _ => Err("a number from 0 to 1e6 is expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_taken_as_it_is_or_changed() {
        assert_eq!(StableArgs::default().limits(), None);
        let idle = StableArgs { stable: Some(Rule::Idle), ..StableArgs::default() };
        assert_eq!(idle.limits(), Some(StabilityLimits::default()));
        let fecom = StableArgs { stable: Some(Rule::Fecom), ..StableArgs::default() };
        assert_eq!(fecom.limits(), Some(StabilityLimits { retries: Some(3), ..StabilityLimits::fecom() }));
        let changed = StableArgs {
            stable: Some(Rule::Idle),
            stable_timeout: Some(0.5),
            stable_retries: Some(7),
            stable_share: Some(60.0),
            stable_variation: Some(4.0),
            stable_band: Some(1.5),
            stable_temperature: Some(70.0),
            stable_gpu_temperature: Some(50.0),
        };
        let limits = changed.limits().unwrap();
        let band = Some(IdleBand { relative: 0.0, absolute: Watts(1.5) });
        let of = |celsius| Limits { celsius, variation: Some(0.04), idle: band };
        assert_eq!((limits.cpu, limits.dram, limits.gpu), (of(Some(70.0)), of(None), of(Some(50.0))));
        assert_eq!((limits.time_out, limits.every), (Nanos(500_000_000), Nanos(500_000_000)));
        assert_eq!((limits.retries, limits.shared_for), (Some(7), Nanos(60_000_000_000)));
    }
}
