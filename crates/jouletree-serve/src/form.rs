//! The fields of the form, from an address or from settings, and the answer to them.

use jouletree_carbon::compare::ALL;
use jouletree_carbon::settings::{Key, Layer, Settings, SettingsError};
use jouletree_carbon::{Context, ContextError, FacilityError, HardwareError, PlaceError};
use serde::Serialize;

use jouletree_carbon::estimate::{Answer, Question, QuestionError};

/// A field: its name in the address, and the flag of `estimate impact` that means the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub flag: &'static str,
    /// The setting that it is, if it is one.
    key: Option<Key>,
}

const fn field(name: &'static str, flag: &'static str, key: Option<Key>) -> Field {
    Field { name, flag, key }
}

/// Every field, in the order of the page.
pub const FIELDS: [Field; 18] = [
    field("gpu", "--gpu", None),
    field("watts", "--watts", None),
    field("gpus", "--gpus", None),
    field("hours", "--hours", None),
    field("utilization", "--utilization", None),
    field("cpu_watts", "--cpu-watts", None),
    field("provider", "--provider", Some(Key::Provider)),
    field("cloud_region", "--cloud-region", Some(Key::CloudRegion)),
    field("country", "--country", Some(Key::Country)),
    field("region", "--region", Some(Key::Region)),
    field("intensity", "--intensity", Some(Key::Intensity)),
    field("allow_world_average", "--allow-world-average", Some(Key::AllowWorldAverage)),
    field("pue", "--pue", Some(Key::Pue)),
    field("wue", "--wue", Some(Key::Wue)),
    field("embodied", "--embodied", Some(Key::EmbodiedKg)),
    field("tariff", "--tariff", Some(Key::Tariff)),
    field("currency", "--currency", Some(Key::Currency)),
    field("compare", "--compare", None),
];

/// In `compare`: the regions of the chosen provider, or of all where none is chosen.
pub const OF_PROVIDER: &str = "provider";

/// What is wrong with a field, or with all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub field: Option<&'static str>,
    pub message: String,
}

/// The content of the fields.
#[derive(Debug, Clone, Default)]
pub struct Form {
    values: Vec<(Field, String)>,
    /// Names in the address that no field has.
    unknown: Vec<String>,
}

impl Form {
    /// What an address says. Of a field that is there twice the last counts.
    pub fn asked(pairs: Vec<(String, String)>) -> Form {
        let mut form = Form::default();
        for (name, value) in pairs {
            match FIELDS.iter().find(|field| field.name == name) {
                Some(field) => form.set(*field, value),
                None => form.unknown.push(name),
            }
        }
        form
    }

    /// The initial content: an example of hardware, and what settings say of the place. A place is never made up.
    pub fn first(settings: &Settings) -> Form {
        let mut form = Form::default();
        for field in FIELDS {
            let of_setting = field.key.and_then(|key| settings.value(key)).map(|value| value.text);
            let value = match field.name {
                "gpu" => Some("A100 PCIe 40/80GB".to_owned()),
                "gpus" | "utilization" => Some("1".to_owned()),
                "hours" => Some("100".to_owned()),
                "compare" => Some(OF_PROVIDER.to_owned()),
                // A box that is not ticked is not in an address.
                "allow_world_average" => of_setting.filter(|text| text == "true"),
                "wue" => of_setting.filter(|text| text != "0"),
                _ => of_setting,
            };
            value.into_iter().for_each(|value| form.set(field, value));
        }
        form
    }

    fn set(&mut self, field: Field, value: String) {
        self.values.retain(|(there, _)| *there != field);
        self.values.push((field, value.trim().to_owned()));
    }

