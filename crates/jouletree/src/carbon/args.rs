//! Arguments about the location and site of a machine. Each is a setting that files and the environment can have, too.

use anyhow::Result;
use clap::Args;
use jouletree_carbon::settings::{Key, Layer, Settings, Sources};
use jouletree_carbon::{Context, Intensity};

use crate::cache;

/// The location and site of a machine.
#[derive(Args, Default)]
#[command(next_help_heading = "Place, carbon, cost")]
pub struct CarbonArgs {
    /// The country: its code of two or three letters, or its name
    #[arg(long, value_name = "COUNTRY", visible_alias = "country-iso-code")]
    pub country: Option<String>,
    /// The state, province or bidding zone of the country; with --provider the region of the cloud
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// The cloud provider: aws, azure, gcp, …
    #[arg(long, value_name = "PROVIDER", visible_alias = "cloud-provider")]
    pub provider: Option<String>,
    /// The region of the cloud provider
    #[arg(long, value_name = "REGION")]
    pub cloud_region: Option<String>,
    /// Grams of CO2 equivalent per kWh, instead of any table
    #[arg(long, value_name = "G/KWH")]
    pub intensity: Option<f64>,
    /// Ask Electricity Maps what the intensity is now; its token is in JOULETREE_ELECTRICITYMAPS_TOKEN
    #[arg(long)]
    pub online: bool,
    /// Take the world's mean of 475 g/kWh where the place is not known
    #[arg(long)]
    pub allow_world_average: bool,
    /// What the data centre uses for each joule of its IT equipment
    #[arg(long, value_name = "FACTOR")]
    pub pue: Option<f64>,
    /// Litres of water per kWh of the data centre
    #[arg(long, value_name = "L/KWH")]
    pub wue: Option<f64>,
    /// Count embodied emissions of the machine: its kg of CO2 equivalent, `server` for an estimate from its parts, or the instance of
    /// a cloud, as in aws/p3.2xlarge, for the server that it runs on
    #[arg(long, value_name = "KG")]
    pub embodied: Option<String>,
    /// The price of a kWh: 0.25, or by local time 8:30-19:00=0.31,19:00-8:30=0.22
    #[arg(long, value_name = "PRICE")]
    pub tariff: Option<String>,
    /// The currency of the price
    #[arg(long, value_name = "CODE")]
    pub currency: Option<String>,
}

impl CarbonArgs {
    /// The settings of this process, with these arguments above all others.
    pub fn settings(&self) -> Result<Settings> {
        let (mut settings, errors) = Sources::of_process().read();
        if let Some(error) = errors.into_iter().next() {
            return Err(error.into());
        }
        self.apply(&mut settings);
        Ok(settings)
    }

    /// The location and site of the machine.
    pub fn context(&self) -> Result<Context> {
        let context = Context::resolve(&self.settings()?, cache::folder().as_deref())?;
        context.warnings.iter().for_each(|warning| writeln_stderr!("warning: {warning}"));
        Ok(context)
    }

    /// The intensity, if the location is known. Settings that cannot be read are no reason not to measure: without a
    /// flag of these, they cause a warning and are left alone.
    pub fn known_intensity(&self) -> Result<Option<Intensity>> {
        let mut alone = Settings::default();
        self.apply(&mut alone);
        match self.context() {
            Err(error) if alone.is_empty() => {
                writeln_stderr!("warning: carbon is not counted: {error:#}");
                Ok(None)
            }
            context => Ok(context?.intensity),
        }
    }

    /// Puts these arguments above what is there.
    pub fn apply(&self, settings: &mut Settings) {
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let flag = |value: bool| value.then(|| "true".to_owned());
        let given = [
            (Key::Country, "--country", self.country.clone()),
            (Key::Region, "--region", self.region.clone()),
            (Key::Provider, "--provider", self.provider.clone()),
            (Key::CloudRegion, "--cloud-region", self.cloud_region.clone()),
            (Key::Intensity, "--intensity", number(self.intensity)),
            (Key::Online, "--online", flag(self.online)),
            (Key::AllowWorldAverage, "--allow-world-average", flag(self.allow_world_average)),
            (Key::Pue, "--pue", number(self.pue)),
            (Key::Wue, "--wue", number(self.wue)),
            (Key::EmbodiedKg, "--embodied", self.embodied.clone()),
            (Key::Tariff, "--tariff", self.tariff.clone()),
            (Key::Currency, "--currency", self.currency.clone()),
        ];
        for (key, name, value) in given {
            if let Some(value) = value {
                settings.set(key, value, Layer::Flag(name.to_owned()));
            }
        }
    }
}

/// How a user who sees `unknown` can change that.
pub const WHERE: &str =
    "say where it ran with --country ITA, --provider gcp --region europe-west1 or --intensity 331";
