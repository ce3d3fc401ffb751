//! A study: what there is to see in one run, or in several runs of the same program.
//!
//! Of several runs, energies are means, and the standard deviation over the runs is beside them. Power over time, steps
//! and windows are those of the first run.

mod in_stages;
mod likeness;
mod marks;
mod power;
mod provenance;
mod spread;
mod totals;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::slice;

use jouletree_account::{Attribution, EnergyTree, Folding, Tef, TefEntry, TensorEdge, t2e, tensor_edges};
use jouletree_model::{Device, Footprint, Joules, ModelTree, Program, Trace, Warning};
use jouletree_run::{MeteredSeries, Recording, RunError, RunFolder};

use crate::disclosure::Disclosure;
use crate::parts::{PartRow, parts};
use crate::power_floor::PowerFloor;
use crate::program_energy::{PhaseRow, ProgramEnergy, StageSteps, WindowRow};
use crate::reaccounted::{AttributionError, footprint_by};
use crate::trust::Trust;
use crate::warnings::warnings;
use crate::whole::Whole;

pub use in_stages::{InStage, StageOperations};
pub use likeness::{Difference, What};
pub use marks::{Mark, Marks};
pub use power::{Moment, PowerTrack, PowerView, StepView};
pub use provenance::{Provenance, program_name};
pub use spread::Ranked;
pub use totals::{DeviceTotal, StageTotal};

use spread::{Spread, mean};

/// How many of the largest operations are listed.
const TOP: usize = 10;

/// What there is to see.
#[derive(Debug, Clone)]
pub struct Study {
    /// All joules and where they are, as a mean over the runs: the bases of all shares.
    pub whole: Whole,
    /// How far the numbers can be trusted; `None` without a run.
    pub trust: Option<Trust>,
    /// What was run.
    pub title: String,
    /// How many runs there are.
    pub runs: usize,
    /// What each device used; machines, whose plug the others share, are listed, too, and are in no sum.
    pub devices: Vec<DeviceTotal>,
    /// Every operation.
    pub tef: Tef,
    /// The data flow between operations.
    pub edges: Vec<TensorEdge>,
    /// The layers.
    pub tree: EnergyTree,
    /// The operations that used most, equal blocks summed (STEF).
    pub top_energy: Vec<Ranked>,
    /// The operations that drew most, equal blocks summed (STPF): of those long and large enough for a power of their own.
    pub top_power: Vec<Ranked>,
    /// What each stage used, which sums up to the run; one without a name when the program named none.
    pub stages: Vec<StageTotal>,
    /// What operations used in each stage; none when the program named none.
    pub in_stages: Vec<StageOperations>,
    /// Which repeated layers are added up in the largest operations.
    pub folding: Folding,
    /// Of which operations the power means something.
    pub floor: PowerFloor,
    /// Steps by what they do.
    pub phases: Vec<PhaseRow>,
    /// Steps by stage and by what they do, warm-up apart.
    pub steps: Vec<StageSteps>,
    /// Windows by name.
    pub windows: Vec<WindowRow>,
    /// The parts that make the whole of the first run; none when its program has no steps.
    pub parts: Vec<PartRow>,
    /// Power over time.
    pub power: PowerView,
    /// How all of this came to be, run by run.
    pub provenance: Vec<Provenance>,
    /// What a person should know.
    pub warnings: Vec<Warning>,
    spread: Spread,
}

/// Why there is nothing to see.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No run was given.
    #[error("there is no run to report; give a run folder")]
    NoRun,
    /// A run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run cannot be accounted by the policy that was asked for.
    #[error(transparent)]
    Attribution(Box<AttributionError>),
    /// One run was given twice: it would count twice.
    #[error("{}: given twice; the spread over runs would be too small", .0.display())]
    Twice(PathBuf),
    /// The runs are of different programs: a mean would be of nothing.
    #[error("these runs differ and have no mean; {}; name runs of one program, or one run at a time", listed(.0))]
    Unlike(Vec<Difference>),
}

fn listed(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl From<AttributionError> for StudyError {
    fn from(error: AttributionError) -> StudyError {
        StudyError::Attribution(Box::new(error))
    }
}

/// One run, in memory.
struct Known<'a> {
    folder: &'a RunFolder,
    footprint: Cow<'a, Footprint>,
    power: Cow<'a, [MeteredSeries]>,
}

