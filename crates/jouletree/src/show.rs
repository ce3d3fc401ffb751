//! `jouletree show`: views of a run.

use anyhow::{Result, anyhow, bail};
use jouletree_account::{Folding, Spreads, Tef, TefEntry, TensorEdge, t2e, tensor_edges};
use jouletree_model::{Footprint, MeteredSeries, Pass};
use jouletree_report::{ProgramEnergy, footprint_by, parts, stages};
use jouletree_run::RunFolder;

use crate::cli::{By, Format, PassArg, ShowArgs, ViewArgs};
use crate::columns::Columns;
use crate::numbers::Numbers;
use crate::page::{Look, Page};
use crate::program;
use crate::tree_table::tree;
use crate::{Outcome, json, print, print_warnings, recorded, rows, run, steps, tables};

/// How many operations a table lists when nothing is said.
const TABLE_ROWS: usize = 10;

/// Runs the command.
pub fn run(arguments: &ShowArgs) -> Result<Outcome> {
    let run = run::opened(&arguments.run)?;
    if let (None, Some(recording)) = (&run.manifest().accounting, &run.manifest().recording) {
        return recorded::run(&run, recording, arguments);
    }
    let footprint = footprint_by(&run, arguments.attribution, rayon::current_num_threads())?;
    let text = match (arguments.by, &run.manifest().recording, look(arguments.view.format)) {
        (None, Some(_), Some(look)) if arguments.view.is_default() => {
            run_report(&run, &footprint, run.read_power()?)?.written(look)
        }
        (by, ..) => run_view(&run, &footprint, by.unwrap_or(By::Layer), &arguments.view)?,
    };
    print(&text)?;
    let mut warnings = match run.manifest().recording {
        Some(_) => jouletree_report::lasting_warnings(&run),
        None => footprint.warnings,
    };
    warnings.extend(steps::warnings(&run, arguments.view.all_steps)?);
    print_warnings(&warnings);
    Ok(Outcome { warnings, strict: false })
}

/// How a result for people looks on standard output; `None` when it is for programs.
pub fn look(format: Format) -> Option<Look> {
    match format {
        Format::Table => Some(Look::of_stdout()),
        Format::Markdown => Some(Look::Markdown),
        Format::Json | Format::Csv => None,
    }
}

/// Everything about a run that was recorded here: power, steps, layers, operations, passes, stages, windows.
pub fn run_report(run: &RunFolder, footprint: &Footprint, power: Vec<MeteredSeries>) -> Result<Page> {
    let view = ViewArgs::default();
    let Some(recording) = &run.manifest().recording else {
        return Ok(report(footprint, &Spreads::default(), &view));
    };
    let spreads = spreads(run);
    let numbers = Numbers::of(footprint, &spreads);
    let program = run.read_program()?;
    let told = ProgramEnergy::new(&program, power);
    let mut page = recorded::report(recording);
    let phases = told.phases();
    if !phases.is_empty() {
        page.title("by step");
        page.table(program::phase_table(&phases));
        program::process_words(&phases).into_iter().for_each(|words| page.words(words));
    }
    let parts = parts(footprint);
    if !parts.is_empty() {
        page.title("the whole run");
        page.table(program::part_table(&parts));
    }
    let balances = tables::balances(footprint);
    if !balances.is_empty() {
        page.title("what the process tree used");
        balances.into_iter().for_each(|words| page.words(words));
    }
    if !footprint.energies.is_empty() {
        let (tef, _) = chosen(footprint, &view);
        page.title(format!("by layer{}", program::recorded_words(&phases)));
        page.table(tree(&t2e(&tef, &[]).predicted(&footprint.intervals), &numbers, &view));
        let ranked = ranked(&tef, &view);
        page.title(format!("top {} operations", ranked.len()));
        page.table(tables::operations(&tef, &ranked, &numbers));
        page.title("by pass");
        page.table(tables::passes(&tef, &numbers));
    }
    steps::outside(&mut page, footprint, &numbers);
    let stages = stages(footprint);
    if !stages.is_empty() {
        page.title("by stage");
        page.table(program::stage_table(&stages));
    }
    let windows = told.windows();
    if !windows.is_empty() {
        page.title("by window");
        page.table(program::window_table(&windows));
    }
    Ok(page)
}

/// By what the energies of a run may be off, where its power was recorded here.
fn spreads(run: &RunFolder) -> Spreads {
    run.manifest().recording.iter().flat_map(|recording| recording.spreads()).collect()
}

