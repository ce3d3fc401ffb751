//! A run as trackers see it: the energy of its processors, GPUs and memory, its machine and its times.

use jiff::Timestamp;
use jouletree_carbon::formats::codecarbon::Utilization;
use jouletree_carbon::formats::{ClassEnergy, Machine, Parts, Record};
use jouletree_carbon::settings::{Key, Settings};
use jouletree_carbon::{Context, Embodied, memory};
use jouletree_model::{DeviceClass, DeviceEnergy, Grams, Joules, Kind, Nanos, Warning};
use jouletree_run::{Balance, HostFacts, Recording, Resources, RunError, RunFolder, Scope};
use uuid::Uuid;

use super::CarbonError;

/// Bytes of what trackers call a gigabyte.
const GIB: f64 = (1_u64 << 30) as f64;

/// Whose energy counts, as CodeCarbon calls it.
pub fn tracking_mode(scope: Scope) -> &'static str {
    match scope {
        Scope::Device => "machine",
        Scope::Tree => "process",
    }
}

/// Whose energy counts by the settings; by default the program's part, where there is a program.
pub fn scope_of(
    settings: &Settings,
    has_program: bool,
) -> Result<Scope, jouletree_carbon::settings::SettingsError> {
    let scope = |text: &str| [Scope::Device, Scope::Tree].into_iter().find(|scope| tracking_mode(*scope) == text);
    let set = settings.parsed(Key::TrackingMode, "machine or process", scope)?;
    Ok(set.unwrap_or(if has_program { Scope::Tree } else { Scope::Device }))
}

/// A run as trackers see it.
pub fn record(
    run: &RunFolder,
    settings: &Settings,
    context: Context,
    warnings: &mut Vec<Warning>,
) -> Result<Record, CarbonError> {
    let manifest = run.manifest();
    let recording = manifest.recording.as_ref();
    // Who accounted all that devices used does not want the program's part now.
    let has_program = match (&manifest.accounting, recording) {
        (Some(accounting), _) => accounting.energy == Scope::Tree,
        (None, recording) => recording.is_some_and(|recording| recording.pid.is_some()),
    };
    let scope = scope_of(settings, has_program)?;
    let (start, end) = match recording {
        Some(recording) => (Nanos(recording.began_ns), Nanos(recording.began_ns) + Nanos(recording.duration_ns)),
        None => times_of(run)?,
    };
    let mut parts = match recording {
        Some(recording) => of_recording(recording, scope),
        None => of_devices(&manifest.devices),
    };
    let machine = machine_of(recording, &manifest.processes.first().map(|process| process.python.clone()));
    memory::apply(&mut parts, settings, machine.memory_gib, end - start, warnings)?;
    Ok(Counted { run_id: run_id(run, start), start, end, parts, scope, machine }.record(settings, context))
}

/// What was counted, before its impact is known.
pub struct Counted {
    /// The number of the run.
    pub run_id: String,
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// The energy of processors, GPUs and memory.
    pub parts: Parts,
    /// Whose energy it is.
    pub scope: Scope,
    /// What it ran on.
    pub machine: Machine,
}

