//! `jouletree inspect`: what a trace file is, what it holds and what is missing for accounting.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use indexmap::IndexMap;
use jouletree_account::{Activity, activity};
use jouletree_model::{Device, Event, Holding, Nanos, Step, TimeBase, Trace, TraceSource, Warning};
use jouletree_run::RunFolder;
use serde::Serialize;

use crate::cli::{InputArgs, InspectFormat};
use crate::columns::{Columns, Keep};
use crate::{inputs, json, print, print_warnings};

/// More files than this are counted.
const MOST_FILES: usize = 3;
/// Kernels of CUPTI's range profiler, which no reader uses.
const PROFILER_RANGES: &str = "cuda_profiler_range";

pub const EXAMPLES: &str = "\
Examples:
  jouletree inspect host.xplane.pb                 format, time base, devices, top operations by self time
  jouletree inspect logs/                          everything in a TensorBoard log folder
  jouletree inspect profile.json --base-ns 1794771926506845032
      an ONNX Runtime profile, whose start the session returns (get_profiling_start_time_ns)
  jouletree inspect trace.json.gz --format json | jq '.devices'";

#[derive(Args)]
pub struct InspectArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: InspectFormat,
    /// List at most this many operations
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
}

/// Runs the command.
pub fn run(arguments: &InspectArgs) -> Result<ExitCode> {
    let trace = inputs::traces(&arguments.input, true)?;
    let activity = activity(&trace);
    let has_power = arguments.input.traces.iter().any(|path| RunFolder::is_at(path));
    let inspection = Inspection::of(&trace, &activity, arguments.top);
    match arguments.format {
        InspectFormat::Table => {
            print(&inspection.text(has_power))?;
            print_warnings(&trace.warnings);
        }
        InspectFormat::Json => print(&json::written(&inspection)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything there is to say about trace files.
#[derive(Serialize)]
struct Inspection<'a> {
    format: String,
    time_base: &'static str,
    base_ns: Option<i64>,
    base_from: Option<&'static str>,
    base_within_ns: Option<i64>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    devices: Vec<DeviceRow<'a>>,
    steps: usize,
    ops: usize,
    edges: usize,
    in_layers: Option<f64>,
    top: Vec<TopRow<'a>>,
    markers: Vec<MarkerRow>,
    missing: Vec<String>,
    files: &'a [TraceSource],
    warnings: &'a [Warning],
}

/// The operations of a device, and everything it has by category.
#[derive(Serialize)]
struct DeviceRow<'a> {
    device: &'a Device,
    lanes: usize,
    events: u64,
    duration_s: f64,
    busy_s: f64,
    categories: Vec<CategoryRow<'a>>,
}

#[derive(Serialize)]
struct CategoryRow<'a> {
    category: &'a str,
    events: u64,
    duration_s: f64,
    busy_s: f64,
}

/// All the operations with one name on one device, wherever in the model they are.
#[derive(Serialize)]
struct TopRow<'a> {
    name: &'a str,
    r#type: &'a str,
    device: &'a Device,
    count: u64,
    self_s: f64,
}

#[derive(Serialize)]
struct MarkerRow {
    wall_ns: i64,
    at_ns: i64,
}

