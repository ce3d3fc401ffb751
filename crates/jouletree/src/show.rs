//! `jouletree show`: views of a run.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use jouletree_account::Attribution;
use jouletree_account::{Explained, Folding, Spreads, Tef, TefEntry, TensorEdge, t2e, tensor_edges};
use jouletree_model::{Explanation, Footprint, MeteredSeries, Pass};
use jouletree_report::rows;
use jouletree_report::{PowerFloor, ProgramEnergy, Trust, Whole, explained_by, parts, stages};
use jouletree_run::{Recording, RunFolder};

use crate::cli::{By, Format, PassArg, ViewArgs, attribution};
use crate::columns::Columns;
use crate::numbers::Numbers;
use crate::page::{Look, Page};
use crate::program;
use crate::tree_table::tree;
use crate::{json, print, print_warnings, recorded, run, steps, tables};

/// More warnings are not printed again with every view.
const FEW_WARNINGS: usize = 1;
/// How many operations a table lists when nothing is said.
const TABLE_ROWS: usize = 10;

pub const EXAMPLES: &str = "\
Examples:
  jouletree show RUN                               the tree of layers, three levels deep
  jouletree show RUN --by op --summarize --top 10  the ten largest operations, equal blocks summed (STEF)
  jouletree show RUN --by type                     kinds of operations: MatMul, Mul, …
  jouletree show RUN --by pass                     forward, backward, optimizer
  jouletree show RUN --by layer --pass backward    the tree of the backward pass alone
  jouletree show RUN                               of a recording: what each device used, and who used it
  jouletree show RUN --format markdown             tables for an issue, a pull request or a notebook
  jouletree show RUN --by op --format csv          all operations, for a spreadsheet
  jouletree show RUN --color always | less -R      page by page, in colours";

#[derive(Args)]
pub struct ShowArgs {
    /// A run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// What to sum by; by default the tree of layers, or devices for a recording of power alone
    #[arg(long, value_enum)]
    pub by: Option<By>,
    /// How energy is shared among operations; by default as recorded, otherwise the run is accounted again
    #[arg(long, value_name = "POLICY", value_parser = attribution())]
    pub attribution: Option<Attribution>,
    /// Print what attribution did on each device and why, and nothing else
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// Runs the command.
pub fn run(arguments: &ShowArgs) -> Result<ExitCode> {
    let run = run::opened(&arguments.run)?;
    if let (None, Some(recording)) = (&run.manifest().accounting, &run.manifest().recording) {
        return recorded::run(&run, recording, arguments);
    }
    let Explained { footprint, explanations } =
        explained_by(&run, arguments.attribution, rayon::current_num_threads())?;
    if arguments.explain {
        let text = match arguments.view.format {
            Format::Json => json::written(&explanations)?,
            _ => explained(&explanations),
        };
        print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
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
    // Who looks at one view has seen them, or can.
    let is_one_view = arguments.by.is_some() && look(arguments.view.format).is_some();
    if is_one_view && warnings.len() > FEW_WARNINGS {
        writeln_stderr!("{} warnings about this run: jouletree show {}", warnings.len(), run.path().display());
    } else {
        print_warnings(&warnings);
    }
    let about_steps = steps::warnings(&run, arguments.view.all_steps)?;
    print_warnings(&about_steps);
    warnings.extend(about_steps);
    Ok(ExitCode::SUCCESS)
}

/// What attribution did, for people.
pub fn explained(explanations: &[Explanation]) -> String {
    if explanations.is_empty() {
        return "shares are equal, as asked; --attribution auto estimates the powers of operations\n".to_owned();
    }
    explanations.iter().map(|explanation| format!("{explanation}\n")).collect()
}

/// What is shown of a run.
pub struct Shown<'a> {
    pub footprint: &'a Footprint,
    pub spreads: &'a Spreads,
    /// All joules of it.
    pub whole: Whole,
    /// How far it can be trusted; `None` where it is a part of something else.
    pub trust: Option<Trust>,
    /// Of which operations the power is known.
    pub floor: PowerFloor,
}

impl<'a> Shown<'a> {
    /// A footprint whose power was recorded as said.
    pub fn of(footprint: &'a Footprint, spreads: &'a Spreads, recording: Option<&Recording>) -> Shown<'a> {
        let whole = Whole::of(footprint, spreads);
        let trust = Some(Trust::of(recording, &whole));
        Shown { footprint, spreads, whole, trust, floor: PowerFloor::default() }
    }
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
    let spreads = spreads(run);
    let shown = Shown::of(footprint, &spreads, run.manifest().recording.as_ref());
    let Some(recording) = &run.manifest().recording else { return Ok(report(&shown, &view)) };
    let numbers = Numbers::of(footprint, &spreads, &shown.whole);
    let spread = shown.whole.spread();
    let program = run.read_program()?;
    let energies = ProgramEnergy::new(&program, power);
    let mut page = recorded::report(recording);
    page.title("all joules");
    tables::head(&mut page, &numbers);
    let phases = energies.phases();
    if !phases.is_empty() {
        page.title("by step");
        page.table(program::phase_table(&phases, spread));
        program::process_words(&phases).into_iter().for_each(|words| page.words(words));
    }
    let parts = parts(footprint);
    if !parts.is_empty() {
        page.title("the whole run");
        page.table(program::part_table(&parts, spread));
    }
    if !footprint.energies.is_empty() {
        let (tef, _) = chosen(footprint, &view);
        page.title(format!("by layer{}", program::recorded_words(&phases)));
        page.table(tree(&t2e(&tef, &[]).predicted(&footprint.intervals), &numbers, &view));
        page.title("by type of operation");
        page.table(tables::types(&tef, TABLE_ROWS, &numbers));
        let ranked = ranked(&tef, &view, &shown.floor);
        page.title(format!("top {} operations", ranked.len()));
        page.table(tables::operations(&tef, &ranked, &numbers, true));
        page.title("by pass");
        page.table(tables::passes(&tef, &numbers));
    }
    steps::outside(&mut page, footprint, &numbers);
    let stages = stages(footprint);
    if !stages.is_empty() {
        page.title("by stage");
        page.table(program::stage_table(&stages, spread));
    }
    let windows = energies.windows();
    if !windows.is_empty() {
        page.title("by window");
        page.table(program::window_table(&windows, spread));
    }
    shown.trust.iter().for_each(|trust| tables::trust(&mut page, trust));
    Ok(page)
}

