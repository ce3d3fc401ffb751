//! The flags for an OpenTelemetry collector.

use std::env;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use jouletree_live::otlp::{Headers, PushSettings, Target};

use super::HEADING;

#[derive(Args, Default)]
pub struct OtlpArgs {
    /// Send metrics to this OpenTelemetry collector, such as http://localhost:4318 (OTLP over HTTP, protocol buffers).
    /// OTEL_EXPORTER_OTLP_HEADERS is sent with them
    #[arg(long, value_name = "URL", help_heading = HEADING)]
    otlp: Option<Target>,
    /// Seconds between posts; 10 by default
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "otlp",
        value_parser = interval,
        help_heading = HEADING
    )]
    otlp_interval: Option<Duration>,
}

const USUAL_INTERVAL: Duration = Duration::from_secs(10);

impl OtlpArgs {
    /// What is sent where, if anything is.
    pub fn settings(&self) -> Result<Option<PushSettings>> {
        let Some(target) = self.otlp.clone() else { return Ok(None) };
        let headers = env::var(Headers::VARIABLE).unwrap_or_default().parse()?;
        let interval = self.otlp_interval.unwrap_or(USUAL_INTERVAL);
        Ok(Some(PushSettings { target, headers, interval }))
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.1..=86_400.0).contains(&value) => Ok(Duration::from_secs_f64(value)),
        _ => Err("a number of seconds from 0.1 to 86400 is expected".to_owned()),
    }
}
