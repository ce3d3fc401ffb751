//! `jouletree evaluate`: how well predictors predict, on measured data that they have not learned from.

mod predictor;
mod tables;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

pub use predictor::PredictorArgs;

#[derive(Args)]
pub struct EvaluateArgs {
    #[command(subcommand)]
    pub what: Evaluated,
}

#[derive(Subcommand)]
pub enum Evaluated {
    /// Compare the published predictor of trees, IrEne, with ours on trees whose every node was measured
    #[command(after_help = predictor::EXAMPLES)]
    Predictor(PredictorArgs),
}

/// Runs the command.
pub fn run(arguments: &EvaluateArgs) -> Result<ExitCode> {
    match &arguments.what {
        Evaluated::Predictor(arguments) => predictor::run(arguments),
    }
}