impl<'a> Inspection<'a> {
    fn of(trace: &'a Trace, activity: &[Activity], top: usize) -> Inspection<'a> {
        let formats: BTreeSet<&str> = trace.sources.iter().map(|source| source.format.as_str()).collect();
        let extent = trace.census.extent();
        let base = trace.sources.first().map(|source| &source.time_base);
        let (base_ns, base_from, base_within_ns) = match base {
            Some(TimeBase::Epoch { base, origin, within }) => {
                (Some(base.0), Some(origin.as_str()), Some(within.0))
            }
            _ => (None, None, None),
        };
        let relative = trace.sources.iter().filter(|source| !source.time_base.is_epoch()).count();
        Inspection {
            format: formats.into_iter().collect::<Vec<_>>().join(", "),
            time_base: match relative {
                0 => "epoch",
                some if some == trace.sources.len() => "relative",
                _ => "mixed",
            },
            base_ns,
            base_from,
            base_within_ns,
            start_ns: extent.map(|extent| extent.start.0),
            end_ns: extent.map(|extent| extent.end.0),
            devices: device_rows(trace),
            steps: steps(trace),
            ops: trace.ops.len(),
            edges: trace.model.edges().len(),
            in_layers: share_in_layers(trace, activity),
            top: top_rows(trace, activity, top),
            markers: trace
                .sources
                .iter()
                .flat_map(|source| &source.markers)
                .map(|marker| MarkerRow { wall_ns: marker.wall.0, at_ns: marker.at.0 })
                .collect(),
            missing: missing(trace),
            files: &trace.sources,
            warnings: &trace.warnings,
        }
    }

    fn text(&self, has_power: bool) -> String {
        let mut text = String::new();
        let mut line = |key: &str, value: String| text.push_str(&format!("{key:<11}{value}\n"));
        line("format", self.format.clone());
        line("files", files_text(self.files));
        line("time base", self.time_base_text());
        if let (Some(start), Some(end)) = (self.start_ns, self.end_ns) {
            line("time span", format!("{} from {start} ns", Nanos(end) - Nanos(start)));
        }
        let steps = if self.steps == 0 { "unknown".to_owned() } else { self.steps.to_string() };
        line("steps", steps);
        line("operations", format!("{} distinct, {} edges between them", self.ops, self.edges));
        if let Some(share) = self.in_layers {
            line("in layers", format!("{:.1} % of the operations' time lies below a named layer", 100.0 * share));
        }
        line(
            "missing",
            match (self.missing.as_slice(), has_power) {
                ([], true) => "nothing".to_owned(),
                ([], false) => "nothing but power".to_owned(),
                (missing, _) => missing.join("; "),
            },
        );
        text.push('\n');
        text.push_str(&self.devices_text());
        text.push('\n');
        text.push_str(&self.top_text());
        text.push('\n');
        text
    }

    fn time_base_text(&self) -> String {
        match (self.base_ns, self.base_from, self.base_within_ns) {
            (Some(0), Some(from), _) => format!("{}: times of day, by {from}", self.time_base),
            (Some(base), Some(from), Some(within)) => {
                let within = if within > 0 { format!(" ± {}", Nanos(within)) } else { String::new() };
                format!("{}: counts from {base} ns{within}, by {from}", self.time_base)
            }
            _ => self.time_base.to_owned(),
        }
    }

    fn devices_text(&self) -> String {
        let header = ["device", "category", "lanes", "events", "duration", "busy"];
        let mut table = Columns::new(&header).left(0).left(1);
        let seconds = |seconds: f64| Nanos((seconds * 1e9).round() as i64).to_string();
        for device in &self.devices {
            table.row(vec![
                device.device.to_string(),
                "operations".to_owned(),
                device.lanes.to_string(),
                device.events.to_string(),
                seconds(device.duration_s),
                seconds(device.busy_s),
            ]);
            for row in &device.categories {
                table.row(vec![
                    String::new(),
                    if row.category.is_empty() { "(none)".to_owned() } else { row.category.to_owned() },
                    String::new(),
                    row.events.to_string(),
                    seconds(row.duration_s),
                    seconds(row.busy_s),
                ]);
            }
        }
        table.text()
    }

    fn top_text(&self) -> String {
        let header = ["top operations by self time", "type", "device", "self time", "count"];
        let mut table = Columns::new(&header).left(2).shorten(1, Keep::Start).shorten(0, Keep::End);
        for row in &self.top {
            table.row(vec![
                row.name.to_owned(),
                row.r#type.to_owned(),
                row.device.to_string(),
                Nanos((row.self_s * 1e9).round() as i64).to_string(),
                row.count.to_string(),
            ]);
        }
        table.text()
    }
}

/// Files by their names; of many the first and the last.
fn files_text(files: &[TraceSource]) -> String {
    let mut names: Vec<&str> = files.iter().map(|file| file.file.as_str()).collect();
    // `trace-2` before `trace-10`.
    names.sort_by_key(|name| (name.len(), *name));
    let text = match names.as_slice() {
        [first, .., last] if names.len() > MOST_FILES => {
            let last = Path::new(last).file_name().map_or((*last).into(), |name| name.to_string_lossy());
            format!("{}, from {first} to {last}", names.len())
        }
        few => few.join(", "),
    };
    match names.iter().any(|name| Path::new(name).exists()) || names.is_empty() {
        true => text,
        false => text + " (removed after accounting)",
    }
}

fn device_rows(trace: &Trace) -> Vec<DeviceRow<'_>> {
    let category = |(category, holding): (_, Holding)| CategoryRow {
        category,
        events: holding.events,
        duration_s: holding.duration.seconds(),
        busy_s: holding.busy.seconds(),
    };
    let mut categories: BTreeMap<&Device, Vec<CategoryRow<'_>>> = BTreeMap::new();
    for (device, name, holding) in trace.census.categories() {
        categories.entry(device).or_default().push(category((name, holding)));
    }
    let mut lanes: BTreeMap<&Device, usize> = BTreeMap::new();
    for device in trace.lanes.iter().filter_map(|lane| trace.devices.get(lane.device())) {
        *lanes.entry(device).or_default() += 1;
    }
    let row = |(device, operations): (_, Holding)| DeviceRow {
        device,
        lanes: lanes.get(device).copied().unwrap_or_default(),
        events: operations.events,
        duration_s: operations.duration.seconds(),
        busy_s: operations.busy.seconds(),
        categories: categories.remove(device).unwrap_or_default(),
    };
    trace.census.operations().into_iter().map(row).collect()
}

