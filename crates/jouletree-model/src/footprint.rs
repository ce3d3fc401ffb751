//! Footprints: the result of accounting.

use serde::{Deserialize, Serialize};

use crate::{
    Device, DeviceErrors, Joules, Kind, ModelTree, Nanos, OpId, OpTable, PartCharge, PartEnergy,
    PredictedInterval, Step, TraceSource, Warning, Watts, standard_error_of_same,
};

/// Where the energy went: the tensor energy footprint (TEF) of every device, and what was not attributed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Footprint {
    /// The trace files behind it.
    pub sources: Vec<TraceSource>,
    /// Every device with events or power.
    pub devices: Vec<DeviceEnergy>,
    /// The operations that entries refer to by number.
    pub ops: OpTable,
    /// What each operation used on each device, by device, then by operation. Of a program with recorded steps: within
    /// these.
    pub energies: Vec<OpEnergy>,
    /// The stages that energies refer to by number, with their balances; none when the program marked none.
    pub stages: Vec<StageEnergy>,
    /// What the operations of each step used on each device; empty when the trace has no steps. Of a program with recorded
    /// steps: of these.
    pub steps: Vec<StepEnergy>,
    /// The parts of the program's time with what each used; none when the program has no steps.
    pub parts: Vec<PartEnergy>,
    /// What each operation used in each part. Operations outside of recorded steps are here and not in `energies`.
    pub charges: Vec<PartCharge>,
    /// Of a prediction, within which the energies of layers and operations are expected.
    pub intervals: Vec<PredictedInterval>,
    /// The model, as far as the trace or a file beside it has it.
    pub model: ModelTree,
    /// What the user should know about the input.
    pub warnings: Vec<Warning>,
    /// How the errors of charges go together, device by device, where the policy estimated powers. It is not kept in files: who
    /// needs it accounts again.
    pub errors: Vec<DeviceErrors>,
}

/// The balance of one device: `attributed + unattributed = total`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceEnergy {
    /// The device.
    pub device: Device,
    /// All its energy: what its meter saw, or what was predicted; `None` when nothing metered it. Files call it `measured`.
    #[serde(rename = "measured")]
    pub total: Option<Joules>,
    /// What operations were charged with.
    pub attributed: Joules,
    /// What no operation was charged with. Of a program with recorded steps: no operation within these.
    pub unattributed: Joules,
    /// The part of `unattributed` while no operations were recorded: before and after the trace, and between the steps
    /// that were chosen.
    pub outside_trace: Joules,
    /// How the measured energy came to be; `None` when nothing metered the device.
    pub kind: Option<Kind>,
    /// How long at least one operation ran while the meter did, too.
    pub busy: Nanos,
    /// How long the meter ran.
    pub metered: Nanos,
    /// How long operations ran, summed over lanes, while no power is known.
    pub uncovered: Nanos,
}

/// What one operation used on one device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OpEnergy {
    /// The index of the device in [`Footprint::devices`].
    pub device: usize,
    /// The operation.
    pub op: OpId,
    /// The index of the stage in [`Footprint::stages`]; zero where there are none.
    pub stage: usize,
    /// The energy it was charged with.
    pub energy: Joules,
    /// How long it was the active operation of a lane while power is known.
    pub busy: Nanos,
    /// How often it ran.
    pub count: u64,
    /// The standard error of `energy`, apart from the common factor by which all energies of the device may be off; `None`
    /// where the attribution policy does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<Joules>,
}

/// The balance of one stage: what its devices used while it lasted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageEnergy {
    /// Its name; empty for the time before the first stage.
    pub name: Box<str>,
    /// The balance of every device, in the order of [`Footprint::devices`].
    pub devices: Vec<DeviceEnergy>,
}

/// What one step used on one device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepEnergy {
    /// The index of the device in [`Footprint::devices`].
    pub device: usize,
    /// The step.
    pub step: Step,
    /// The energy its operations were charged with.
    pub energy: Joules,
    /// How long its operations were active, summed over lanes.
    pub busy: Nanos,
}

impl Footprint {
    /// The same with every energy, time and count of operations multiplied, as an estimate of more of the same.
    pub fn scaled(&self, factor: f64) -> Footprint {
        let more = |time: Nanos| Nanos((time.0 as f64 * factor).round() as i64);
        let charged = |charged: &OpEnergy| OpEnergy {
            energy: Joules(charged.energy.0 * factor),
            busy: more(charged.busy),
            count: (charged.count as f64 * factor).round() as u64,
            standard_error: charged.standard_error.map(|error| Joules(error.0 * factor.abs())),
            ..*charged
        };
        Footprint { energies: self.energies.iter().map(charged).collect(), ..self.clone() }
    }

    /// The part of it that was used during one stage; steps and parts are those of the whole only.
    pub fn of_stage(&self, stage: usize) -> Option<Footprint> {
        let devices = self.stages.get(stage)?.devices.clone();
        let energies = self.energies.iter().filter(|charged| charged.stage == stage);
        let energies = energies.map(|charged| OpEnergy { stage: 0, ..*charged }).collect();
        let (stages, steps, parts, charges) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Some(Footprint { devices, energies, stages, steps, parts, charges, intervals: Vec::new(), ..self.clone() })
    }
}

impl OpEnergy {
    /// Adds what the same operation used on the same device elsewhere: in another stage, or another part.
    pub fn add(&mut self, other: &OpEnergy) {
        let (mine, more) = ((self.energy, self.standard_error), (other.energy, other.standard_error));
        self.standard_error = standard_error_of_same(mine, more);
        self.energy += other.energy;
        self.busy += other.busy;
        self.count = self.count.saturating_add(other.count);
    }

    /// Its average power while it was active; `None` when it never was.
    pub fn power(&self) -> Option<Watts> {
        (self.busy > Nanos(0)).then(|| self.energy / self.busy)
    }
}
