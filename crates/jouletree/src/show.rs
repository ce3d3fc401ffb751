//! `jouletree show`: views of a run.

use anyhow::{Result, anyhow, bail};
use jouletree_account::{EnergyTree, Folding, Tef, TefEntry, TensorEdge, t2e, tensor_edges};
use jouletree_model::{Footprint, Pass};
use jouletree_report::{Scale, Told, stages};
use jouletree_run::RunFolder;

use crate::cli::{By, Format, PassArg, ShowArgs, ViewArgs};
use crate::program;
use crate::{Outcome, json, print, print_warnings, recorded, run, tables};

/// How many operations a table lists when nothing is said.
const TABLE_ROWS: usize = 10;

/// Runs the command.
pub fn run(arguments: &ShowArgs) -> Result<Outcome> {
    let run = run::opened(&arguments.run)?;
    if let (None, Some(recording)) = (&run.manifest().accounting, &run.manifest().recording) {
        return recorded::run(&run, recording, arguments);
    }
    let footprint = run.read_footprint()?;
    let text = match (arguments.by, &run.manifest().recording) {
        (None, Some(_)) if arguments.view == ViewArgs::default() => run_report(&run, &footprint)?,
        (by, _) => run_view(&run, &footprint, by.unwrap_or(By::Layer), &arguments.view)?,
    };
    print(&text)?;
    let warnings = match run.manifest().recording {
        Some(_) => recorded::warnings(&run),
        None => footprint.warnings,
    };
    print_warnings(&warnings);
    Ok(Outcome { warnings, strict: false })
}

/// Everything about a run that was recorded here: power, steps, layers, operations, passes, stages, windows.
pub fn run_report(run: &RunFolder, footprint: &Footprint) -> Result<String> {
    let Some(recording) = &run.manifest().recording else { return Ok(report(footprint, &ViewArgs::default())) };
    let program = run.read_program()?;
    let told = Told::new(&program, run.read_power()?);
    let mut text = recorded::report(recording);
    let mut part = |title: &str, table: String| {
        if !table.is_empty() {
            text += &format!("\n{title}\n{table}");
        }
    };
    let phases = told.phases();
    if !phases.is_empty() {
        part("by step", program::phase_table(&phases));
    }
    part("what the process tree used", tables::balances(footprint));
    if !footprint.energies.is_empty() {
        let view = ViewArgs::default();
        let (tef, _) = chosen(footprint, &view);
        part(&format!("by layer{}", told_scale(&told)), tables::tree(&t2e(&tef, &[]), &view));
        let ranked = ranked(&tef, &view);
        part(&format!("top {} operations", ranked.len()), tables::operations(&tef, &ranked));
        part("by pass", tables::passes(&tef));
    }
    let stages = stages(footprint);
    if !stages.is_empty() {
        part("by stage", program::stage_table(&stages));
    }
    let windows = told.windows();
    if !windows.is_empty() {
        part("by window", program::window_table(&windows));
    }
    Ok(text)
}

/// In which steps operations were recorded, unless in all.
fn told_scale(told: &Told<'_>) -> String {
    told.scale().map_or_else(String::new, |Scale { steps, recorded, factor }| {
        format!(
            " in the {recorded} of {steps} steps whose operations were recorded; all steps used {factor:.3} times as much \
             (--all-steps)"
        )
    })
}

/// One view of a run as text.
fn run_view(run: &RunFolder, footprint: &Footprint, by: By, arguments: &ViewArgs) -> Result<String> {
    let program = run.read_program()?;
    let told = || Ok::<_, anyhow::Error>(Told::new(&program, run.read_power()?));
    match (by, arguments.format) {
        (By::Window, Format::Table) => Ok(program::window_table(&told()?.windows())),
        (By::Window, Format::Json) => json::written(&told()?.windows()),
        (By::Window, Format::Csv) => tables::csv(&told()?.windows()),
        (By::Phase, Format::Table) => Ok(program::phase_table(&told()?.phases())),
        (By::Phase, Format::Json) => json::written(&told()?.phases()),
        (By::Phase, Format::Csv) => tables::csv(&told()?.phases()),
        _ if arguments.all_steps => {
            let factor = told()?.scale().map_or(1.0, |scale| scale.factor);
            view(&footprint.scaled(factor), by, arguments)
        }
        _ => view(footprint, by, arguments),
    }
}

/// One view of a footprint as text.
pub fn view(footprint: &Footprint, by: By, view: &ViewArgs) -> Result<String> {
    let part;
    let footprint = match &view.stage {
        None => footprint,
        Some(name) => {
            part = of_stage(footprint, name)?;
            &part
        }
    };
    let (tef, edges) = chosen(footprint, view);
    let operations = ranked(&tef, view);
    match (view.format, by) {
        (Format::Table, By::Layer) => Ok(tables::tree(&t2e(&tef, &edges), view)),
        (Format::Table, By::Op) => Ok(tables::operations(&tef, &operations)),
        (Format::Table, By::Pass) => Ok(tables::passes(&tef)),
        (Format::Table, By::Device) => Ok(tables::devices(footprint)),
        (Format::Table, By::Step) => Ok(tables::steps(footprint)),
        (Format::Table, By::Stage) => Ok(program::stage_table(&stages(footprint))),
        (Format::Json, By::Layer) => json::written(&t2e(&tef, &edges)),
        (Format::Json, By::Op) => json::written(&json::op_rows(footprint, operations.into_iter())),
        (Format::Json, By::Pass) => json::written(&tef.by_pass()),
        (Format::Json, By::Device) => json::written(&json::device_rows(footprint)),
        (Format::Json, By::Step) => json::written(&json::step_rows(footprint)),
        (Format::Json, By::Stage) => json::written(&stages(footprint)),
        (Format::Csv, By::Layer) => tables::csv(&layer_rows(&t2e(&tef, &edges), view.depth)),
        (Format::Csv, By::Op) => tables::csv(&json::op_rows(footprint, operations.into_iter())),
        (Format::Csv, By::Pass) => tables::csv(&pass_rows(&tef)),
        (Format::Csv, By::Device) => tables::csv(&json::device_rows(footprint)),
        (Format::Csv, By::Step) => tables::csv(&json::step_rows(footprint)),
        (Format::Csv, By::Stage) => tables::csv(&stages(footprint)),
        (_, By::Window | By::Phase) => {
            bail!("windows and phases are told by programs that ran under `jouletree run`; this run has none")
        }
    }
}

/// The part of a footprint that belongs to a stage.
fn of_stage(footprint: &Footprint, name: &str) -> Result<Footprint> {
    let number = footprint.stages.iter().position(|stage| &*stage.name == name);
    number.and_then(|number| footprint.of_stage(number)).ok_or_else(|| {
        let names: Vec<&str> =
            footprint.stages.iter().map(|stage| &*stage.name).filter(|name| !name.is_empty()).collect();
        match names.as_slice() {
            [] => {
                anyhow!("this run has no stages; name them with --stage or jouletree.stage(…) when it is recorded")
            }
            names => anyhow!("there is no stage `{name}`; there are: {}", names.join(", ")),
        }
    })
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
