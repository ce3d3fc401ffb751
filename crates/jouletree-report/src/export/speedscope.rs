//! speedscope's file format: for each device a sampled profile of joules and one of time.
//!
//! Its units know no energy, so that weights are plain numbers and the name of the profile says what they are.

use std::io::Write;

use indexmap::IndexSet;
use serde::Serialize;

use super::stacks::{DeviceStacks, Stack, by_device};
use super::{Content, ExportError};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: &'a str,
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: f64,
    end_value: f64,
    samples: Vec<Vec<usize>>,
    weights: Vec<f64>,
}

pub(super) fn write(content: &Content<'_>, output: &mut dyn Write) -> Result<(), ExportError> {
    let devices = by_device(content.footprint);
    let mut frames = IndexSet::new();
    let mut profiles = Vec::new();
    for device in &devices {
        let name = &device.balance.device;
        if let Some(kind) = device.balance.kind.filter(|_| device.balance.total.is_some()) {
            let title = format!("{name}: energy in joules ({kind})");
            profiles.extend(profile(title, "none", device, |stack| stack.energy.0, &mut frames));
        }
        let title = format!("{name}: time");
        profiles.extend(profile(title, "nanoseconds", device, |stack| stack.busy.0 as f64, &mut frames));
    }
    if profiles.is_empty() {
        return Err(ExportError::Nothing);
    }
    let file = File {
        schema: SCHEMA,
        exporter: format!("jouletree@{}", env!("CARGO_PKG_VERSION")),
        name: content.name,
        active_profile_index: 0,
        shared: Shared { frames: frames.into_iter().map(|name| Frame { name }).collect() },
        profiles,
    };
    Ok(serde_json::to_writer(output, &file)?)
}

/// A profile of what `weight` says of each stack; `None` when that is nothing.
fn profile<'a>(
    name: String,
    unit: &'static str,
    device: &'a DeviceStacks<'_>,
    weight: impl Fn(&Stack) -> f64,
    frames: &mut IndexSet<&'a str>,
) -> Option<Profile> {
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    // speedscope refuses a weight that is not above zero.
    for (stack, weight) in
        device.stacks.iter().map(|stack| (stack, weight(stack))).filter(|(_, weight)| *weight > 0.0)
    {
        samples.push(stack.frames.iter().map(|frame| frames.insert_full(frame).0).collect());
        weights.push(weight);
    }
    let end_value = weights.iter().sum();
    (!samples.is_empty()).then_some(Profile {
        r#type: "sampled",
        name,
        unit,
        start_value: 0.0,
        end_value,
        samples,
        weights,
    })
}