    /// The content of a field; nothing where it is empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        let value = self.values.iter().find(|(field, _)| field.name == name).map(|(_, value)| value.as_str());
        value.filter(|value| !value.is_empty())
    }

    /// Fields with something in them, in the order of the page.
    pub fn filled(&self) -> impl Iterator<Item = (Field, &str)> {
        FIELDS.into_iter().filter_map(|field| Some((field, self.value(field.name)?)))
    }

    /// The answer, or everything that is wrong.
    pub fn answer(&self) -> Result<Answer, Vec<Problem>> {
        let mut problems = Vec::new();
        for name in &self.unknown {
            let known = FIELDS.map(|field| field.name).join(", ");
            problems.push(Problem { field: None, message: format!("`{name}` is no field; those are {known}") });
        }
        let mut number = |name: &'static str, otherwise: Option<f64>| {
            let text = match self.value(name) {
                None => return otherwise,
                Some(text) => text,
            };
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            if number.is_none() {
                problems.push(Problem { field: Some(name), message: format!("`{text}` is no number") });
            }
            number
        };
        let (watts, hours) = (number("watts", None), number("hours", None));
        let utilization = number("utilization", Some(1.0));
        let cpu_watts = number("cpu_watts", Some(0.0));
        let gpus = number("gpus", Some(1.0));
        let gpus = gpus.and_then(|gpus| {
            let whole = Some(gpus as u32).filter(|whole| f64::from(*whole) == gpus);
            if whole.is_none() {
                let message = format!("`{gpus}` is no whole number of accelerators");
                problems.push(Problem { field: Some("gpus"), message });
            }
            whole
        });
        if self.value("hours").is_none() {
            problems.push(Problem { field: Some("hours"), message: "give a number of hours".to_owned() });
        }
        let context = self.context().map_err(|problem| problems.push(problem)).ok();
        let (Some(hours), Some(utilization), Some(cpu_watts), Some(gpus), Some(context), []) =
            (hours, utilization, cpu_watts, gpus, context, problems.as_slice())
        else {
            return Err(problems);
        };
        let gpu = self.value("gpu").filter(|_| watts.is_none()).map(str::to_owned);
        let compare = self.compare(context.place.cloud.is_some());
        let question = Question { gpu, watts, gpus, hours, utilization, cpu_watts, compare };
        question.answer(&context).map_err(|error| vec![self.problem(&error)])
    }

    /// Whose regions are compared.
    fn compare(&self, has_provider: bool) -> Option<Vec<String>> {
        match self.value("compare")? {
            OF_PROVIDER if has_provider => Some(Vec::new()),
            OF_PROVIDER => Some(vec![ALL.to_owned()]),
            names => Some(names.split(',').map(str::to_owned).collect()),
        }
    }

    /// Its location and data centre, by the fields alone: the same address means the same on every machine.
    fn context(&self) -> Result<Context, Problem> {
        let mut settings = Settings::default();
        for (field, value) in self.filled() {
            if let Some(key) = field.key {
                settings.set(key, value, Layer::Flag(field.flag.to_owned()));
            }
        }
        Context::resolve(&settings, None).map_err(|error| {
            let field = match &error {
                ContextError::Location(PlaceError::Country { .. }) => Some("country"),
                ContextError::Location(PlaceError::Region { .. } | PlaceError::RegionOfWhat(_)) => Some("region"),
                ContextError::Location(PlaceError::Provider { .. }) => Some("provider"),
                ContextError::Location(PlaceError::CloudRegion { .. }) => Some("cloud_region"),
                ContextError::Facility(FacilityError::Pue(_)) => Some("pue"),
                ContextError::Facility(FacilityError::Wue(_)) => Some("wue"),
                ContextError::Tariff(_) => Some("tariff"),
                ContextError::Setting(SettingsError::Value { name, .. }) => {
                    let is_it = |field: &&Field| field.key.is_some_and(|key| key.name() == *name);
                    FIELDS.iter().find(is_it).map(|field| field.name)
                }
                ContextError::Setting(_) => None,
            };
            let message = match &error {
                ContextError::Setting(SettingsError::Value { value, wanted, .. }) => {
                    format!("`{value}` cannot be; {wanted} is expected")
                }
                error => error.to_string(),
            };
            Problem { field, message }
        })
    }

    fn problem(&self, error: &QuestionError) -> Problem {
        let field = match error {
            QuestionError::NoHardware | QuestionError::Hardware(HardwareError::Unknown { .. }) => "gpu",
            QuestionError::Hardware(HardwareError::Watts(watts)) => {
                let is_it = |name| self.value(name).and_then(|text| text.parse().ok()) == Some(*watts);
                if is_it("cpu_watts") { "cpu_watts" } else { "watts" }
            }
            QuestionError::Hardware(HardwareError::Count(_)) => "gpus",
            QuestionError::Hardware(HardwareError::Utilization(_)) => "utilization",
            QuestionError::Hardware(HardwareError::Hours(_)) => "hours",
            QuestionError::Compare(_) | QuestionError::CompareWhose => "compare",
        };
        Problem { field: Some(field), message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &[(&str, &str)]) -> Result<Answer, Vec<Problem>> {
        let pairs = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Form::asked(pairs.collect()).answer()
    }

    fn field_of(query: &[(&str, &str)]) -> Vec<Option<&'static str>> {
        asked(query).err().unwrap_or_default().into_iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn an_address_is_answered() {
        let answer =
            asked(&[("gpu", "A100"), ("hours", "100"), ("provider", "gcp"), ("cloud_region", "europe-west1")]);
        assert_eq!(answer.map(|answer| answer.carbon.map(|grams| grams.0)), Ok(Some(25.0 * 122.0)));
        let nowhere = asked(&[("gpu", "A100"), ("hours", "100")]);
        assert_eq!(nowhere.map(|answer| answer.carbon), Ok(None));
    }

    #[test]
    fn what_is_wrong_is_told_beside_its_field() {
        let with = |name, value| field_of(&[("gpu", "A100"), ("hours", "1"), (name, value)]);
        for name in ["watts", "hours", "utilization", "cpu_watts", "gpus", "intensity", "pue", "wue", "embodied"] {
            assert_eq!(with(name, "many"), [Some(name)], "{name}");
            assert_eq!(with(name, "-1"), [Some(name)], "{name}");
        }
        for name in ["gpu", "provider", "country", "tariff", "compare"] {
            assert_eq!(with(name, "no such thing"), [Some(name)], "{name}");
        }
        assert_eq!(field_of(&[("gpu", "A100")]), [Some("hours")]);
        assert_eq!(field_of(&[("hours", "1")]), [Some("gpu")]);
        assert_eq!(field_of(&[("gpu", "A100"), ("hours", "x"), ("pue", "0.5")]), [Some("hours"), Some("pue")]);
        let typed = [("gpu", "A100"), ("hours", "1"), ("provider", "gcp"), ("cloud_region", "europe-wets1")];
        assert_eq!(field_of(&typed), [Some("cloud_region")]);
        assert_eq!(field_of(&[("gpu", "A100"), ("hours", "1"), ("hour", "2")]), [None]);
        assert_eq!(with("gpus", "1.5"), [Some("gpus")]);
    }

    #[test]
    fn nothing_is_asked_of_a_network() {
        assert!(FIELDS.iter().all(|field| field.key != Some(Key::Online)));
    }

    #[test]
    fn no_place_is_made_up() {
        let first = Form::first(&Settings::default());
        for name in ["provider", "cloud_region", "country", "region", "intensity", "allow_world_average"] {
            assert_eq!(first.value(name), None, "{name}");
        }
        assert!(first.answer().is_ok_and(|answer| answer.carbon.is_none() && !answer.regions.is_empty()));
    }
}