impl<'a> Known<'a> {
    fn read(folder: &'a RunFolder, asked: Option<Attribution>, threads: usize) -> Result<Known<'a>, StudyError> {
        let manifest = folder.manifest();
        let footprint = match manifest.accounting {
            Some(_) => footprint_by(folder, asked, threads)?,
            // Power alone: there are devices and no operations.
            None => Footprint { warnings: manifest.warnings.clone(), ..Footprint::default() },
        };
        let power = Cow::Owned(folder.read_power()?);
        Ok(Known { folder, footprint: Cow::Owned(footprint), power })
    }

    /// All its joules. Of a recording that was not accounted no more is known than how many there are.
    fn whole(&self) -> Whole {
        let manifest = self.folder.manifest();
        if manifest.accounting.is_some() {
            let spreads = manifest.recording.iter().flat_map(Recording::spreads).collect();
            return Whole::of(&self.footprint, &spreads);
        }
        let nothing = || Whole::unplaced(Joules::ZERO, None, None);
        manifest.recording.as_ref().map_or_else(nothing, Whole::of_recording)
    }
}

impl Study {
    /// Reads what there is to see in runs of the same program; `threads` read events.
    pub fn read(folders: Vec<RunFolder>, threads: usize) -> Result<Study, StudyError> {
        Study::read_by(folders, None, threads)
    }

    /// The same of a study, whose runs may vary the model and the size of its batches. What differs is among the warnings.
    pub fn read_varied(folders: Vec<RunFolder>, threads: usize) -> Result<Study, StudyError> {
        Study::read_all(folders, None, threads, What::may_vary)
    }

    /// The same with energy shared by a policy other than the recorded one, if it is asked for.
    pub fn read_by(
        folders: Vec<RunFolder>,
        asked: Option<Attribution>,
        threads: usize,
    ) -> Result<Study, StudyError> {
        Study::read_all(folders, asked, threads, |_| false)
    }

    fn read_all(
        folders: Vec<RunFolder>,
        asked: Option<Attribution>,
        threads: usize,
        may_vary: fn(What) -> bool,
    ) -> Result<Study, StudyError> {
        let mut seen: Vec<PathBuf> = Vec::new();
        for folder in &folders {
            let path = folder.path().canonicalize().unwrap_or_else(|_| folder.path().to_owned());
            if seen.contains(&path) {
                return Err(StudyError::Twice(folder.path().to_owned()));
            }
            seen.push(path);
        }
        let known = folders.iter().map(|folder| Known::read(folder, asked, threads));
        let known = known.collect::<Result<Vec<Known>, StudyError>>()?;
        let Some(first) = known.first() else { return Err(StudyError::NoRun) };
        let differences = differences(&known)?;
        if differences.iter().any(|difference| !may_vary(difference.what)) {
            return Err(StudyError::Unlike(differences));
        }
        let trace = match first.folder.manifest().accounting {
            Some(_) => first.folder.read_trace(threads)?,
            None => Trace::default(),
        };
        let mut study = Study::of(&known, first, &trace);
        let warning = |difference: &Difference| {
            Warning::new("the runs differ", format!("{difference}; see them one by one"))
        };
        study.warnings.extend(differences.iter().map(warning));
        Ok(study)
    }

    /// What there is to see in a run of which everything is in memory; `power` is all that was metered.
    pub fn of_run(folder: &RunFolder, footprint: &Footprint, power: &[MeteredSeries], trace: &Trace) -> Study {
        let run = Known { folder, footprint: Cow::Borrowed(footprint), power: Cow::Borrowed(power) };
        Study::of(slice::from_ref(&run), &run, trace)
    }