/// By what the energies of a run may be off, where its power was recorded here.
fn spreads(run: &RunFolder) -> Spreads {
    run.manifest().recording.iter().flat_map(|recording| recording.spreads()).collect()
}

/// One view of a run as text.
fn run_view(run: &RunFolder, footprint: &Footprint, by: By, arguments: &ViewArgs) -> Result<String> {
    let program = run.read_program()?;
    let energies = || Ok::<_, anyhow::Error>(ProgramEnergy::new(&program, run.read_power()?));
    let spread = Whole::of(footprint, &spreads(run)).spread();
    match (by, arguments.format) {
        (By::Window, Format::Json) => json::written(&energies()?.windows()),
        (By::Window, Format::Csv) => tables::csv(&energies()?.windows()),
        (By::Window, format) => match energies()?.windows().as_slice() {
            [] => bail!("the program marked no windows; `jouletree.window` marks them (docs/windows.md)"),
            windows => Ok(written(program::window_table(windows, spread), format)),
        },
        (By::Phase, Format::Json) => json::written(&energies()?.phases()),
        (By::Phase, Format::Csv) => tables::csv(&energies()?.phases()),
        (By::Phase, format) => match energies()?.phases().as_slice() {
            [] => bail!(no_steps()),
            phases => Ok(written(program::phase_table(phases, spread), format)),
        },
        _ => {
            let spreads = spreads(run);
            let mut shown = Shown::of(footprint, &spreads, run.manifest().recording.as_ref());
            if arguments.by_power {
                shown.floor = PowerFloor::of(&run.read_power()?);
            }
            if !arguments.all_steps {
                return view(&shown, by, arguments);
            }
            let scaled = steps::all(run, footprint, &program)?;
            let whole = Whole::of_all_steps(footprint, &scaled, &spreads);
            view(&Shown { footprint: &scaled, whole, ..shown }, by, arguments)
        }
    }
}

fn written(table: Columns, format: Format) -> String {
    table.written(look(format).unwrap_or_else(Look::of_stdout))
}

/// One view of a footprint as text.
pub fn view(shown: &Shown<'_>, by: By, view: &ViewArgs) -> Result<String> {
    let Some(name) = &view.stage else { return whole_view(shown, by, view) };
    let footprint = of_stage(shown.footprint, name)?;
    let whole = Whole::of_stage(&footprint, &shown.whole, shown.spreads);
    let (trust, floor) = (shown.trust.clone(), shown.floor.clone());
    whole_view(&Shown { footprint: &footprint, spreads: shown.spreads, whole, trust, floor }, by, view)
}