/// One view of a run as text.
fn run_view(run: &RunFolder, footprint: &Footprint, by: By, arguments: &ViewArgs) -> Result<String> {
    let program = run.read_program()?;
    let told = || Ok::<_, anyhow::Error>(ProgramEnergy::new(&program, run.read_power()?));
    match (by, arguments.format) {
        (By::Window, Format::Json) => json::written(&told()?.windows()),
        (By::Window, Format::Csv) => tables::csv(&told()?.windows()),
        (By::Window, format) => Ok(written(program::window_table(&told()?.windows()), format)),
        (By::Phase, Format::Json) => json::written(&told()?.phases()),
        (By::Phase, Format::Csv) => tables::csv(&told()?.phases()),
        (By::Phase, format) => Ok(written(program::phase_table(&told()?.phases()), format)),
        _ if arguments.all_steps => view(&steps::all(run, footprint, &program)?, &spreads(run), by, arguments),
        _ => view(footprint, &spreads(run), by, arguments),
    }
}

fn written(table: Columns, format: Format) -> String {
    table.written(look(format).unwrap_or_else(Look::of_stdout))
}

/// One view of a footprint as text.
pub fn view(footprint: &Footprint, spreads: &Spreads, by: By, view: &ViewArgs) -> Result<String> {
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
    let bounded = || t2e(&tef, &edges).bounded(spreads).predicted(&footprint.intervals);
    if let Some(look) = look(view.format) {
        return Ok(page(footprint, spreads, &tef, by, view)?.written(look));
    }
    match (view.format == Format::Json, by) {
        (true, By::Layer) => json::written(&bounded()),
        (true, By::Op) => json::written(&json::op_rows(footprint, spreads, operations.into_iter())),
        (true, By::Pass) => json::written(&tef.by_pass()),
        (true, By::Device) => json::written(&json::device_rows(footprint, spreads)),
        (true, By::Step) => json::written(&json::step_rows(footprint)),
        (true, By::Stage) => json::written(&stages(footprint)),
        (true, By::Part) => json::written(&parts(footprint)),
        (false, By::Layer) => tables::csv(&rows::layer_rows(&bounded(), view.depth)),
        (false, By::Op) => tables::csv(&json::op_rows(footprint, spreads, operations.into_iter())),
        (false, By::Pass) => tables::csv(&rows::pass_rows(&tef)),
        (false, By::Device) => tables::csv(&json::device_rows(footprint, spreads)),
        (false, By::Step) => tables::csv(&json::step_rows(footprint)),
        (false, By::Stage) => tables::csv(&stages(footprint)),
        (false, By::Part) => tables::csv(&parts(footprint)),
        (_, By::Window | By::Phase) => Err(nothing_told()),
    }
}

/// One view of a footprint for people.
fn page(footprint: &Footprint, spreads: &Spreads, tef: &Tef, by: By, view: &ViewArgs) -> Result<Page> {
    let numbers = Numbers::of(footprint, spreads);
    let mut page = Page::default();
    match by {
        By::Layer => page.table(tree(&t2e(tef, &[]).predicted(&footprint.intervals), &numbers, view)),
        By::Op => page.table(tables::operations(tef, &ranked(tef, view), &numbers)),
        By::Pass => page.table(tables::passes(tef, &numbers)),
        By::Device => page.table(tables::devices(footprint, &numbers)),
        By::Step => match tables::steps(footprint, &numbers) {
            Some(table) => {
                page.table(table);
                if !footprint.parts.is_empty() {
                    page.words("energy of the step's operations; numbers are per process");
                }
            }
            None => page.words("the trace does not tell steps"),
        },
        By::Part => match parts(footprint).as_slice() {
            [] => bail!(nothing_told()),
            parts => page.table(program::part_table(parts)),
        },
        By::Stage => page.table(program::stage_table(&stages(footprint))),
        By::Window | By::Phase => bail!(nothing_told()),
    }
    // Devices have a column for it.
    if by != By::Device {
        numbers.remarks().into_iter().for_each(|remark| page.words(remark));
    }
    Ok(page)
}

fn nothing_told() -> anyhow::Error {
    anyhow!("windows, phases and parts are those of programs that ran under `jouletree run`; this run has none")
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
pub fn report(footprint: &Footprint, spreads: &Spreads, view: &ViewArgs) -> Page {
    let (tef, _) = chosen(footprint, view);
    tables::report(footprint, spreads, &tef, &ranked(&tef, view), view)
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
    let unasked = if matches!(view.format, Format::Table | Format::Markdown) { TABLE_ROWS } else { usize::MAX };
    all.into_iter().take(view.top.unwrap_or(unasked)).collect()
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
