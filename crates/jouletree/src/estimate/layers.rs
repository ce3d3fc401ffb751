//! `jouletree estimate layers`: from layers that were measured alone to layers and networks that were not.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::{layers_evaluate, layers_predict, layers_train};

#[derive(Args)]
pub struct LayersArgs {
    #[command(subcommand)]
    pub task: Task,
}

#[derive(Subcommand)]
pub enum Task {
    /// Fit what work and traffic cost on all measured layers of a folder
    #[command(after_help = layers_train::EXAMPLES)]
    Train(layers_train::TrainArgs),
    /// Score the additive model and the published predictors on layers and networks that they were not fitted on
    #[command(after_help = layers_evaluate::EXAMPLES)]
    Evaluate(layers_evaluate::EvaluateArgs),
    /// Say what a model's operators would use, with intervals
    #[command(after_help = layers_predict::EXAMPLES)]
    Predict(layers_predict::PredictArgs),
}

/// Runs the command.
pub fn run(arguments: &LayersArgs) -> Result<ExitCode> {
    match &arguments.task {
        Task::Train(arguments) => layers_train::run(arguments),
        Task::Evaluate(arguments) => layers_evaluate::run(arguments),
        Task::Predict(arguments) => layers_predict::run(arguments),
    }
}