fn top_rows<'a>(trace: &'a Trace, activity: &[Activity], top: usize) -> Vec<TopRow<'a>> {
    let mut sums: IndexMap<(&str, usize), (&str, u64, Nanos)> = IndexMap::new();
    for found in activity {
        if let Some(op) = trace.ops.get(found.op) {
            let (_, count, self_time) =
                sums.entry((&*op.name, found.device)).or_insert((&*op.op_type, 0, Nanos(0)));
            *count += found.count;
            *self_time += found.self_time;
        }
    }
    sums.sort_by(|_, a, _, b| b.2.cmp(&a.2));
    let row = |((name, device), (op_type, count, self_time)): (_, (_, _, Nanos))| {
        let device = trace.devices.get(device)?;
        Some(TopRow { name, r#type: op_type, device, count, self_s: self_time.seconds() })
    };
    sums.into_iter().filter_map(row).take(top).collect()
}

fn steps(trace: &Trace) -> usize {
    let events = trace.lanes.iter().flat_map(|lane| lane.events());
    let steps: BTreeSet<u32> = events.filter_map(|event: &Event| Step::number(event.step)).collect();
    steps.len()
}

/// How much of the operations' self time lies below a named layer; `None` when there is none at all.
fn share_in_layers(trace: &Trace, activity: &[Activity]) -> Option<f64> {
    let in_layer = |found: &&Activity| trace.ops.get(found.op).is_some_and(|op| op.path.contains('/'));
    let sum =
        |found: &mut dyn Iterator<Item = &Activity>| found.map(|found| found.self_time.seconds()).sum::<f64>();
    let all = sum(&mut activity.iter());
    (all > 0.0).then(|| sum(&mut activity.iter().filter(in_layer)) / all)
}

/// What accounting would lack, beside power.
fn missing(trace: &Trace) -> Vec<String> {
    let mut missing = Vec::new();
    if trace.sources.iter().any(|source| !source.time_base.is_epoch()) {
        missing.push("the time of day at which the trace began (--base-ns)".to_owned());
    }
    if trace.lanes.is_empty() {
        missing.push("operations: nothing in the trace ran on a device".to_owned());
    }
    let counts = trace.sources.iter().flat_map(|source| &source.counts);
    let ranges: u64 = counts.filter(|count| count.category == PROFILER_RANGES).map(|count| count.events).sum();
    if ranges > 0 {
        missing.push(format!("kernels of CUPTI's range profiler (`{PROFILER_RANGES}`, {ranges})"));
    }
    missing
}
