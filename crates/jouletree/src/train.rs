//! `jouletree train`: a profile of this machine from calibrations and runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use jouletree_host::whole;
use jouletree_model::{Footprint, Kind, Pass, Warning, Watts};
use jouletree_predict::irene::{Level, TreePredictor};
use jouletree_predict::profile::{
    Calibration, DeviceConstants, Profile, TrainedOn, TrainingTree, measured_passes, optimizer_per_parameter,
};
use jouletree_run::RunFolder;
use serde::Serialize;

use crate::cell::Cell;
use crate::cli::InspectFormat;
use crate::columns::Columns;
use crate::page::{Look, Page};
use crate::{json, print, print_warnings};

/// What `--help` shows.
pub const EXAMPLES: &str = "\
Examples:
  jouletree train CALIBRATION -o profile.json      what `jouletree calibrate` measured
  jouletree train CALIBRATION RUN1 RUN2 -o profile.json
      and what runs of trainings taught: the backward pass and the optimizer
  jouletree predict bert --profile profile.json --batch 16 --seq 128";

#[derive(Args)]
pub struct TrainArgs {
    /// Folders of calibrations or of runs whose operations were recorded
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The profile; one that is there is replaced
    #[arg(short, long, value_name = "FILE", default_value = "profile.json")]
    output: PathBuf,
    /// How what was learned is written to standard output
    #[arg(long, value_enum, default_value = "table")]
    format: InspectFormat,
}

/// What was learned, for programs.
#[derive(Serialize)]
struct Training<'a> {
    profile: String,
    trained_on_kind: Kind,
    trained_on: &'a [TrainedOn],
    passes: Vec<TrainedPass>,
    optimizer_j_per_parameter: Option<f64>,
    devices: Vec<TrainedDevice<'a>>,
    warnings: &'a [Warning],
}

/// The predictor of a pass; errors are those of what was left out of the fit, as shares.
#[derive(Serialize)]
struct TrainedPass {
    pass: Pass,
    primitives_error: Option<f64>,
    modules_error: Option<f64>,
    models_error: Option<f64>,
    glue: Vec<GlueTerm>,
    gain: Option<f64>,
    rest_w: Option<f64>,
}

/// What modules take beside their primitives, for each of something.
#[derive(Serialize)]
struct GlueTerm {
    for_each: &'static str,
    energy_j: f64,
}

#[derive(Serialize)]
struct TrainedDevice<'a> {
    device: &'a str,
    #[serde(rename = "standby_w")]
    standby: Option<Watts>,
}

/// What runs taught, before it is put together.
#[derive(Default)]
struct Lessons {
    trees: Vec<TrainingTree>,
    devices: Vec<DeviceConstants>,
    kinds: Vec<Kind>,
    optimizers: Vec<f64>,
    warnings: Vec<Warning>,
}

/// Runs the command.
pub fn run(arguments: &TrainArgs) -> Result<ExitCode> {
    refuse_others(&arguments.output)?;
    let mut lessons = Lessons::default();
    for path in &arguments.runs {
        lessons.learn(path).with_context(|| format!("cannot learn from {}", path.display()))?;
    }
    let kind = lessons.kinds.iter().copied().max().unwrap_or(Kind::Estimated);
    let (mut profile, warnings) = Profile::train(&lessons.trees, lessons.devices, kind)?;
    lessons.warnings.extend(warnings);
    if !lessons.optimizers.is_empty() {
        let mean = lessons.optimizers.iter().sum::<f64>() / lessons.optimizers.len() as f64;
        profile.optimizer_j_per_parameter = Some(mean);
    }
    let text = serde_json::to_vec(&profile).context("the profile cannot be written")?;
    whole::write(&arguments.output, &text)?;
    let mut said = Vec::new();
    lessons.warnings.retain(|warning| {
        !said.contains(warning) && {
            said.push(warning.clone());
            true
        }
    });
    print(&match arguments.format {
        InspectFormat::Table => page(&profile).written(Look::of_stdout()),
        InspectFormat::Json => json::written(&Training::of(&profile, &arguments.output, &lessons.warnings))?,
    })?;
    writeln_stderr!("jouletree: wrote {}", arguments.output.display());
    print_warnings(&lessons.warnings);
    Ok(ExitCode::SUCCESS)
}

/// Only a profile is replaced.
fn refuse_others(output: &Path) -> Result<()> {
    match fs::read_to_string(output) {
        Ok(text) if Profile::parse(&text, output).is_err() && !text.contains("jouletree-profile") => {
            bail!("{} exists and is no profile; choose another -o or remove it", output.display())
        }
        _ => Ok(()),
    }
}

