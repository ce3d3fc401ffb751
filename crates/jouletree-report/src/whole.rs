//! All joules of a run, and where each part of them is. Every view begins with it, so that shares have the same base everywhere:
//! the run, or its recorded steps.

use jouletree_account::Spreads;
use jouletree_model::{
    DeviceClass, DeviceEnergy, Footprint, Interval, Joules, Kind, PartEnergy, PartKind, Pass, Spread, StageEnergy,
};
use jouletree_run::{Balance, Recording};
use serde::{Serialize, Serializer};

/// What a share is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// All that the process tree used.
    Run,
    /// What it used in recorded steps: in operations and between them.
    RecordedSteps,
    /// The same while its trace lasted; it has no steps.
    Trace,
    /// What all steps used, those that were not recorded by an estimate from those that were.
    AllSteps,
}

impl Base {
    /// For people: `of the run`.
    pub fn as_str(self) -> &'static str {
        match self {
            Base::Run => "of the run",
            Base::RecordedSteps => "of recorded steps",
            Base::Trace => "of the trace",
            Base::AllSteps => "of all steps",
        }
    }
}

/// Where energy is. Each joule is in one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Slice {
    /// Operations of recorded steps, or of a trace without steps.
    Operations,
    /// Recorded steps, while no operation ran.
    BetweenOperations,
    /// Steps whose operations were not recorded.
    UnrecordedSteps,
    /// Before the first step, and while a framework traced or compiled.
    StartUp,
    /// Between steps, after the last, while operations were written, before and after a trace.
    Rest,
}

impl Slice {
    /// Every slice, in this order.
    pub const ALL: [Slice; 5] =
        [Slice::Operations, Slice::BetweenOperations, Slice::UnrecordedSteps, Slice::StartUp, Slice::Rest];

    fn of(kind: PartKind) -> Slice {
        match kind {
            PartKind::RecordedSteps | PartKind::Operations => Slice::BetweenOperations,
            PartKind::UnrecordedSteps => Slice::UnrecordedSteps,
            PartKind::Compilation | PartKind::BeforeSteps => Slice::StartUp,
            PartKind::Recording | PartKind::BetweenSteps | PartKind::AfterSteps | PartKind::NoSteps => Slice::Rest,
        }
    }
}

/// What was used in one slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SliceEnergy {
    /// Where.
    pub slice: Slice,
    /// What was used there.
    pub energy: Joules,
    /// What operations were charged with of it.
    pub operations: Joules,
}

/// What was used during one stage, cut without a remainder.
#[derive(Debug, Clone, PartialEq)]
pub struct StageWhole {
    /// Its name; empty for the time before the first.
    pub name: String,
    /// All of it.
    pub energy: Joules,
    /// What operations of recorded steps used, in the order of [`Pass::ALL`].
    pub passes: [Joules; 3],
    /// What was used in recorded steps while no operation ran.
    pub between: Joules,
    /// What was used outside of recorded steps.
    pub outside: Joules,
}

/// All joules of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// What the process tree used, or what was metered where that is not known.
    pub energy: Joules,
    /// How far from a meter it is; of several devices, the farthest.
    pub kind: Option<Kind>,
    /// Its 95 % interval, where it is known.
    pub interval: Option<Interval>,
    /// Where it is: every slice, in order. They sum up to `energy`.
    pub slices: Vec<SliceEnergy>,
    /// What operations of recorded steps used, in the order of [`Pass::ALL`].
    pub passes: [Joules; 3],
    /// What its stages used; none when the program named none. They sum up to `energy`.
    pub stages: Vec<StageWhole>,
    /// What shares of operations and layers are shares of, beside the run.
    pub base: Base,
    /// The energy of the run, of which this may be a stage.
    pub run: Joules,
    /// What was used while frameworks traced and compiled: a part of [`Slice::StartUp`].
    pub compilation: Joules,
}

