//! `jouletree show`: views of a run.

use anyhow::Result;
use jouletree_account::{EnergyTree, Folding, Tef, TefEntry, TensorEdge, t2e, tensor_edges};
use jouletree_model::{Footprint, Pass};
use jouletree_run::RunFolder;

use crate::cli::{By, Format, PassArg, ShowArgs, ViewArgs};
use crate::{Outcome, json, print, print_warnings, recorded, tables};

/// How many operations a table lists when nothing is said.
const TABLE_ROWS: usize = 10;

/// Runs the command.
pub fn run(arguments: &ShowArgs) -> Result<Outcome> {
    let run = RunFolder::open(&arguments.run)?;
    if let (None, Some(recording)) = (&run.manifest().accounting, &run.manifest().recording) {
        return recorded::run(&run, recording, arguments);
    }
    let footprint = run.read_footprint()?;
    print(&view(&footprint, arguments.by.unwrap_or(By::Layer), &arguments.view)?)?;
    print_warnings(&footprint.warnings);
    Ok(Outcome { warnings: footprint.warnings, strict: false })
}

/// One view of a footprint as text.
pub fn view(footprint: &Footprint, by: By, view: &ViewArgs) -> Result<String> {
    let (tef, edges) = chosen(footprint, view);
    let operations = ranked(&tef, view);
    match (view.format, by) {
        (Format::Table, By::Layer) => Ok(tables::tree(&t2e(&tef, &edges), view)),
        (Format::Table, By::Op) => Ok(tables::operations(&tef, &operations)),
        (Format::Table, By::Pass) => Ok(tables::passes(&tef)),
        (Format::Table, By::Device) => Ok(tables::devices(footprint)),
        (Format::Table, By::Step) => Ok(tables::steps(footprint)),
        (Format::Json, By::Layer) => json::written(&t2e(&tef, &edges)),
        (Format::Json, By::Op) => json::written(&json::op_rows(footprint, operations.into_iter())),
        (Format::Json, By::Pass) => json::written(&tef.by_pass()),
        (Format::Json, By::Device) => json::written(&json::device_rows(footprint)),
        (Format::Json, By::Step) => json::written(&json::step_rows(footprint)),
        (Format::Csv, By::Layer) => tables::csv(&layer_rows(&t2e(&tef, &edges), view.depth)),
        (Format::Csv, By::Op) => tables::csv(&json::op_rows(footprint, operations.into_iter())),
        (Format::Csv, By::Pass) => tables::csv(&pass_rows(&tef)),
        (Format::Csv, By::Device) => tables::csv(&json::device_rows(footprint)),
        (Format::Csv, By::Step) => tables::csv(&json::step_rows(footprint)),
    }
}

/// The whole story of a footprint, as far as it was asked for.
pub fn report(footprint: &Footprint, view: &ViewArgs) -> String {
    let (tef, _) = chosen(footprint, view);
    tables::report(footprint, &tef, &ranked(&tef, view), view)
}

/// The part of a footprint that was asked for, blocks summed if that was asked for, too.
fn chosen(footprint: &Footprint, view: &ViewArgs) -> (Tef, Vec<TensorEdge>) {
    let mut tef = Tef::from(footprint);
    let mut edges = tensor_edges(&footprint.model);
    if view.summarize {
        let folding = Folding::of(&tef);
        (tef, edges) = (folding.tef(&tef), folding.edges(&edges));
    }
    if let Some(pass) = view.pass.map(Pass::from) {
        tef = Tef::new(tef.entries().iter().filter(|entry| entry.pass == pass).cloned().collect());
        edges.retain(|edge| edge.from_pass == pass && edge.to_pass == pass);
    }
    (tef, edges)
}

fn ranked<'a>(tef: &'a Tef, view: &ViewArgs) -> Vec<&'a TefEntry> {
    let all: Vec<&TefEntry> = if view.by_power { tef.by_power() } else { tef.entries().iter().collect() };
    // A program wants all of them unless it says otherwise; nobody reads a table of thousands.
    let unasked = if view.format == Format::Table { TABLE_ROWS } else { usize::MAX };
    all.into_iter().take(view.top.unwrap_or(unasked)).collect()
}

/// A node of the tree as a row.
#[derive(serde::Serialize)]
struct LayerRow {
    path: String,
    depth: u16,
    energy_j: f64,
    own_j: f64,
    forward_j: f64,
    backward_j: f64,
    optimizer_j: f64,
    busy_s: f64,
    power_w: Option<f64>,
    count: u64,
}

fn layer_rows(tree: &EnergyTree, depth: u16) -> Vec<LayerRow> {
    fn add(node: &EnergyTree, depth: u16, deepest: u16, rows: &mut Vec<LayerRow>) {
        rows.push(LayerRow {
            path: node.path.clone(),
            depth,
            energy_j: node.energy.0,
            own_j: node.own.0,
            forward_j: node.passes.get(&Pass::Forward).0,
            backward_j: node.passes.get(&Pass::Backward).0,
            optimizer_j: node.passes.get(&Pass::Optimizer).0,
            busy_s: node.busy.seconds(),
            power_w: node.power().map(|power| power.0),
            count: node.count,
        });
        if depth < deepest {
            node.children.iter().for_each(|child| add(child, depth + 1, deepest, rows));
        }
    }
    let mut rows = Vec::new();
    add(tree, 0, depth, &mut rows);
    rows
}

/// A pass as a row.
#[derive(serde::Serialize)]
struct PassRow {
    pass: Pass,
    energy_j: f64,
}

fn pass_rows(tef: &Tef) -> Vec<PassRow> {
    tef.by_pass().iter().map(|(pass, energy)| PassRow { pass: *pass, energy_j: energy.0 }).collect()
}

impl From<PassArg> for Pass {
    fn from(pass: PassArg) -> Pass {
        match pass {
            PassArg::Forward => Pass::Forward,
            PassArg::Backward => Pass::Backward,
            PassArg::Optimizer => Pass::Optimizer,
        }
    }
}
