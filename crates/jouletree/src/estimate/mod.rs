//! `jouletree estimate`: what a model would use before it runs, by theory, from
//! measured layers or from the power of hardware. Nothing here is measured,
//! and everything that is printed says so.

mod calibration;
pub mod impact;
mod layers;
mod layers_evaluate;
mod layers_predict;
mod layers_train;
mod theory;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

#[derive(Args)]
pub struct EstimateArgs {
    #[command(subcommand)]
    pub way: Way,
}

#[derive(Subcommand)]
pub enum Way {
    /// Count arithmetic and memory accesses, and price them: a bracket for each operator
    #[command(after_help = theory::EXAMPLES)]
    Theory(theory::TheoryArgs),
    /// Say what hardware would use in some hours, and what that emits and costs at a place
    #[command(after_help = impact::EXAMPLES)]
    Impact(impact::ImpactArgs),
    /// Learn from layers that were measured alone what others will use
    Layers(layers::LayersArgs),
}

/// Runs the command.
pub fn run(arguments: &EstimateArgs) -> Result<ExitCode> {
    match &arguments.way {
        Way::Theory(arguments) => theory::run(arguments),
        Way::Impact(arguments) => impact::run(arguments),
        Way::Layers(arguments) => layers::run(arguments),
    }
}