impl Whole {
    /// Where the energy of a footprint is.
    pub fn of(footprint: &Footprint, spreads: &Spreads) -> Whole {
        let devices = Counted::of(&footprint.devices);
        let sum = |of: fn(&DeviceEnergy) -> Joules| devices.sum(&footprint.devices, of);
        let energy = sum(|balance| balance.total.unwrap_or(Joules::ZERO));
        let mut slices = [(Joules::ZERO, Joules::ZERO); 5];
        if footprint.parts.is_empty() {
            let (attributed, outside) = (sum(charged), sum(|balance| balance.outside_trace));
            slices[0] = (attributed, attributed);
            slices[1].0 = energy - attributed - outside;
            slices[4].0 = outside;
        }
        for part in &footprint.parts {
            let balance = footprint.of_part(part);
            let slice = Slice::of(part.part.kind) as usize;
            let inside = if part.part.is_recorded() { balance.operations } else { Joules::ZERO };
            slices[0].0 += inside;
            slices[0].1 += inside;
            slices[slice].0 += balance.energy - inside;
            slices[slice].1 += balance.operations - inside;
        }
        rounded(&mut slices, energy);
        let slice =
            |(slice, (energy, operations)): (Slice, (Joules, Joules))| SliceEnergy { slice, energy, operations };
        let has_steps = footprint.parts.iter().any(|part: &PartEnergy| part.part.kind == PartKind::RecordedSteps);
        let compiling = footprint.parts.iter().filter(|part| part.part.kind == PartKind::Compilation);
        let compilation: Joules = compiling.map(|part| footprint.of_part(part).energy).sum();
        Whole {
            energy,
            kind: devices.kind(&footprint.devices),
            interval: devices.interval(&footprint.devices, spreads),
            slices: Slice::ALL.into_iter().zip(slices).map(slice).collect(),
            passes: passes(footprint, None),
            stages: (footprint.stages.iter().enumerate())
                .map(|(number, stage)| StageWhole::of(footprint, number, stage))
                .collect(),
            base: if has_steps { Base::RecordedSteps } else { Base::Trace },
            run: energy,
            // No more than its slice, which has no rounding.
            compilation: Joules(compilation.0.clamp(0.0, slices[Slice::StartUp as usize].0.0)),
        }
    }

    /// The same for all steps: those that were not recorded, by an estimate from those that were. `scaled` is the footprint of
    /// all steps. The energy of the run stays as it is.
    pub fn of_all_steps(footprint: &Footprint, scaled: &Footprint, spreads: &Spreads) -> Whole {
        let recorded = Whole::of(footprint, spreads);
        let passes = passes(scaled, None);
        let operations: Joules = passes.iter().copied().sum();
        let groups = footprint.step_groups();
        let reached: Joules =
            groups.iter().filter(|group| group.factor().is_some()).map(|group| group.energy).sum();
        // A program without recorded steps was recorded throughout.
        let parts = footprint.parts.iter().filter(|part| part.part.kind == PartKind::Operations);
        let throughout: Joules = parts.map(|part| footprint.of_part(part).energy).sum();
        let steps = match footprint.parts.is_empty() {
            true => Joules(operations.0.max(recorded.recorded().0)),
            false => reached + throughout,
        };
        let missing: Joules =
            groups.iter().filter(|group| group.factor().is_none()).map(|group| group.energy).sum();
        let mut slices = recorded.slices.clone();
        for slice in &mut slices {
            match slice.slice {
                Slice::Operations => (slice.energy, slice.operations) = (operations, operations),
                Slice::BetweenOperations => (slice.energy, slice.operations) = (steps - operations, Joules::ZERO),
                Slice::UnrecordedSteps => slice.energy = missing,
                Slice::StartUp | Slice::Rest => {}
            }
        }
        // Where the program has no parts, steps that were not recorded are a part of the rest.
        let others: Joules =
            slices.iter().filter(|slice| slice.slice != Slice::Rest).map(|slice| slice.energy).sum();
        if let Some(rest) = slices.last_mut() {
            rest.energy = recorded.energy - others;
        }
        Whole { slices, passes, stages: Vec::new(), base: Base::AllSteps, ..recorded }
    }

    /// One stage of a run, whose shares are still shares of the run.
    pub fn of_stage(stage: &Footprint, run: &Whole, spreads: &Spreads) -> Whole {
        Whole { base: run.base, run: run.run, ..Whole::of(stage, spreads) }
    }

