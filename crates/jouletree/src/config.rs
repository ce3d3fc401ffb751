//! `jouletree config show`: every setting, its value and who says so.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use jouletree_carbon::settings::{KEYS, Key, Settings};
use serde::Serialize;

use crate::carbon::CarbonArgs;
use crate::cell::Cell;
use crate::cli::InspectFormat;
use crate::columns::{Columns, Keep};
use crate::page::{Look, Page};
use crate::{colour, json, print};

pub const EXAMPLES: &str = "\
Examples:
  jouletree config show                            every setting, its value and where it comes from
  jouletree config show --country ITA              the same with a flag
  JOULETREE_PUE=1.2 jouletree config show --format json | jq '.settings[] | select(.origin != \"default\")'

What wins, the strongest first: flags; variables JOULETREE_<NAME>; jouletree.toml of this folder;
~/.config/jouletree/config.toml; variables CODECARBON_<NAME>; .codecarbon.config of this folder, then of the home
folder; what cloud-init reports about the cloud; defaults.";

#[derive(Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Show every setting, its value and where it comes from
    #[command(after_help = EXAMPLES)]
    Show(ShowConfigArgs),
}

#[derive(Args)]
struct ShowConfigArgs {
    #[command(flatten)]
    carbon: CarbonArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    format: InspectFormat,
}

#[derive(Serialize)]
struct Shown {
    settings: Vec<Setting>,
    unknown: Vec<Unknown>,
}

#[derive(Serialize)]
struct Setting {
    name: &'static str,
    value: Option<String>,
    origin: String,
    meaning: &'static str,
}

#[derive(Serialize)]
struct Unknown {
    name: String,
    origin: String,
}

/// Runs the command.
pub fn run(arguments: &ConfigArgs) -> Result<ExitCode> {
    let ConfigCommand::Show(arguments) = &arguments.command;
    let shown = shown(&arguments.carbon.settings()?);
    print(&match arguments.format {
        InspectFormat::Json => json::written(&shown)?,
        InspectFormat::Table => table(&shown),
    })?;
    for Unknown { name, origin } in &shown.unknown {
        writeln_stderr!("warning: {origin}: jouletree has no setting `{name}`, and does nothing with it");
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(settings: &Settings) -> Shown {
    let setting = |key: Key| {
        let value = settings.value(key);
        let origin = value.as_ref().map_or("not set".to_owned(), |value| value.layer.to_string());
        let text = value.map(|value| if key.is_secret() { "(secret)".to_owned() } else { value.text });
        Setting { name: key.name(), value: text, origin, meaning: key.meaning() }
    };
    let unknown =
        settings.unknown.iter().map(|(name, layer)| Unknown { name: name.clone(), origin: layer.to_string() });
    Shown { settings: KEYS.into_iter().map(setting).collect(), unknown: unknown.collect() }
}

fn table(shown: &Shown) -> String {
    let mut table = Columns::new(&["setting", "value", "from", "meaning"]).names(0).left(1).left(2).left(3);
    table = table.shorten(3, Keep::Start).optional(&[3]);
    for setting in &shown.settings {
        let value = setting.value.clone().unwrap_or_else(|| "·".to_owned());
        let is_said = !matches!(setting.origin.as_str(), "default" | "not set");
        let weight = if is_said { colour::head() } else { colour::quiet() };
        table.row(vec![
            Cell::from(setting.name),
            Cell::from(value).styled(weight),
            Cell::from(setting.origin.as_str()).styled(weight),
            Cell::from(setting.meaning).styled(colour::quiet()),
        ]);
    }
    Page::of(table).written(Look::of_stdout())
}
