//! Where settings are looked for.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Key, Layer, Settings, SettingsError};

/// What CodeCarbon calls its file.
const CODECARBON_FILE: &str = ".codecarbon.config";
/// The file of a folder, and what the user's is called in jouletree's folder of configurations.
const FOLDER_FILE: &str = "jouletree.toml";
const USER_FILE: &str = "config.toml";
/// Where cloud-init keeps what the cloud reported to the machine.
const CLOUD_METADATA: &str = "/run/cloud-init/instance-data.json";

/// The places at which settings are looked for.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The user's folder of configurations.
    pub config_home: Option<PathBuf>,
    /// The folder that the program works in.
    pub folder: PathBuf,
    /// What the cloud reported to the machine.
    pub cloud_metadata: Option<PathBuf>,
    /// The environment.
    pub environment: Vec<(String, String)>,
}

impl Sources {
    /// Those of this process. `JOULETREE_CLOUD_METADATA` names another file of cloud metadata.
    pub fn of_process() -> Sources {
        let environment: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let path = |name: &str| {
            environment
                .iter()
                .find(|(known, value)| known == name && !value.is_empty())
                .map(|(_, value)| PathBuf::from(value))
        };
        let home = path("HOME");
        Sources {
            config_home: path("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config"))),
            cloud_metadata: Some(path("JOULETREE_CLOUD_METADATA").unwrap_or_else(|| CLOUD_METADATA.into())),
            home,
            folder: PathBuf::from("."),
            environment,
        }
    }

    /// All settings there, and what is wrong with some of the places. What is right holds all the same.
    pub fn read(&self) -> (Settings, Vec<SettingsError>) {
        let (mut settings, mut errors) = (Settings::default(), Vec::new());
        let mut note = |outcome: Result<(), SettingsError>| errors.extend(outcome.err());
        if let Some(path) = &self.cloud_metadata {
            note(read_cloud(path, &mut settings));
        }
        let home = self.home.iter().map(|home| home.join(CODECARBON_FILE));
        for path in home.chain([self.folder.join(CODECARBON_FILE)]) {
            note(read_codecarbon(&path, &mut settings));
        }
        if let Some(folder) = &self.config_home {
            let path = folder.join("jouletree").join(USER_FILE);
            note(read_toml(&path, &Layer::UserFile(path.clone()), &mut settings));
        }
        let path = self.folder.join(FOLDER_FILE);
        note(read_toml(&path, &Layer::FolderFile(path.clone()), &mut settings));
        self.read_environment(&mut settings);
        (settings, errors)
    }

    fn read_environment(&self, settings: &mut Settings) {
        for (variable, value) in &self.environment {
            let upper = variable.to_ascii_uppercase();
            if let Some(key) = upper.strip_prefix("CODECARBON_").and_then(Key::by_codecarbon_name) {
                settings.set(key, value, Layer::CodeCarbonVariable(variable.clone()));
            } else if let Some(key) = upper.strip_prefix("JOULETREE_").and_then(Key::by_name) {
                settings.set(key, value, Layer::Variable(variable.clone()));
            }
        }
    }
}

/// The text of a file; none where there is no file.
fn text_of(path: &Path) -> Result<Option<String>, SettingsError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(SettingsError::File { path: path.to_owned(), why: error.to_string() }),
    }
}

/// CodeCarbon's file: the section `codecarbon` of an INI file.
fn read_codecarbon(path: &Path, settings: &mut Settings) -> Result<(), SettingsError> {
    let Some(text) = text_of(path)? else { return Ok(()) };
    let unreadable =
        |error: ini::ParseError| SettingsError::File { path: path.to_owned(), why: error.to_string() };
    let file = ini::Ini::load_from_str_noescape(&text).map_err(unreadable)?;
    let layer = Layer::CodeCarbonFile(path.to_owned());
    for (name, value) in file.section(Some("codecarbon")).into_iter().flat_map(|section| section.iter()) {
        match Key::by_codecarbon_name(name) {
            Some(key) => settings.set(key, value, layer.clone()),
            None => settings.unknown.push((name.to_owned(), layer.clone())),
        }
    }
    Ok(())
}

/// A file of our own: names and values.
fn read_toml(path: &Path, layer: &Layer, settings: &mut Settings) -> Result<(), SettingsError> {
    let Some(text) = text_of(path)? else { return Ok(()) };
    let wrong = |why: String| SettingsError::File { path: path.to_owned(), why };
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    for (name, value) in table {
        let value = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Boolean(flag) => flag.to_string(),
            other => {
                return Err(wrong(format!(
                    "{name}: text, a number or a flag is expected, not {}",
                    other.type_str()
                )));
            }
        };
        match Key::by_name(&name) {
            Some(key) => settings.set(key, value, layer.clone()),
            None => settings.unknown.push((name, layer.clone())),
        }
    }
    Ok(())
}

/// What cloud-init keeps of a cloud.
#[derive(Deserialize)]
struct InstanceData {
    v1: Option<InstanceDataV1>,
}

#[derive(Deserialize)]
struct InstanceDataV1 {
    cloud_name: Option<String>,
    region: Option<String>,
}

fn read_cloud(path: &Path, settings: &mut Settings) -> Result<(), SettingsError> {
    // Who may not read it has no such file.
    let Ok(Some(text)) = text_of(path) else { return Ok(()) };
    let wrong = |error: serde_json::Error| SettingsError::File { path: path.to_owned(), why: error.to_string() };
    let data: InstanceData = serde_json::from_str(&text).map_err(wrong)?;
    let layer = Layer::CloudMetadata(path.to_owned());
    let Some(InstanceDataV1 { cloud_name: Some(name), region }) = data.v1 else { return Ok(()) };
    // Machines outside of clouds have this file, too.
    if let Some(provider) = crate::tables::Providers::find(&name) {
        settings.set(Key::Provider, provider, layer.clone());
        if let Some(region) = region {
            settings.set(Key::CloudRegion, region, layer);
        }
    }
    Ok(())
}