    /// The energy of a recording that was not accounted: what the process tree used, where that is known.
    pub fn of_recording(recording: &Recording) -> Whole {
        let is_machine = |balance: &&Balance| balance.device.class() == DeviceClass::Machine;
        let known = || recording.balance.iter().filter(|one| one.domain.is_none() && one.coverage > 0.0);
        let machines = known().all(|balance| is_machine(&balance));
        let counted = || known().filter(|balance| machines || !is_machine(balance));
        let used = |balance: &Balance| used(recording, balance);
        let energy: Joules = counted().map(used).sum();
        let ends = counted().map(|balance| Some(balance.spread()?.around(used(balance))));
        let interval = ends.reduce(|sum, one| {
            let (sum, one) = (sum?, one?);
            Some(Interval { low: sum.low + one.low, high: sum.high + one.high })
        });
        Whole::unplaced(energy, counted().map(|balance| balance.kind).max(), interval.flatten())
    }

    /// Energy of which nothing is known but its amount.
    pub fn unplaced(energy: Joules, kind: Option<Kind>, interval: Option<Interval>) -> Whole {
        let slice = |slice: Slice| {
            let energy = if slice == Slice::Rest { energy } else { Joules::ZERO };
            SliceEnergy { slice, energy, operations: Joules::ZERO }
        };
        let slices = Slice::ALL.map(slice).to_vec();
        let passes = [Joules::ZERO; 3];
        let (stages, compilation) = (Vec::new(), Joules::ZERO);
        Whole { energy, kind, interval, slices, passes, stages, base: Base::Trace, run: energy, compilation }
    }

    /// The mean of several runs; slices, passes and stages still sum up to it.
    pub fn mean(runs: &[Whole]) -> Option<Whole> {
        let first = runs.first()?;
        let count = runs.len() as f64;
        let mean = |of: &dyn Fn(&Whole) -> Joules| Joules(runs.iter().map(|run| of(run).0).sum::<f64>() / count);
        let bound = |of: fn(Interval) -> Joules| {
            let ends = runs.iter().map(|run| Some(of(run.interval?).0)).sum::<Option<f64>>();
            ends.map(|sum| Joules(sum / count))
        };
        let interval = bound(|interval| interval.low).zip(bound(|interval| interval.high));
        let slice = |slice: Slice| SliceEnergy {
            slice,
            energy: mean(&|run| run.at(slice).energy),
            operations: mean(&|run| run.at(slice).operations),
        };
        let mut names: Vec<&String> = Vec::new();
        for stage in runs.iter().flat_map(|run| &run.stages) {
            if !names.contains(&&stage.name) {
                names.push(&stage.name);
            }
        }
        let stage = |name: &String| {
            let of = |pick: &dyn Fn(&StageWhole) -> Joules| {
                mean(&|run: &Whole| run.stages.iter().filter(|stage| stage.name == *name).map(pick).sum())
            };
            StageWhole {
                name: name.clone(),
                energy: of(&|stage| stage.energy),
                passes: [0, 1, 2].map(|pass| of(&|stage| stage.passes[pass])),
                between: of(&|stage| stage.between),
                outside: of(&|stage| stage.outside),
            }
        };
        Some(Whole {
            energy: mean(&|run| run.energy),
            kind: runs.iter().filter_map(|run| run.kind).max(),
            interval: interval.map(|(low, high)| Interval { low, high }),
            slices: Slice::ALL.map(slice).to_vec(),
            passes: [0, 1, 2].map(|pass| mean(&|run| run.passes[pass])),
            stages: names.into_iter().map(stage).collect(),
            base: first.base,
            run: mean(&|run| run.run),
            compilation: mean(&|run| run.compilation),
        })
    }

    /// What was used in a slice.
    pub fn at(&self, slice: Slice) -> SliceEnergy {
        let nothing = SliceEnergy { slice, energy: Joules::ZERO, operations: Joules::ZERO };
        self.slices.iter().find(|known| known.slice == slice).copied().unwrap_or(nothing)
    }

    /// What recorded steps used, or the time of the trace: the energy that [`Whole::base`] names.
    pub fn recorded(&self) -> Joules {
        self.at(Slice::Operations).energy + self.at(Slice::BetweenOperations).energy
    }

    /// An energy as a part of the run.
    pub fn of_run(&self, energy: Joules) -> f64 {
        part(energy, self.run)
    }

    /// An energy as a part of what [`Whole::base`] names.
    pub fn of_base(&self, energy: Joules) -> f64 {
        part(energy, self.recorded())
    }

