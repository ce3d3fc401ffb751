//! Tables for people: devices, operations, passes, steps, and all of them one after the other.

use anyhow::Result;
use jouletree_account::{Spreads, Tef, TefEntry, t2e};
use jouletree_model::{DeviceEnergy, Footprint, Joules, Nanos, PartKind, StepEnergy, in_spreadsheet};
use serde::Serialize;

use crate::cell::Cell;
use crate::cli::ViewArgs;
use crate::colour;
use crate::columns::{Columns, Keep};
use crate::numbers::{Numbers, energy_cell, error_cell, kind_cell, percent, share};
use crate::page::Page;
use crate::tree_table::tree;

/// Paths of operations are not made shorter than this before other columns have given way.
const OPERATION: usize = 36;

/// The whole story: balance, layers, operations, passes.
pub fn report(footprint: &Footprint, spreads: &Spreads, tef: &Tef, ranked: &[&TefEntry], view: &ViewArgs) -> Page {
    let numbers = Numbers::of(footprint, spreads);
    let mut page = Page::of(devices(footprint, &numbers));
    footprint.devices.iter().filter_map(unattributed).for_each(|words| page.words(words));
    page.title("by layer");
    page.table(tree(&t2e(tef, &[]).predicted(&footprint.intervals), &numbers, view));
    page.title(format!("top {} operations", ranked.len()));
    page.table(operations(tef, ranked, &numbers));
    page.title("by pass");
    page.table(passes(tef, &numbers));
    page
}

/// What no operation was charged with, in words.
fn unattributed(balance: &DeviceEnergy) -> Option<String> {
    balance.total?;
    let inside = balance.unattributed - balance.outside_trace;
    Some(format!(
        "{}: not attributed are {} while no operation ran and {} before and after the trace",
        balance.device,
        Joules(inside.0.max(0.0)),
        balance.outside_trace
    ))
}

/// What was attributed and what not, device by device, in words.
pub fn balances(footprint: &Footprint) -> Vec<String> {
    let has_steps = footprint.parts.iter().any(|part| part.part.kind == PartKind::RecordedSteps);
    let (outside, inside) = match has_steps {
        true => ("outside of recorded steps", "within them"),
        false => ("while operations were not recorded", "while they were"),
    };
    let words = footprint.devices.iter().filter_map(|balance| {
        let measured = balance.total.filter(|measured| measured.0 > 0.0)?;
        let recorded = Joules((measured - balance.outside_trace).0.max(0.0));
        if balance.attributed.0 <= 0.0 {
            let place = if footprint.charges.is_empty() { "" } else { " within steps" };
            return Some(format!("{}: {measured}; no operation was recorded{place}", balance.device));
        }
        let part = |part: Joules| format!("{part} ({})", percent(share(part, recorded)));
        let idle = Joules((recorded - balance.attributed).0.max(0.0));
        Some(format!(
            "{}: {measured}, of which {} {outside} and {recorded} {inside}; of these {} went to operations and {} were used \
             while none ran",
            balance.device,
            balance.outside_trace,
            part(balance.attributed),
            part(idle)
        ))
    });
    words.collect()
}

/// The balance of every device.
pub fn devices(footprint: &Footprint, numbers: &Numbers<'_>) -> Columns {
    let header = ["device", "kind", "measured", numbers.level(), "attributed", "unattributed", "busy", "metered"];
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
            energy_cell(format!("{energy} ({})", percent(part)), part, balance.kind)
        };
        table.row(vec![
            device,
            kind_cell(balance.kind),
            energy_cell(measured.to_string(), None, balance.kind),
            Cell::from(numbers.bounds_of_device(&balance.device, measured)).styled(colour::quiet()),
            with_share(balance.attributed),
            with_share(balance.unattributed),
            balance.busy.to_string().into(),
            balance.metered.to_string().into(),
        ]);
    }
    table
}

/// Operations in the order given.
pub fn operations(tef: &Tef, entries: &[&TefEntry], numbers: &Numbers<'_>) -> Columns {
    let total = tef.total();
    let header = [
        "operation",
        "type",
        "pass",
        "device",
        "energy",
        numbers.level(),
        "share",
        "power",
        "time",
        "count",
        "± own",
    ];
    let table =
        Columns::new(&header).left(2).left(3).shorten(1, Keep::Start).shorten(0, Keep::End).split_at(5, '…');
    let mut table = table.at_least(0, OPERATION).optional(&[1, 9, 8, 5, 7, 3, 2]);
    if !numbers.have_bounds() {
        table = table.without(&[5]);
    }
    if entries.iter().all(|entry| entry.standard_error.is_none()) {
        table = table.without(&[10]);
    }
    for entry in entries {
        let part = share(entry.energy, total);
        let energy = numbers.on(&entry.device, entry.energy, part);
        table.row(vec![
            Cell::from(&*entry.path),
            Cell::from(&*entry.op_type),
            entry.pass.to_string().into(),
            entry.device.to_string().into(),
            if entry.approximate { Cell { text: format!("≈ {}", energy.text), ..energy } } else { energy },
            Cell::from(numbers.bounds_of_operation(entry)).styled(colour::quiet()),
            Cell::from(percent(part)).styled(colour::number(part)),
            entry.power().map(|power| power.to_string()).unwrap_or_default().into(),
            entry.busy.to_string().into(),
            entry.count.to_string().into(),
            error_cell(entry.standard_error),
        ]);
    }
    table
}

/// Forward, backward, optimizer.
pub fn passes(tef: &Tef, numbers: &Numbers<'_>) -> Columns {
    let total = tef.total();
    let devices = tef.by_device();
    let mut table = Columns::new(&["pass", "energy", "share", ""]).left(0).left(3);
    for (pass, energy) in tef.by_pass().iter() {
        let part = share(energy, total);
        table.row(vec![
            pass.to_string().into(),
            numbers.across(&devices, energy, part),
            Cell::from(percent(part)).styled(colour::number(part)),
            Cell::bar(part),
        ]);
    }
    table
}

/// What the operations of each step used; `None` when the trace has no steps.
pub fn steps(footprint: &Footprint, numbers: &Numbers<'_>) -> Option<Columns> {
    let mut table = Columns::new(&["step", "device", "energy", "busy over threads"]).left(1);
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