impl Lessons {
    fn learn(&mut self, path: &Path) -> Result<()> {
        let name = path.display().to_string();
        let calibration = path.join(Calibration::FILE);
        if calibration.is_file() {
            return self.learn_calibration(&name, &Calibration::read(&calibration)?);
        }
        let run = RunFolder::open(path)?;
        let footprint = run.read_footprint()?;
        let model = root_class(&footprint).unwrap_or_else(|| name.clone());
        let samples = run.read_program()?.steps().find_map(|step| step.samples);
        for (pass, tree, sketch) in measured_passes(&footprint, &model, samples)? {
            if pass == Pass::Forward {
                self.warnings.extend(sketch.warnings);
            }
            self.trees.push(TrainingTree { run: name.clone(), source: "footprint", pass, tree });
        }
        self.optimizers.extend(optimizer_per_parameter(&footprint));
        for device in footprint.devices.iter().filter(|device| device.attributed.0 > 0.0) {
            self.kinds.extend(device.kind);
            self.meet(device.device.to_string(), None);
        }
        Ok(())
    }

    fn learn_calibration(&mut self, name: &str, calibration: &Calibration) -> Result<()> {
        for measured in &calibration.trees {
            let (tree, sketch) = measured.tree();
            self.warnings.extend(sketch.warnings);
            let run = name.to_owned();
            self.trees.push(TrainingTree { run, source: "calibration", pass: Pass::Forward, tree });
        }
        if calibration.trees.is_empty() {
            bail!("the calibration holds no model; calibrate again");
        }
        for standby in &calibration.standby {
            self.meet(standby.device.clone(), Some(standby.watts));
        }
        self.kinds.push(calibration.kind);
        self.warnings.extend(calibration.warnings(name));
        Ok(())
    }

    fn meet(&mut self, device: String, standby: Option<Watts>) {
        match self.devices.iter_mut().find(|known| known.device == device) {
            Some(known) => known.standby = known.standby.or(standby),
            None => self.devices.push(DeviceConstants { device, standby }),
        }
    }
}

impl<'a> Training<'a> {
    fn of(profile: &'a Profile, output: &Path, warnings: &'a [Warning]) -> Training<'a> {
        let device =
            |device: &'a DeviceConstants| TrainedDevice { device: &device.device, standby: device.standby };
        let pass = |(pass, predictor): (&Pass, &TreePredictor)| TrainedPass {
            pass: *pass,
            primitives_error: predictor.left_out_error(Level::Leaf),
            modules_error: predictor.left_out_error(Level::Module),
            models_error: predictor.left_out_error(Level::Model),
            glue: predictor
                .glue()
                .coefficients()
                .map(|(for_each, energy)| GlueTerm { for_each, energy_j: energy.0 })
                .collect(),
            gain: predictor.law().map(|law| law.gain),
            rest_w: predictor.law().map(|law| law.rest.0),
        };
        Training {
            profile: output.display().to_string(),
            trained_on_kind: profile.trained_on_kind,
            trained_on: &profile.trained_on,
            passes: profile.passes.iter().map(pass).collect(),
            optimizer_j_per_parameter: profile.optimizer_j_per_parameter,
            devices: profile.devices.iter().map(device).collect(),
            warnings,
        }
    }
}

/// What a model is called by its framework.
fn root_class(footprint: &Footprint) -> Option<String> {
    let (_, op, _) = footprint.model.nodes().find(|(_, _, facts)| facts.is_module)?;
    Some(op.op_type.to_string())
}

fn page(profile: &Profile) -> Page {
    let mut page = Page::default();
    let mut table = Columns::new(&["model", "batch", "sequence", "pass", "primitives", "modules", "from", "run"]);
    table = table.names(0).left(3).left(6).names(7);
    for tree in &profile.trained_on {
        table.row(vec![
            Cell::from(tree.model.as_str()),
            tree.batch.to_string().into(),
            tree.sequence.to_string().into(),
            tree.pass.to_string().into(),
            tree.primitives.to_string().into(),
            tree.modules.to_string().into(),
            Cell::from(tree.source.as_str()),
            Cell::from(tree.run.as_str()),
        ]);
    }
    page.title("trained on");
    page.table(table);
    for (pass, predictor) in &profile.passes {
        let errors = [("primitives", Level::Leaf), ("modules", Level::Module), ("models", Level::Model)];
        let levels = errors.iter().filter_map(|(name, level)| {
            Some(format!("{name} {:.1} %", 100.0 * predictor.left_out_error(*level)?))
        });
        let levels: Vec<String> = levels.collect();
        if !levels.is_empty() {
            page.title(format!("{pass} pass: mean error of what was left out of the fit"));
            page.words(levels.join(", "));
        }
        page.title(format!("glue of the {pass} pass"));
        let mut glue = Columns::new(&["for each", "energy"]).left(0);
        for (term, joules) in predictor.glue().coefficients().filter(|(_, joules)| joules.0 > 0.0) {
            glue.row(vec![Cell::from(term), joules.to_string().into()]);
        }
        page.table(glue);
        if let Some(law) = predictor.law() {
            page.words(format!(
                "a measured node takes {:.3} times what its devices count and {} beside",
                law.gain, law.rest
            ));
        }
    }
    for device in &profile.devices {
        if let Some(Watts(watts)) = device.standby {
            page.words(format!("{}: {watts:.3} W at standby", device.device));
        }
    }
    page
}
