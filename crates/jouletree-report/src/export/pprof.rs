//! pprof's profile: a gzip of one protocol-buffer message with a sample for each operation on each device.
//!
//! The messages here are the part of `profile.proto` that a profile without binaries needs. Values are integers of a unit that
//! pprof prints as it is, since it knows none of energy: µJ. What rounding leaves of a value goes to the next of its device.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use indexmap::IndexSet;
use jouletree_account::Labels;
use jouletree_model::{DeviceEnergy, Joules};
use prost::Message;

use super::stacks::{Stack, frames, is_told_by_others, unattributed};
use super::{Content, ExportError};

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
}

/// A binary; here the program, whose name viewers show.
#[derive(Clone, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
}

/// A profile that is being put together: every text and every function is in it once.
struct Builder {
    texts: IndexSet<String>,
    functions: IndexSet<i64>,
    samples: Vec<Sample>,
    /// Energy that was too little for a whole unit, by device.
    carry: HashMap<String, f64>,
}

/// The unit of energy.
const UNIT: (Joules, &str) = (Joules(1e-6), "µJ");
/// The number of the only mapping.
const PROGRAM: u64 = 1;

pub(super) fn write(content: &Content<'_>, output: &mut dyn Write) -> Result<(), ExportError> {
    let footprint = content.footprint;
    // The first text is empty by definition.
    let mut builder = Builder {
        texts: IndexSet::from([String::new()]),
        functions: IndexSet::new(),
        samples: Vec::with_capacity(footprint.energies.len()),
        carry: HashMap::new(),
    };
    let marks = Labels::of(&footprint.ops);
    for charged in &footprint.energies {
        let (Some(op), Some(balance)) = (footprint.ops.get(charged.op), footprint.devices.get(charged.device))
        else {
            continue;
        };
        let device = balance.device.to_string();
        let stage = footprint.stages.get(charged.stage).map_or("", |stage| &stage.name);
        let labels =
            [("device", device.as_str()), ("pass", op.pass.as_str()), ("op_type", &op.op_type), ("stage", stage)];
        let count = i64::try_from(charged.count).unwrap_or(i64::MAX);
        let energy = builder.units(&device, charged.energy);
        builder.sample(&frames(op, marks.mark(charged.op)), [energy, charged.busy.0, count], &labels);
    }
    for balance in footprint.devices.iter().filter(|balance| !is_told_by_others(balance, footprint)) {
        let device = balance.device.to_string();
        for Stack { frames, energy, .. } in unattributed(balance) {
            let energy = builder.units(&device, energy);
            builder.sample(&frames, [energy, 0, 0], &[("device", &device)]);
        }
    }
    if builder.samples.is_empty() {
        return Err(ExportError::Nothing);
    }
    let profile = builder.finished(content);
    let mut packed = GzEncoder::new(output, Compression::default());
    packed.write_all(&profile.encode_to_vec())?;
    packed.finish()?;
    Ok(())
}

impl Builder {
    fn text(&mut self, text: &str) -> i64 {
        let known = self.texts.get_index_of(text);
        known.unwrap_or_else(|| self.texts.insert_full(text.to_owned()).0) as i64
    }

    /// Energy in whole units, so that the sum of a device is right.
    fn units(&mut self, device: &str, energy: Joules) -> i64 {
        let (Joules(unit), _) = UNIT;
        let carry = self.carry.entry(device.to_owned()).or_default();
        let exact = energy.0 / unit + *carry;
        let whole = exact.round();
        *carry = exact - whole;
        // A conversion that saturates.
        whole as i64
    }

    fn sample(&mut self, frames: &[String], value: [i64; 3], labels: &[(&str, &str)]) {
        // A function has one place only, so that both have the same number, which is not zero.
        let place = |frame: &String| {
            let name = self.text(frame);
            self.functions.insert_full(name).0 as u64 + 1
        };
        // The innermost comes first.
        let location_id = frames.iter().rev().map(place).collect();
        let filled = labels.iter().filter(|(_, value)| !value.is_empty());
        let label = filled.map(|(key, value)| Label { key: self.text(key), str: self.text(value) }).collect();
        self.samples.push(Sample { location_id, value: value.to_vec(), label });
    }

    fn finished(mut self, content: &Content<'_>) -> Profile {
        let (_, unit) = UNIT;
        let types = [("energy", unit), ("time", "nanoseconds"), ("count", "count")];
        let sample_type = types.map(|(kind, unit)| ValueType { r#type: self.text(kind), unit: self.text(unit) });
        let devices = &content.footprint.devices;
        let filename = self.text(if content.program.is_empty() { content.name } else { content.program });
        let comment = [format!("{}, by jouletree {}", content.name, env!("CARGO_PKG_VERSION"))];
        let comment = comment.into_iter().chain(devices.iter().map(sentence));
        let comment = comment.map(|text| self.text(&text)).collect();
        let numbered = self.functions.iter().zip(1..);
        let function = numbered.map(|(name, id)| Function { id, name: *name, system_name: *name }).collect();
        let numbers = 1..=self.functions.len() as u64;
        Profile {
            default_sample_type: sample_type[0].r#type,
            sample_type: sample_type.to_vec(),
            sample: self.samples,
            mapping: vec![Mapping { id: PROGRAM, filename, has_functions: true }],
            location: numbers
                .map(|id| Location { id, mapping_id: PROGRAM, line: vec![Line { function_id: id }] })
                .collect(),
            function,
            duration_nanos: devices.iter().map(|device| device.metered.0).max().unwrap_or(0),
            comment,
            string_table: self.texts.into_iter().collect(),
        }
    }
}

/// How far the numbers of a device may be trusted.
fn sentence(balance: &DeviceEnergy) -> String {
    match balance.kind {
        Some(kind) => format!("energy of {}: {kind}", balance.device),
        None => format!("energy of {}: not known", balance.device),
    }
}