    /// By what the energy may be off, where it is known.
    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.energy, self.interval?)
    }

    /// Whether the two bases differ.
    pub fn has_base(&self) -> bool {
        self.recorded().0 > 0.0 && part(self.recorded(), self.run) < 0.9995
    }

    /// What a slice is called.
    pub fn name(&self, slice: Slice) -> &'static str {
        let has_operations = self.at(Slice::Operations).energy.0 > 0.0;
        match (slice, self.base) {
            (Slice::Operations, Base::RecordedSteps) => "operations of recorded steps",
            (Slice::Operations, Base::AllSteps) => "operations of all steps (scaled)",
            (Slice::Operations, _) => "operations",
            (Slice::BetweenOperations, _) => "between operations",
            (Slice::UnrecordedSteps, _) => "steps that were not recorded",
            (Slice::StartUp, _) => "start-up and compilation",
            (Slice::Rest, Base::Trace) if has_operations => "before and after the trace",
            (Slice::Rest, Base::Trace) => "where no operation was recorded",
            (Slice::Rest, _) => "the rest",
        }
    }

    /// Places with energy outside of operations, by name.
    pub fn beside_operations(&self) -> Vec<(&'static str, Joules)> {
        let others = self.slices.iter().filter(|slice| slice.slice != Slice::Operations);
        let used = others.filter(|slice| part(slice.energy, self.energy) > NOTHING);
        used.map(|slice| (self.name(slice.slice), slice.energy)).collect()
    }

    /// Where the energy is, in a sentence: `64.3 J: operations of recorded steps 29.5 %, …`.
    pub fn sentence(&self) -> String {
        let used = self.slices.iter().filter(|slice| part(slice.energy, self.energy) > NOTHING);
        let slices = used.map(|slice| {
            let percent = 100.0 * part(slice.energy, self.energy);
            let percent = if percent < 0.05 { "< 0.1 %".to_owned() } else { format!("{percent:.1} %") };
            format!("{percent} {}", self.name(slice.slice))
        });
        slices.collect::<Vec<_>>().join(", ")
    }
}

/// A smaller part is the rounding of sums.
const NOTHING: f64 = 1e-9;

impl StageWhole {
    fn of(footprint: &Footprint, number: usize, stage: &StageEnergy) -> StageWhole {
        let devices = Counted::of(&footprint.devices);
        let sum = |of: fn(&DeviceEnergy) -> Joules| devices.sum(&stage.devices, of);
        let energy = sum(|balance| balance.total.unwrap_or(Joules::ZERO));
        let outside = sum(|balance| balance.outside_trace);
        let passes = passes(footprint, Some(number));
        let operations: Joules = passes.iter().copied().sum();
        let between = Joules((energy - operations - outside).0.max(0.0));
        // What was rounded is outside.
        let outside = energy - operations - between;
        StageWhole { name: stage.name.to_string(), energy, passes, between, outside }
    }
}

/// The devices whose energies are summed: a machine's meter sees what the others see and is left out, unless it is alone.
struct Counted {
    machines: bool,
}

impl Counted {
    fn of(devices: &[DeviceEnergy]) -> Counted {
        let is_known = |balance: &&DeviceEnergy| balance.total.is_some();
        Counted { machines: devices.iter().filter(is_known).all(is_machine) }
    }

    fn counted<'a>(&self, devices: &'a [DeviceEnergy]) -> impl Iterator<Item = &'a DeviceEnergy> {
        let machines = self.machines;
        devices.iter().filter(move |balance| machines || !is_machine(balance))
    }

    fn sum(&self, devices: &[DeviceEnergy], of: fn(&DeviceEnergy) -> Joules) -> Joules {
        self.counted(devices).filter(|balance| balance.total.is_some()).map(of).sum()
    }

    fn kind(&self, devices: &[DeviceEnergy]) -> Option<Kind> {
        self.counted(devices).filter_map(|balance| balance.kind).max()
    }

    fn interval(&self, devices: &[DeviceEnergy], spreads: &Spreads) -> Option<Interval> {
        let used = self.counted(devices).filter_map(|balance| Some((&balance.device, balance.total?)));
        let mut sum = None;
        for (device, energy) in used.filter(|(_, energy)| energy.0 > 0.0) {
            let one = spreads.get(device)?.around(energy);
            let before = sum.unwrap_or(Interval { low: Joules::ZERO, high: Joules::ZERO });
            sum = Some(Interval { low: before.low + one.low, high: before.high + one.high });
        }
        sum
    }
}

