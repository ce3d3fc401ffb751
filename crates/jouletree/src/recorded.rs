//! Views of a recording of power: what each device used, and who used it.

use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp;
use jouletree_model::{Interval, Joules, Kind, LEVEL, Nanos, Spread};
use jouletree_report::{Trust, Whole};
use jouletree_run::{Balance, Exit, Recording, RunError, RunFolder};

use crate::cell::Cell;
use crate::cli::{By, Format};
use crate::columns::{Columns, Keep};
use crate::numbers::{energy_cell, kind_cell, percent, share, written};
use crate::page::{Look, Page};
use crate::show::ShowArgs;
use crate::{colour, json, print, print_warnings, recorded_json, tables};

/// Shows a recording that has not been accounted.
pub fn run(run: &RunFolder, recording: &Recording, arguments: &ShowArgs) -> Result<ExitCode> {
    if arguments.by.is_some_and(|by| by != By::Device) {
        return Err(RunError::OnlyRecorded(run.path().to_owned()).into());
    }
    let trust = Trust::of(Some(recording), &Whole::of_recording(recording));
    let page = || {
        let mut page = report(recording);
        tables::trust(&mut page, &trust);
        page
    };
    let text = match arguments.view.format {
        Format::Table => page().written(Look::of_stdout()),
        Format::Markdown => page().written(Look::Markdown),
        Format::Json => json::written(&recorded_json::of(recording, &trust, &run.manifest().warnings))?,
        Format::Csv => tables::csv(&recorded_json::device_rows(recording))?,
    };
    print(&text)?;
    let warnings = jouletree_report::lasting_warnings(run);
    print_warnings(&warnings);
    Ok(ExitCode::SUCCESS)
}

/// The whole story of a recording.
pub fn report(recording: &Recording) -> Page {
    let mut page = Page::default();
    head(recording).into_iter().for_each(|words| page.words(words));
    page.gap();
    page.table(devices(recording));
    page.words(monitor(recording));
    page
}

/// How long something is known about a device.
pub fn known(recording: &Recording, balance: &Balance) -> Nanos {
    Nanos((recording.duration_ns as f64 * balance.coverage).round() as i64)
}

/// The monitor's own energy and how it was obtained; `None` when no share has it.
pub fn own(recording: &Recording) -> Option<(Joules, Vec<Kind>)> {
    let own = recording.balance.iter().filter_map(|balance| Some((balance.parts?.own, balance.kind)));
    let own: Vec<(Joules, Kind)> = own.filter(|(own, _)| own.0 > 0.0).collect();
    let mut kinds: Vec<Kind> = own.iter().map(|(_, kind)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    (!own.is_empty()).then(|| (own.iter().map(|(own, _)| *own).sum(), kinds))
}

fn head(recording: &Recording) -> [String; 3] {
    let what = match (recording.command.as_slice(), recording.pid) {
        ([], Some(pid)) => format!("process {pid}"),
        ([], None) => "the machine".to_owned(),
        (command, _) => command.join(" "),
    };
    let host = &recording.host;
    let cpus = host.cpus.map(|cpus| format!("{cpus} CPUs"));
    let facts: Vec<&str> = [&host.cpu, &cpus, &host.kernel].into_iter().flatten().map(String::as_str).collect();
    let name = host.name.as_deref().unwrap_or("a machine without a name");
    let began = Timestamp::from_nanosecond(recording.began_ns.into()).map(|time| format!("{time:.0}"));
    let (began, duration) = (began.unwrap_or_default(), Nanos(recording.duration_ns));
    [
        what,
        format!("on {name} ({})", facts.join(", ")),
        format!("from {began} for {duration}, {}", ended(recording)),
    ]
}

fn ended(recording: &Recording) -> String {
    match recording.exit {
        _ if !recording.complete => "the recorder was cut off".to_owned(),
        None => "stopped".to_owned(),
        Some(Exit { signal: Some(signal), .. }) => format!("ended by signal {signal}"),
        Some(Exit { code, .. }) => format!("ended with status {}", code.unwrap_or_default()),
    }
}

fn devices(recording: &Recording) -> Columns {
    let header = ["device", "kind", "energy", "95 %", "power", "ours", "others", "idle", "unknown", "coverage"];
    let table = Columns::new(&header).left(1).shorten(0, Keep::Start).split_at(3, '…');
    let table = (5..9).fold(table, |table, column| table.split_at(column, '('));
    let mut table = table.optional(&[9, 4, 8, 7, 6, 3]);
    // One form for the whole column.
    let are_even = recording.balance.iter().filter_map(Balance::spread).all(Spread::is_even);
    let bounds = |balance: &Balance| match balance.spread().filter(|_| are_even) {
        Some(spread) => spread.to_string(),
        None => Interval::<LEVEL> { low: balance.low, high: balance.high }.to_string(),
    };
    for balance in &recording.balance {
        let name = match &balance.domain {
            Some(domain) => Cell::below("  ", &format!("{domain} of {}", balance.device)),
            None => Cell::from(balance.device.to_string()),
        };
        let kind = kind_cell(Some(balance.kind));
        if balance.coverage <= 0.0 {
            table.row(vec![name, kind, "unknown".into()]);
            continue;
        }
        let part = |part: Joules| {
            let share = share(part, balance.energy);
            energy_cell(
                format!("{} ({})", written(part, balance.spread()), percent(share)),
                share,
                Some(balance.kind),
            )
        };
        let mut row = vec![
            name,
            kind,
            energy_cell(written(balance.energy, balance.spread()), None, Some(balance.kind)),
            Cell::from(bounds(balance)).styled(colour::quiet()),
            (balance.energy / known(recording, balance)).to_string().into(),
        ];
        match balance.parts {
            Some(parts) => row.extend([parts.ours, parts.others, parts.idle, parts.unknown].map(part)),
            None => row.extend([""; 4].map(Cell::from)),
        }
        row.push(percent(balance.coverage).into());
        table.row(row);
    }
    table
}

/// What recording itself took. It is a part of the others'.
fn monitor(recording: &Recording) -> String {
    let energy = own(recording).map(|(energy, kinds)| {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        format!("{energy} ({})", kinds.join(" and "))
    });
    let time = recording.own_time_ns.map(|time| format!("{} of processor time", Nanos(time)));
    match [energy, time].into_iter().flatten().collect::<Vec<_>>().join(", ") {
        listed if listed.is_empty() => String::new(),
        listed => format!("jouletree itself (counted under others): {listed}"),
    }
}
