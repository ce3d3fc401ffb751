//! Which files of which chips meter what.

use std::path::PathBuf;

use jouletree_model::{Device, DeviceClass, Nanos};

use super::chip::Chip;
use super::rails::{Rail, rail};
use crate::Unusable;

/// Something a chip meters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChipMeter {
    pub device: Device,
    pub domain: Option<String>,
    pub chip: String,
    pub files: Files,
    /// How often it is updated.
    pub period: Nanos,
    pub is_slow: bool,
    /// Why it is not used, although it is there.
    pub left_out: Option<Unusable>,
}

/// Where a meter's numbers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Files {
    /// Microjoules.
    Energy(PathBuf),
    /// Microwatts.
    Power(PathBuf),
    /// Millivolts and milliamperes.
    Rail { volts: PathBuf, amperes: PathBuf },
}

/// Firmware of graphics cards updates its numbers some ten to a hundred times a second; the slower is assumed.
const CARD_PERIOD: Nanos = Nanos(100_000_000);
const COUNTER_PERIOD: Nanos = Nanos(1_000_000);
/// Three channels, each converted twice for 1.1 ms, averaged by the boards' settings.
const RAIL_PERIOD: Nanos = Nanos(10_000_000);
/// What boards average over, when they do not say.
const BOARD_PERIOD: Nanos = Nanos(1_000_000_000);

/// Everything that the chips meter.
pub(super) fn meters(chips: &[Chip], first_gpu: u32) -> Vec<ChipMeter> {
    let mut next_gpu = first_gpu;
    chips
        .iter()
        .flat_map(|chip| match chip.name.as_str() {
            "amdgpu" if is_part_of_a_processor(chip) => card(chip, cpu(0), Some("apu")),
            "amdgpu" | "i915" | "xe" => {
                let meters = card(chip, Device::new(DeviceClass::Gpu, next_gpu), None);
                next_gpu += u32::from(!meters.is_empty());
                meters
            }
            "amd_energy" => sockets(chip),
            "power_meter" => board(chip),
            "ina3221" => rails(chip),
            _ => unknown(chip),
        })
        .collect()
}

/// Only a processor with graphics has a north bridge whose voltage is reported.
fn is_part_of_a_processor(chip: &Chip) -> bool {
    chip.text("in1_label").is_some_and(|label| label == "vddnb")
}

fn card(chip: &Chip, device: Device, domain: Option<&str>) -> Vec<ChipMeter> {
    let meter = |files, domain: Option<&str>, period| ChipMeter {
        is_slow: true,
        ..new(chip, &device, domain, files, period)
    };
    let counters: Vec<ChipMeter> = chip
        .channels("energy", "input")
        .into_iter()
        .filter_map(|n| {
            let part = chip.text(&format!("energy{n}_label")).filter(|label| label != "card");
            let file = chip.file(&format!("energy{n}_input"))?;
            Some(meter(Files::Energy(file), part.as_deref().or(domain), COUNTER_PERIOD))
        })
        .collect();
    if counters.iter().any(|counter| counter.domain.as_deref() == domain) {
        return counters;
    }
    let power = ["power1_input", "power1_average"].iter().find_map(|name| chip.file(name));
    counters.into_iter().chain(power.map(|file| meter(Files::Power(file), domain, CARD_PERIOD))).collect()
}

fn sockets(chip: &Chip) -> Vec<ChipMeter> {
    let channels = chip.channels("energy", "input").into_iter();
    channels
        .filter_map(|n| {
            let label = chip.text(&format!("energy{n}_label"))?;
            let socket = label.strip_prefix("Esocket")?.parse().ok()?;
            let file = chip.file(&format!("energy{n}_input"))?;
            Some(new(chip, &cpu(socket), None, Files::Energy(file), COUNTER_PERIOD))
        })
        .collect()
}

fn board(chip: &Chip) -> Vec<ChipMeter> {
    let Some(file) = chip.file("power1_average").or_else(|| chip.file("power1_input")) else { return Vec::new() };
    let said = chip.text("power1_average_interval").and_then(|text| text.parse::<i64>().ok());
    let period = said.filter(|ms| *ms > 0).map_or(BOARD_PERIOD, |ms| Nanos(ms.saturating_mul(1_000_000)));
    let (device, domain) =
        chip.text("power1_oem_info").and_then(|info| superchip(&info)).unwrap_or((cpu(0), Some("machine")));
    vec![ChipMeter { is_slow: true, ..new(chip, &device, domain, Files::Power(file), period) }]
}

/// The parts of NVIDIA's Grace, as its firmware names them: `CPU Power Socket 0`.
fn superchip(info: &str) -> Option<(Device, Option<&'static str>)> {
    let (part, socket) = info.split_once(" Power Socket ")?;
    let domain = match part.trim() {
        "Grace" => None,
        "CPU" => Some("cpu"),
        "SysIO" => Some("sysio"),
        "Module" => Some("module"),
        _ => return None,
    };
    Some((cpu(socket.trim().parse().ok()?), domain))
}

fn rails(chip: &Chip) -> Vec<ChipMeter> {
    let channels = chip.channels("in", "label").into_iter();
    channels
        .filter_map(|n| {
            let label = chip.text(&format!("in{n}_label"))?;
            let volts = chip.file(&format!("in{n}_input"))?;
            let amperes = chip.file(&format!("curr{n}_input"))?;
            let (device, domain, left_out) = match rail(&label) {
                Rail::Whole(device) => (device, None, None),
                Rail::Board => (cpu(0), Some("board".to_owned()), None),
                Rail::Other => (cpu(0), Some(label.clone()), Some(not_known(&format!("the rail {label} feeds")))),
            };
            let meter = new(chip, &device, domain.as_deref(), Files::Rail { volts, amperes }, RAIL_PERIOD);
            Some(ChipMeter { chip: format!("{} rail {label}", chip.name), is_slow: true, left_out, ..meter })
        })
        .collect()
}

fn unknown(chip: &Chip) -> Vec<ChipMeter> {
    let energy = chip.channels("energy", "input").into_iter().map(|n| (format!("energy{n}_input"), true));
    let power = ["input", "average"].into_iter().flat_map(|ending| {
        chip.channels("power", ending).into_iter().map(move |n| (format!("power{n}_{ending}"), false))
    });
    energy
        .chain(power)
        .filter_map(|(name, is_energy)| {
            let file = chip.file(&name)?;
            let files = if is_energy { Files::Energy(file) } else { Files::Power(file) };
            let domain = format!("{} {name}", chip.name);
            let left_out = Some(not_known(&format!("{name} of the chip {} meters", chip.name)));
            Some(ChipMeter { left_out, ..new(chip, &cpu(0), Some(&domain), files, BOARD_PERIOD) })
        })
        .collect()
}

fn not_known(what: &str) -> Unusable {
    let remedy = Some("if you know, report it: adding it is one line in a table".to_owned());
    Unusable { reason: format!("it is not known which one device {what}"), remedy }
}

fn new(chip: &Chip, device: &Device, domain: Option<&str>, files: Files, period: Nanos) -> ChipMeter {
    ChipMeter {
        device: device.clone(),
        domain: domain.map(str::to_owned),
        chip: chip.name.clone(),
        files,
        period,
        is_slow: false,
        left_out: None,
    }
}

fn cpu(socket: u32) -> Device {
    Device::new(DeviceClass::Cpu, socket)
}