/// What a recording is about: what its process tree used of a device, or all of it where the machine was recorded.
pub(crate) fn used(recording: &Recording, balance: &Balance) -> Joules {
    let has_tree = !recording.command.is_empty() || recording.pid.is_some();
    balance.parts.filter(|_| has_tree).map_or(balance.energy, |parts| parts.ours)
}

fn is_machine(balance: &DeviceEnergy) -> bool {
    balance.device.class() == DeviceClass::Machine
}

fn charged(balance: &DeviceEnergy) -> Joules {
    balance.attributed
}

/// What operations used by pass, in one stage or in all.
fn passes(footprint: &Footprint, stage: Option<usize>) -> [Joules; 3] {
    let counted = Counted::of(&footprint.devices);
    let is_counted = |device: usize| {
        let device = footprint.devices.get(device);
        device.is_some_and(|balance| balance.total.is_some() && (counted.machines || !is_machine(balance)))
    };
    let mut sums = [Joules::ZERO; 3];
    for charged in footprint.energies.iter().filter(|charged| is_counted(charged.device)) {
        let Some(op) = footprint.ops.get(charged.op).filter(|_| stage.is_none_or(|stage| charged.stage == stage))
        else {
            continue;
        };
        if let Some(slice) = Pass::ALL.iter().position(|pass| *pass == op.pass) {
            sums[slice] += charged.energy;
        }
    }
    sums
}

/// Takes the rounding of sums out: no slice has less than nothing, and all of them make `energy`.
fn rounded(slices: &mut [(Joules, Joules); 5], energy: Joules) {
    for (energy, operations) in slices.iter_mut() {
        energy.0 = energy.0.max(0.0);
        operations.0 = operations.0.max(0.0);
    }
    let sum: Joules = slices.iter().map(|(energy, _)| *energy).sum();
    let off = energy - sum;
    if off.0 > NOTHING * energy.0 {
        // Energy in no part of the program's time.
        slices[4].0 += off;
    }
}

fn part(part: Joules, whole: Joules) -> f64 {
    if whole.0 > 0.0 { part.0 / whole.0 } else { 0.0 }
}

/// As JSON; `docs/json.md` documents every field.
impl Serialize for Whole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct SliceRow {
            slice: Slice,
            name: &'static str,
            energy_j: f64,
            operations_j: f64,
            run_share: f64,
        }
        #[derive(Serialize)]
        struct PassRow {
            pass: Pass,
            energy_j: f64,
            run_share: f64,
            base_share: f64,
        }
        #[derive(Serialize)]
        struct Row<'a> {
            energy_j: f64,
            kind: Option<Kind>,
            low_j: Option<f64>,
            high_j: Option<f64>,
            base: Base,
            base_j: f64,
            slices: Vec<SliceRow>,
            passes: Vec<PassRow>,
            stages: Vec<StageRow<'a>>,
        }
        #[derive(Serialize)]
        struct StageRow<'a> {
            stage: &'a str,
            energy_j: f64,
            run_share: f64,
        }
        let slice = |known: &SliceEnergy| SliceRow {
            slice: known.slice,
            name: self.name(known.slice),
            energy_j: known.energy.0,
            operations_j: known.operations.0,
            run_share: self.of_run(known.energy),
        };
        let pass = |(pass, energy): (Pass, Joules)| PassRow {
            pass,
            energy_j: energy.0,
            run_share: self.of_run(energy),
            base_share: self.of_base(energy),
        };
        let stage = |stage: &'_ StageWhole| (stage.energy.0, self.of_run(stage.energy));
        Row {
            energy_j: self.energy.0,
            kind: self.kind,
            low_j: self.interval.map(|interval| interval.low.0),
            high_j: self.interval.map(|interval| interval.high.0),
            base: self.base,
            base_j: self.recorded().0,
            slices: self.slices.iter().map(slice).collect(),
            passes: Pass::ALL.into_iter().zip(self.passes).map(pass).collect(),
            stages: (self.stages.iter())
                .map(|known| {
                    let (energy_j, run_share) = stage(known);
                    StageRow { stage: &known.name, energy_j, run_share }
                })
                .collect(),
        }
        .serialize(serializer)
    }
}