impl Counted {
    /// The same with what settings say of it, and where it was.
    pub fn record(self, settings: &Settings, context: Context) -> Record {
        let Counted { run_id, start, end, parts, scope, machine } = self;
        Record {
            run_id,
            project: settings.text(Key::Project).unwrap_or_default(),
            experiment: settings.text(Key::Experiment).unwrap_or_default(),
            start,
            end,
            parts,
            tracking_mode: tracking_mode(scope).to_owned(),
            machine,
            context,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The number of a run: the same whenever it is asked for.
fn run_id(run: &RunFolder, start: Nanos) -> String {
    let recording = run.manifest().recording.as_ref();
    let host = recording.and_then(|recording| recording.host.name.clone()).unwrap_or_default();
    let pid = recording.and_then(|recording| recording.pid).unwrap_or_default();
    let about = format!("jouletree run {host} {pid} {} {}", start.0, run.manifest().created);
    Uuid::new_v5(&Uuid::NAMESPACE_OID, about.as_bytes()).to_string()
}

/// When it was, as far as it is known of a run whose power was not recorded by jouletree: from the first of its power on. A
/// prediction has none, and is of the time when it was made.
fn times_of(run: &RunFolder) -> Result<(Nanos, Nanos), RunError> {
    let manifest = run.manifest();
    let length = manifest.devices.iter().map(|device| device.metered).max().unwrap_or(Nanos(0));
    let first =
        run.read_power()?.iter().filter_map(|metered| metered.series.extent()).map(|extent| extent.start).min();
    let made = manifest.created.parse::<Timestamp>().map_or(0, |time| time.as_nanosecond());
    let made = Nanos(i64::try_from(made).unwrap_or_default());
    let start = first.unwrap_or(made - length);
    Ok((start, start + length))
}

fn of_recording(recording: &Recording, scope: Scope) -> Parts {
    let devices = recording.balance.iter().filter(|balance| balance.domain.is_none());
    sum(devices.map(|Balance { device, kind, energy, low, high, parts, .. }| {
        let whole = ClassEnergy { energy: *energy, low: *low, high: *high, kind: *kind };
        let users = parts.map(|parts| (parts.ours, parts.unknown));
        (device.class(), charged(device.class(), whole, users, scope))
    }))
}

/// What a device counts for: all of it, or the program's part with the bounds of the whole scaled to it. `users` are the
/// program's joules and those of times without a known share.
pub fn charged(
    class: DeviceClass,
    whole: ClassEnergy,
    users: Option<(Joules, Joules)>,
    scope: Scope,
) -> ClassEnergy {
    let (Scope::Tree, Some((ours, unknown))) = (scope, users) else { return whole };
    let part = |joules: Joules| match whole.energy.0 > 0.0 {
        true => (joules.0 / whole.energy.0).min(1.0),
        false => 1.0,
    };
    ClassEnergy {
        // A GPU whose driver does not report its users is taken to work for the program.
        energy: if class == DeviceClass::Gpu { ours + unknown } else { ours },
        low: Joules(part(ours) * whole.low.0),
        high: Joules(part(ours + unknown) * whole.high.0),
        kind: whole.kind.max(Kind::Derived),
    }
}

/// What was accounted from files, or predicted: the energy of devices, without bounds.
pub fn of_devices(devices: &[DeviceEnergy]) -> Parts {
    let metered = devices.iter().filter_map(|device| Some((device.device.class(), device.total?, device.kind?)));
    sum(metered.map(|(class, energy, kind)| (class, ClassEnergy { energy, low: energy, high: energy, kind })))
}

/// Sums devices by class. A machine counts only where nothing in it is metered.
pub fn sum(devices: impl Iterator<Item = (DeviceClass, ClassEnergy)>) -> Parts {
    let (mut parts, mut machine) = (Parts::default(), None);
    for (class, part) in devices {
        let place = match class {
            DeviceClass::Cpu => &mut parts.cpu,
            DeviceClass::Gpu => &mut parts.gpu,
            DeviceClass::Dram => &mut parts.ram,
            DeviceClass::Machine => &mut machine,
        };
        *place = Some(place.map_or(part, |there: ClassEnergy| ClassEnergy {
            energy: there.energy + part.energy,
            low: there.low + part.low,
            high: there.high + part.high,
            kind: there.kind.max(part.kind),
        }));
    }
    if parts == Parts::default() {
        parts.cpu = machine;
    }
    parts
}

fn machine_of(recording: Option<&Recording>, python: &Option<String>) -> Machine {
    let Some(recording) = recording else { return Machine::default() };
    let gpus = recording.sensors.iter().filter(|sensor| sensor.device.class() == DeviceClass::Gpu);
    let gpus =
        gpus.filter(|sensor| sensor.domain.is_none()).map(|sensor| gpu_model(&sensor.source).to_owned()).collect();
    Machine { gpus, python_version: python.clone().unwrap_or_default(), ..machine(&recording.host) }
}

/// The name of a GPU in what a sensor says of its source: `NVML: NVIDIA A100 at 00000000:01:00.0, energy counter`.
pub fn gpu_model(source: &str) -> &str {
    let name = source.strip_prefix("NVML: ").unwrap_or(source);
    let end = [" at ", ", "].iter().filter_map(|mark| name.find(mark)).min();
    name.get(..end.unwrap_or(name.len())).unwrap_or(name)
}

/// What is known of a machine.
pub fn machine(host: &HostFacts) -> Machine {
    let architecture = host.arch.as_ref().map(|arch| format!("-{arch}")).unwrap_or_default();
    let kernel = host.kernel.as_ref().map(|kernel| format!("Linux-{kernel}{architecture}"));
    Machine {
        os: kernel.or_else(|| host.os.clone()).unwrap_or_default(),
        threads: host.cpus,
        cpu_model: host.cpu.clone().unwrap_or_default(),
        memory_gib: host.memory.map(|bytes| bytes as f64 / GIB),
        ..Machine::default()
    }
}

/// How busy the machine was, in the mean, by all programs: that is what CodeCarbon's columns contain in either mode.
pub fn utilization(run: &RunFolder) -> Result<Utilization, RunError> {
    let (rows, gpus) = (run.read_resources()?, run.read_gpu_busy()?);
    let used = |row: &Resources| row.memory_used().map(|bytes| bytes as f64);
    let part = |row: &Resources| Some(used(row)? / row.memory_total.filter(|total| *total > 0)? as f64);
    Ok(Utilization {
        cpu: mean(rows.iter().filter_map(|row| row.machine_busy)).map(|part| 100.0 * part),
        gpu: mean(gpus.iter().filter_map(|row| row.busy)).map(|part| 100.0 * part),
        ram: mean(rows.iter().filter_map(part)).map(|part| 100.0 * part),
        ram_gb: mean(rows.iter().filter_map(used)).map(|bytes| bytes / GIB),
    })
}

/// The mean of some numbers; none of no numbers.
pub fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0_u64), |(sum, count), number| (sum + number, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Grams of making the machine that fall to a run, if they are to be counted.
pub fn embodied(record: &Record) -> Option<Grams> {
    let wanted = record.context.embodied?;
    let gpus = u32::try_from(record.machine.gpus.len()).unwrap_or(u32::MAX);
    let of_parts = Embodied::of_server(1, gpus, record.machine.memory_gib.unwrap_or_default());
    Some(wanted.with(of_parts).grams(record.end - record.start))
}
