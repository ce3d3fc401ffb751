//! Every setting: its name, CodeCarbon's names for it, its default and its meaning.

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the table below says what each means")]
pub enum Key {
    Country,
    Region,
    Provider,
    CloudRegion,
    Intensity,
    Online,
    ElectricityMapsToken,
    ElectricityMapsUrl,
    AllowWorldAverage,
    Pue,
    Wue,
    EmbodiedKg,
    LifeYears,
    EmbodiedShare,
    Tariff,
    Currency,
    Project,
    Experiment,
    OutputFolder,
    OutputFile,
    OnCsvWrite,
    TrackingMode,
    CpuModel,
    CpuPower,
    RamModel,
    RamPower,
}

/// What there is to know about a setting.
struct Entry {
    key: Key,
    name: &'static str,
    /// What CodeCarbon calls it, in files, variables and arguments.
    codecarbon: &'static [&'static str],
    default: Option<&'static str>,
    meaning: &'static str,
}

const fn entry(
    key: Key,
    name: &'static str,
    codecarbon: &'static [&'static str],
    default: Option<&'static str>,
    meaning: &'static str,
) -> Entry {
    Entry { key, name, codecarbon, default, meaning }
}

const ENTRIES: [Entry; 26] = [
    entry(Key::Country, "country", &["country_iso_code"], None, "code or name of the country"),
    entry(Key::Region, "region", &["region"], None, "state, province or zone of the country"),
    entry(Key::Provider, "provider", &["cloud_provider"], None, "cloud provider: aws, azure, gcp, …"),
    entry(Key::CloudRegion, "cloud_region", &["cloud_region"], None, "region of the cloud provider"),
    entry(
        Key::Intensity,
        "intensity",
        &["force_carbon_intensity_g_co2e_kwh"],
        None,
        "grams of CO2 equivalent per kWh, instead of any table",
    ),
    entry(Key::Online, "online", &[], Some("false"), "ask Electricity Maps what the intensity is now"),
    entry(
        Key::ElectricityMapsToken,
        "electricitymaps_token",
        &["electricitymaps_api_token", "co2_signal_api_token"],
        None,
        "token for Electricity Maps",
    ),
    entry(
        Key::ElectricityMapsUrl,
        "electricitymaps_url",
        &[],
        Some(crate::electricity_maps::ELECTRICITY_MAPS),
        "where Electricity Maps is asked",
    ),
    entry(
        Key::AllowWorldAverage,
        "allow_world_average",
        &[],
        Some("false"),
        "take 475 g/kWh where the place is not known",
    ),
    entry(Key::Pue, "pue", &["pue"], Some("1"), "energy of the data centre per energy of its IT equipment"),
    entry(Key::Wue, "wue", &["wue"], Some("0"), "litres of water per kWh of the data centre"),
    entry(
        Key::EmbodiedKg,
        "embodied_kg",
        &[],
        None,
        "kg of CO2 equivalent of making the machine; `server` counts its parts, aws/p3.2xlarge is that of a cloud",
    ),
    entry(Key::LifeYears, "life_years", &[], Some("4"), "how long the machine lasts"),
    entry(Key::EmbodiedShare, "embodied_share", &[], Some("1"), "part of the machine that was in use"),
    entry(Key::Tariff, "tariff", &[], None, "price of a kWh: 0.25, or 8:30-19:00=0.31,19:00-8:30=0.22"),
    entry(Key::Currency, "currency", &[], Some("EUR"), "currency of the tariff"),
    entry(Key::Project, "project", &["project_name"], Some("codecarbon"), "name of the project"),
    entry(
        Key::Experiment,
        "experiment_id",
        &["experiment_id"],
        // CodeCarbon's own for those who name none.
        Some("5b0fa12a-3dd7-45bb-9766-cc326314d9f1"),
        "number of the experiment",
    ),
    entry(Key::OutputFolder, "output_dir", &["output_dir"], Some("."), "folder of emissions.csv"),
    entry(Key::OutputFile, "output_file", &["output_file"], Some("emissions.csv"), "its name"),
    entry(Key::OnCsvWrite, "on_csv_write", &["on_csv_write"], Some("append"), "append a row, or update the run's"),
    entry(
        Key::TrackingMode,
        "tracking_mode",
        &["tracking_mode"],
        None,
        "machine: all that devices use; process: the program's part of it",
    ),
    entry(
        Key::CpuModel,
        "cpu_model",
        &[],
        Some("jouletree"),
        "model of a machine without meters: jouletree or codecarbon",
    ),
    entry(
        Key::CpuPower,
        "cpu_power",
        &["force_cpu_power"],
        None,
        "design power of the processors in W, for cpu_model codecarbon",
    ),
    entry(
        Key::RamModel,
        "ram_model",
        &[],
        Some("none"),
        "model of memory without a meter: none, codecarbon (per module) or codecarbon2 (3 W per 8 GB)",
    ),
    entry(Key::RamPower, "ram_power", &["force_ram_power"], None, "power of the memory in W"),
];

/// Every setting, in the order in which they are shown.
pub const KEYS: [Key; ENTRIES.len()] = {
    let mut keys = [Key::Country; ENTRIES.len()];
    let mut number = 0;
    while number < ENTRIES.len() {
        keys[number] = ENTRIES[number].key;
        number += 1;
    }
    keys
};

impl Key {
    fn entry(self) -> &'static Entry {
        // A test sees to it that every key has one.
        ENTRIES.iter().find(|entry| entry.key == self).unwrap_or(&ENTRIES[0])
    }

    /// Its name in files, and in capitals behind `JOULETREE_` in the environment.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The default.
    pub fn default(self) -> Option<&'static str> {
        self.entry().default
    }

    /// What it is.
    pub fn meaning(self) -> &'static str {
        self.entry().meaning
    }

    /// Whether its value is secret.
    pub fn is_secret(self) -> bool {
        self == Key::ElectricityMapsToken
    }

    /// By its own name.
    pub fn by_name(name: &str) -> Option<Key> {
        ENTRIES.iter().find(|entry| entry.name.eq_ignore_ascii_case(name)).map(|entry| entry.key)
    }

    /// By CodeCarbon's name for it.
    pub fn by_codecarbon_name(name: &str) -> Option<Key> {
        let is_it = |entry: &&Entry| entry.codecarbon.iter().any(|known| known.eq_ignore_ascii_case(name));
        ENTRIES.iter().find(is_it).map(|entry| entry.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_table_once() {
        for entry in &ENTRIES {
            assert_eq!(entry.key.name(), entry.name);
            assert_eq!(Key::by_name(entry.name), Some(entry.key));
            for name in entry.codecarbon {
                assert_eq!(Key::by_codecarbon_name(name), Some(entry.key), "{name}");
            }
        }
    }
}