    fn of(known: &[Known<'_>], first: &Known<'_>, trace: &Trace) -> Study {
        let tefs: Vec<Tef> = known.iter().map(|run| Tef::from(&*run.footprint)).collect();
        let tef = mean(&tefs);
        let edges = flow(known.iter().map(|run| &run.footprint.model));
        let tree = t2e(&tef, &edges);
        // Of several runs the deviation says how sure a mean is.
        let tree = if known.len() == 1 { tree.predicted(&first.footprint.intervals) } else { tree };
        let folding = Folding::of(&tef);
        let folded: Vec<Tef> = tefs.iter().map(|tef| folding.tef(tef)).collect();
        let floor = PowerFloor::of(&first.power);
        let (top_energy, top_power) = spread::tops(&folded, TOP, &floor);
        let program: &Program = &trace.program;
        let energy = ProgramEnergy::new(program, first.power.to_vec());
        let wholes: Vec<Whole> = known.iter().map(Known::whole).collect();
        let trusts: Vec<Trust> = known
            .iter()
            .zip(&wholes)
            .map(|(run, whole)| Trust::of(run.folder.manifest().recording.as_ref(), whole))
            .collect();
        let footprints: Vec<&Footprint> = known.iter().map(|run| &*run.footprint).collect();
        let whole = Whole::mean(&wholes).unwrap_or_else(|| Whole::unplaced(Joules::ZERO, None, None));
        let trust = Trust::of_all(trusts, &whole);
        let study = Study {
            title: provenance::title(first.folder),
            runs: known.len(),
            devices: totals::devices(known.iter().map(|run| (run.folder.manifest(), &*run.footprint))),
            top_energy,
            top_power,
            stages: totals::stages(&wholes),
            in_stages: in_stages::in_stages(&footprints, &tef),
            phases: energy.phases(),
            steps: energy.steps_by_stage(),
            windows: energy.windows(),
            parts: parts(&first.footprint),
            power: PowerView::of(&first.power, trace),
            provenance: known.iter().map(|run| Provenance::of(run.folder)).collect(),
            warnings: all_warnings(known),
            whole,
            trust,
            spread: Spread::of(&tefs),
            folding,
            floor,
            tef,
            edges,
            tree,
        };
        study.disclosed(&Disclosure::relative(first.folder.path()))
    }

    /// The same with what it says about its machine and its folders as it may be shown.
    pub fn disclosed(mut self, disclosure: &Disclosure) -> Study {
        self.title = disclosure.command(&self.title);
        self.warnings = self.warnings.iter().map(|warning| disclosure.warning(warning)).collect();
        self.provenance = self.provenance.into_iter().map(|run| run.disclosed(disclosure)).collect();
        if disclosure.is_anonymous() {
            let device = |device: &Device| disclosure.device(device);
            self.devices
                .iter_mut()
                .filter_map(|total| total.device.as_mut())
                .for_each(|name| *name = device(name));
            let entry = |entry: &TefEntry| TefEntry { device: device(&entry.device), ..entry.clone() };
            self.tef = Tef::new(self.tef.entries().iter().map(entry).collect());
            let ranked = self.top_energy.iter_mut().chain(&mut self.top_power);
            ranked.for_each(|ranked| ranked.entry.device = device(&ranked.entry.device));
            let tracks = self.power.run.iter_mut();
            let tracks = tracks.chain(self.power.step.iter_mut().flat_map(|step| &mut step.tracks));
            tracks.for_each(|track| track.device = device(&track.device));
            self.spread = self.spread.on(&device);
            self.floor = self.floor.on(&device);
        }
        self
    }

    /// The standard deviation of what a layer used, over the runs; `None` when there is one run.
    pub fn deviation_of(&self, path: &str) -> Option<Joules> {
        self.spread.of_layer(path)
    }

    /// The standard deviation of what an operation used, over the runs; `None` when there is one run.
    pub fn deviation_of_operation(&self, entry: &TefEntry) -> Option<Joules> {
        self.spread.of_operation(entry)
    }

    /// The energy of all devices; a meter at the plug sees what the others see and is left out, unless it is alone.
    pub fn total(&self) -> DeviceTotal {
        DeviceTotal::sum(&self.devices)
    }

    /// The folder of the first run, by which files are named.
    pub fn path(&self) -> &Path {
        self.provenance.first().map_or(Path::new(""), |provenance| &provenance.path)
    }
}

/// What differs between several runs.
fn differences(known: &[Known<'_>]) -> Result<Vec<Difference>, RunError> {
    if known.len() < 2 {
        return Ok(Vec::new());
    }
    let compared = known.iter().map(|run| {
        let (folder, footprint) = (run.folder, &*run.footprint);
        Ok(likeness::Compared { folder, footprint, program: folder.read_program()? })
    });
    Ok(likeness::differences(&compared.collect::<Result<Vec<_>, RunError>>()?))
}

/// The warnings about all runs; where there are several, each names its run.
fn all_warnings(known: &[Known<'_>]) -> Vec<Warning> {
    let of_run = |run: &Known<'_>| {
        let about = run.folder.path().display().to_string();
        let named = move |warning: Warning| match known {
            [_] => warning,
            _ => Warning { source: format!("{about}: {}", warning.source), ..warning },
        };
        warnings(run.folder).into_iter().map(named)
    };
    known.iter().flat_map(of_run).collect()
}

/// The data flow of a model that ran several times.
fn flow<'a>(models: impl Iterator<Item = &'a ModelTree>) -> Vec<TensorEdge> {
    // Runs of one program have one model; it is taken from the one of which most is known.
    models.max_by_key(|model| model.edges().len()).map(tensor_edges).unwrap_or_default()
}
