//! `jouletree estimate impact`: what hardware for some hours would use and emit, before it runs.

mod lines;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jouletree_carbon::estimate::{self, Question};

use crate::carbon::{CarbonArgs, WHERE};
use crate::cli::Format;
use crate::page::Look;
use crate::show::look;
use crate::{json, print, tables};

pub const EXAMPLES: &str = "\
Examples:
  jouletree estimate impact --gpu A100 --hours 100 --provider gcp --region europe-west1
      the ML CO2 calculator, unrounded: energy, carbon with its source, water, cost
  jouletree estimate impact --gpu 'H100 SXM' --gpus 64 --hours 24 --utilization 0.8 --country FRA --pue 1.2
  jouletree estimate impact --watts 350 --cpu-watts 120 --hours 12 --country USA --region california --tariff 0.31 --currency USD
  jouletree estimate impact --gpu A100 --hours 100 --provider gcp --compare
      all regions of the provider, the fewest grams first
  jouletree estimate impact --gpu T4 --hours 8 --compare aws,gcp --format csv
  jouletree serve                                  the same as a form in the browser

All of it is predicted. Without a location the carbon is unknown. docs/impact.md has the conventions.";

#[derive(Args)]
pub struct ImpactArgs {
    /// The accelerator, by its name or a part of it: A100, 'V100 SXM2', 'TPUv3'
    #[arg(long, value_name = "NAME", conflicts_with = "watts")]
    pub gpu: Option<String>,
    /// What one accelerator draws, instead of a name
    #[arg(long, value_name = "W")]
    pub watts: Option<f64>,
    /// How many accelerators there are
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub gpus: u32,
    /// For how long they run
    #[arg(long, value_name = "HOURS")]
    pub hours: f64,
    /// The part of their power that accelerators draw on average, from 0 to 1; at 1 the result is an upper bound
    #[arg(long, value_name = "PART", default_value_t = 1.0)]
    pub utilization: f64,
    /// What processors and everything else draw
    #[arg(long, value_name = "W", default_value_t = 0.0)]
    pub cpu_watts: f64,
    /// Compare the regions of the provider, or of these providers, comma-separated; `all` is all of them
    #[arg(long, value_name = "PROVIDERS", num_args = 0..=1, value_delimiter = ',')]
    pub compare: Option<Vec<String>>,
    #[command(flatten)]
    pub carbon: CarbonArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// Runs the command.
pub fn run(arguments: &ImpactArgs) -> Result<ExitCode> {
    let question = Question {
        gpu: arguments.gpu.clone(),
        watts: arguments.watts,
        gpus: arguments.gpus,
        hours: arguments.hours,
        utilization: arguments.utilization,
        cpu_watts: arguments.cpu_watts,
        compare: arguments.compare.clone(),
    };
    let answer = question.answer(&arguments.carbon.context()?)?;
    print(&match arguments.format {
        Format::Json => json::written(&answer)?,
        Format::Csv if answer.regions.is_empty() => tables::csv(&estimate::lines(&answer))?,
        Format::Csv => tables::csv(&answer.regions)?,
        format => lines::page(&answer).written(look(format).unwrap_or(Look::Markdown)),
    })?;
    if answer.carbon.is_none() {
        writeln_stderr!("its carbon is unknown: {WHERE}");
    }
    Ok(ExitCode::SUCCESS)
}
