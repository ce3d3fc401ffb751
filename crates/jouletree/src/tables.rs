//! Tables for people: devices, operations, passes, steps, and all of them one after the other.

use anyhow::Result;
use jouletree_account::{Tef, TefEntry, t2e};
use jouletree_model::{DeviceEnergy, Footprint, Joules, Nanos, Pass, StepEnergy, in_spreadsheet};
use jouletree_report::Trust;
use serde::Serialize;

use crate::cell::Cell;
use crate::cli::ViewArgs;
use crate::colour;
use crate::columns::{Columns, Keep};
use crate::numbers::{Numbers, energy_cell, error_cell, kind_cell, percent, share};
use crate::page::Page;
use crate::tree_table::{OTHERS, beside, tree};

/// Paths of operations are not made shorter than this before other columns have given way.
const OPERATION: usize = 36;

/// The whole story: where all joules are, devices, layers, operations, passes.
pub fn report(
    footprint: &Footprint,
    numbers: &Numbers<'_>,
    tef: &Tef,
    ranked: &[&TefEntry],
    view: &ViewArgs,
) -> Page {
    let mut page = Page::default();
    head(&mut page, numbers);
    page.gap();
    page.table(devices(footprint, numbers));
    page.title("by layer");
    page.table(tree(&t2e(tef, &[]).predicted(&footprint.intervals), numbers, view));
    page.title(format!("top {} operations", ranked.len()));
    page.table(operations(tef, ranked, numbers, true));
    page.title("by pass");
    page.table(passes(tef, numbers));
    page
}

/// All joules in a sentence.
pub fn head(page: &mut Page, numbers: &Numbers<'_>) {
    let whole = numbers.whole;
    let kind = whole.kind.map(|kind| format!(", {kind}")).unwrap_or_default();
    let bounds = whole.interval.map(|interval| format!(" (95 %: {interval})")).unwrap_or_default();
    page.words(format!("{}{kind}{bounds}: {}", numbers.text(whole.energy), whole.sentence()));
}

/// How far all of this can be trusted.
pub fn trust(page: &mut Page, trust: &Trust) {
    page.gap();
    let line = format!("trust: {}; {}", trust.line(), trust.verdict().as_str());
    page.words(Cell::from(line).styled(colour::of_kind(colour::quiet(), trust.kind)));
    for caveat in &trust.caveats {
        page.words(Cell::from(format!("- {}: {}", caveat.message, caveat.remedy)).styled(colour::quiet()));
    }
}

/// The balance of every device.
pub fn devices(footprint: &Footprint, numbers: &Numbers<'_>) -> Columns {
    let header = ["device", "kind", "energy", numbers.level(), "attributed", "unattributed", "busy", "metered"];
    let table = Columns::new(&header).names(0).left(1).split_at(3, '…').split_at(4, '(').split_at(5, '(');
    let mut table = table.optional(&[7, 6, 3, 5]);
    if !numbers.have_bounds() {
        table = table.without(&[3]);
    }
    for balance in &footprint.devices {
        let device = Cell::from(balance.device.to_string());
        let Some(measured) = balance.total else {
            table.row(vec![device, Cell::from("no power").styled(colour::quiet())]);
            continue;
        };
        let with_share = |energy: Joules| {
            let part = share(energy, measured);
            let text = numbers.on(&balance.device, energy, part).text;
            energy_cell(format!("{text} ({})", percent(part)), part, balance.kind)
        };
        table.row(vec![
            device,
            kind_cell(balance.kind),
            numbers.on(&balance.device, measured, None),
            Cell::from(numbers.bounds_of_device(&balance.device, measured)).styled(colour::quiet()),
            with_share(balance.attributed),
            with_share(balance.unattributed),
            balance.busy.to_string().into(),
            balance.metered.to_string().into(),
        ]);
    }
    table
}

/// Operations in the order given; with what was used beside them, all joules are in the table.
pub fn operations(tef: &Tef, entries: &[&TefEntry], numbers: &Numbers<'_>, has_others: bool) -> Columns {
    let header = [
        "operation",
        "type",
        "pass",
        "device",
        "energy",
        numbers.level(),
        "of run",
        numbers.base(),
        "op power",
        "time, summed",
        "count",
        "± own",
    ];
    let table =
        Columns::new(&header).left(2).left(3).shorten(1, Keep::Start).shorten(0, Keep::End).split_at(5, '…');
    let mut table = table.at_least(0, OPERATION).optional(&[1, 10, 9, 5, 8, 3, 7, 6]);
    if !numbers.have_bounds() {
        table = table.without(&[5]);
    }
    if !numbers.whole.has_base() {
        table = table.without(&[7]);
    }
    if entries.iter().all(|entry| entry.standard_error.is_none()) {
        table = table.without(&[11]);
    }
    for entry in entries {
        let energy = numbers.on(&entry.device, entry.energy, numbers.whole.of_base(entry.energy));
        let [run, base] = numbers.shares(entry.energy, true);
        table.row(vec![
            Cell::from(&*entry.label()),
            Cell::from(&*entry.op_type),
            entry.pass.to_string().into(),
            entry.device.to_string().into(),
            if entry.approximate { Cell { text: format!("≈ {}", energy.text), ..energy } } else { energy },
            Cell::from(numbers.bounds_of_operation(entry)).styled(colour::quiet()),
            run,
            base,
            entry.power().map(|power| power.to_string()).unwrap_or_default().into(),
            entry.busy.to_string().into(),
            entry.count.to_string().into(),
            error_cell(entry.standard_error),
        ]);
    }
    if has_others {
        let shown: Joules = entries.iter().map(|entry| entry.energy).sum();
        let more = tef.entries().len() - entries.len();
        for (name, energy) in beside(numbers, shown) {
            let name = if name == OTHERS && more > 0 { format!("({more} more)") } else { format!("({name})") };
            let [run, _] = numbers.shares(energy, false);
            table.row(vec![
                Cell::from(name).styled(colour::quiet()),
                Cell::default(),
                Cell::default(),
                Cell::default(),
                energy_cell(numbers.text(energy), None, numbers.whole.kind),
                Cell::from(numbers.bounds_of(energy)).styled(colour::quiet()),
                run,
            ]);
        }
    }
    table
}