fn whole_view(shown: &Shown<'_>, by: By, view: &ViewArgs) -> Result<String> {
    let Shown { footprint, spreads, whole, .. } = shown;
    let (tef, edges) = chosen(footprint, view);
    let operations = || rows::op_rows(footprint, spreads, whole, ranked(&tef, view, &shown.floor).into_iter());
    let bounded = || t2e(&tef, &edges).bounded(spreads).predicted(&footprint.intervals);
    if let Some(look) = look(view.format) {
        return Ok(page(shown, &tef, by, view)?.written(look));
    }
    match (view.format == Format::Json, by) {
        (true, By::Layer) => {
            json::written(&rows::TreeOfRun { tree: &bounded(), whole, trust: shown.trust.as_ref() })
        }
        (true, By::Op) => json::written(&operations()),
        (true, By::Type) => json::written(&rows::type_rows(&tef, whole)),
        (true, By::Pass) => json::written(&tef.by_pass()),
        (true, By::Device) => json::written(&rows::device_rows(footprint, spreads)),
        (true, By::Step) => json::written(&rows::step_rows(footprint)),
        (true, By::Stage) => json::written(&stages(footprint)),
        (true, By::Part) => json::written(&parts(footprint)),
        (false, By::Layer) => tables::csv(&rows::layer_rows(&bounded(), whole, view.depth)),
        (false, By::Op) => tables::csv(&operations()),
        (false, By::Type) => tables::csv(&rows::type_rows(&tef, whole)),
        (false, By::Pass) => tables::csv(&rows::pass_rows(&tef, whole)),
        (false, By::Device) => tables::csv(&rows::device_rows(footprint, spreads)),
        (false, By::Step) => tables::csv(&rows::step_rows(footprint)),
        (false, By::Stage) => tables::csv(&stages(footprint)),
        (false, By::Part) => tables::csv(&parts(footprint)),
        (_, By::Window | By::Phase) => Err(no_steps()),
    }
}

/// One view of a footprint for people.
fn page(shown: &Shown<'_>, tef: &Tef, by: By, view: &ViewArgs) -> Result<Page> {
    let footprint = shown.footprint;
    let numbers = Numbers::of(footprint, shown.spreads, &shown.whole);
    let mut page = Page::default();
    if by != By::Part {
        tables::head(&mut page, &numbers);
        page.gap();
    }
    match by {
        By::Layer => page.table(tree(&t2e(tef, &[]).predicted(&footprint.intervals), &numbers, view)),
        By::Op => {
            page.table(tables::operations(tef, &ranked(tef, view, &shown.floor), &numbers, true));
            page.words(if view.by_power { shown.floor.words() } else { String::new() });
        }
        By::Type => page.table(tables::types(tef, view.top.unwrap_or(TABLE_ROWS), &numbers)),
        By::Pass => page.table(tables::passes(tef, &numbers)),
        By::Device => page.table(tables::devices(footprint, &numbers)),
        By::Step => match tables::steps(footprint, &numbers) {
            Some(table) => {
                page.table(table);
                if !footprint.parts.is_empty() {
                    page.words("energy of the step's operations; numbers are per process");
                }
            }
            None => page.words("the trace has no steps"),
        },
        By::Part => match parts(footprint).as_slice() {
            [] => bail!(no_steps()),
            parts => page.table(program::part_table(parts, shown.whole.spread())),
        },
        By::Stage => match stages(footprint).as_slice() {
            [] => {
                bail!("the program named no stages; name them with --stage or `jouletree.stage` (docs/windows.md)")
            }
            stages => page.table(program::stage_table(stages, shown.whole.spread())),
        },
        By::Window | By::Phase => bail!(no_steps()),
    }
    shown.trust.iter().for_each(|trust| tables::trust(&mut page, trust));
    Ok(page)
}

fn no_steps() -> anyhow::Error {
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
pub fn report(shown: &Shown<'_>, view: &ViewArgs) -> Page {
    let (tef, _) = chosen(shown.footprint, view);
    let numbers = Numbers::of(shown.footprint, shown.spreads, &shown.whole);
    let mut page = tables::report(shown.footprint, &numbers, &tef, &ranked(&tef, view, &shown.floor), view);
    shown.trust.iter().for_each(|trust| tables::trust(&mut page, trust));
    page
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

fn ranked<'a>(tef: &'a Tef, view: &ViewArgs, floor: &PowerFloor) -> Vec<&'a TefEntry> {
    let all: Vec<&TefEntry> = if view.by_power { floor.ranked(tef) } else { tef.entries().iter().collect() };
    // A program wants all of them unless it says otherwise; a person needs no table of thousands.
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