/// Forward, backward, optimizer, and what was used beside them.
pub fn passes(tef: &Tef, numbers: &Numbers<'_>) -> Columns {
    let devices = tef.by_device();
    let rows = tef.by_pass();
    let rows = rows.iter().map(|(pass, energy)| (pass.to_string(), energy));
    let table = Columns::new(&["pass", "energy", "of run", numbers.base(), ""]);
    sums(
        table,
        rows,
        |energy| numbers.across(&devices, energy, numbers.whole.of_run(energy)),
        tef.total(),
        numbers,
    )
}

/// Kinds of operations, the largest first, and what was used beside them.
pub fn types(tef: &Tef, top: usize, numbers: &Numbers<'_>) -> Columns {
    let header =
        ["type", "energy", "of run", numbers.base(), "", "forward", "backward", "optimizer", "op power", "count"];
    let mut table = Columns::new(&header).left(4).shorten(0, Keep::Start);
    table = table.optional(&[9, 8]).optional_together(&[5, 6, 7]).optional(&[4, 3]);
    if !numbers.whole.has_base() {
        table = table.without(&[3]);
    }
    let mut shown = Joules::ZERO;
    for kind in tef.by_type().iter().take(top) {
        let [run, base] = numbers.shares(kind.energy, true);
        let part = numbers.whole.of_run(kind.energy);
        let pass = |pass: Pass| match kind.passes.get(&pass) {
            Joules(0.0) => Cell::from("·").styled(colour::quiet()),
            energy => numbers.text(energy).into(),
        };
        shown += kind.energy;
        table.row(vec![
            Cell::from(&*kind.op_type),
            numbers.across(&kind.devices, kind.energy, part),
            run,
            base,
            Cell::bar(part),
            pass(Pass::Forward),
            pass(Pass::Backward),
            pass(Pass::Optimizer),
            kind.power().map(|power| power.to_string()).unwrap_or_default().into(),
            kind.count.to_string().into(),
        ]);
    }
    others(table, shown, numbers)
}

/// A table of sums over operations, with what was used beside them.
fn sums(
    table: Columns,
    rows: impl Iterator<Item = (String, Joules)>,
    cell: impl Fn(Joules) -> Cell,
    shown: Joules,
    numbers: &Numbers<'_>,
) -> Columns {
    let mut table = table.left(0).left(4);
    if !numbers.whole.has_base() {
        table = table.without(&[3]);
    }
    for (name, energy) in rows {
        let [run, base] = numbers.shares(energy, true);
        table.row(vec![Cell::from(name), cell(energy), run, base, Cell::bar(numbers.whole.of_run(energy))]);
    }
    others(table, shown, numbers)
}

/// Rows for what was used beside `shown` joules of operations, in a table of name, energy, two shares and a bar.
fn others(mut table: Columns, shown: Joules, numbers: &Numbers<'_>) -> Columns {
    for (name, energy) in beside(numbers, shown) {
        let [run, base] = numbers.shares(energy, false);
        let part = numbers.whole.of_run(energy);
        let energy = energy_cell(numbers.text(energy), part, numbers.whole.kind);
        table.row(vec![
            Cell::from(format!("({name})")).styled(colour::quiet()),
            energy,
            run,
            base,
            Cell::bar(part),
        ]);
    }
    table
}

/// What the operations of each step used; `None` when the trace has no steps.
pub fn steps(footprint: &Footprint, numbers: &Numbers<'_>) -> Option<Columns> {
    let mut table = Columns::new(&["step", "device", "energy", "time in operations, summed"]).left(1);
    for StepEnergy { device, step, energy, busy } in &footprint.steps {
        let Some(DeviceEnergy { device, .. }) = footprint.devices.get(*device) else { continue };
        let busy: Nanos = *busy;
        let energy = numbers.on(device, *energy, None);
        table.row(vec![step.0.to_string().into(), device.to_string().into(), energy, busy.to_string().into()]);
    }
    (!footprint.steps.is_empty()).then_some(table)
}

/// Rows as CSV with a header, whose cells are no formulas.
pub fn csv<T: Serialize>(rows: &[T]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    let plain = writer.into_inner()?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(plain.as_slice());
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in reader.records() {
        writer.write_record(record?.iter().map(in_spreadsheet).map(|cell| cell.into_owned()))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
