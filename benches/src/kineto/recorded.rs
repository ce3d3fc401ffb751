//! A recorded trace repeated in time: the text is kept as PyTorch wrote it, only what must differ between two
//! repetitions is written anew: time stamps, sequence numbers, flows and the numbers of events.

use std::fs::File;
use std::io::{self, Read, Write};

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;

use crate::development_data;

const TRACE: &str = "traces/torch215_bert_tiny_hooks.json.gz";

/// Where the events to be repeated begin and end: the first complete event, and the profiler's own span.
const BODY: &str = "  {\n    \"ph\": \"X\",";
const AFTER_BODY: &str = "  {\n    \"ph\": \"X\",\n    \"cat\": \"Trace\"";

/// The numbers that grow from one repetition to the next, each with what precedes it.
const GROWING: [(&str, Growing); 5] = [
    ("    \"ts\": ", Growing::Time),
    ("    \"id\": ", Growing::Flow),
    ("\"Sequence number\": ", Growing::Sequence),
    ("\"External id\": ", Growing::External),
    ("\"Ev Idx\": ", Growing::Index),
];

/// A sort of number that grows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growing {
    Time,
    Flow,
    Sequence,
    External,
    Index,
}

/// A number in the text, preceded by text that stays.
struct Slot<'a> {
    before: &'a str,
    growing: Growing,
    /// In thousandths for a time.
    number: i64,
}

/// The recorded trace, if the development data is there.
pub(super) fn trace_text() -> Result<Option<String>> {
    let path = development_data().join(TRACE);
    if !path.exists() {
        return Ok(None);
    }
    let mut text = String::new();
    MultiGzDecoder::new(File::open(&path)?)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {}", path.display()))?;
    // A marker that is repeated would give another time each time.
    Ok(Some(text.replace("wall_ns=", "wall ")))
}

/// Writes the trace, its events repeated until there are about `bytes` bytes.
pub(super) fn repeat(trace: &str, bytes: u64, out: &mut impl Write) -> Result<()> {
    let (Some(begin), Some(end)) = (trace.find(BODY), trace.find(AFTER_BODY)) else {
        bail!("the recorded trace does not look like one of PyTorch 2.15");
    };
    let (slots, rest) = slots_of(&trace[begin..end])?;
    let periods = GROWING.map(|(_, growing)| (growing, period(&slots, growing)));
    out.write_all(&trace.as_bytes()[..begin])?;
    let repetitions = (bytes / (end - begin) as u64).max(1);
    for repetition in 0..repetitions as i64 {
        for slot in &slots {
            out.write_all(slot.before.as_bytes())?;
            let period =
                periods.iter().find(|(growing, _)| *growing == slot.growing).map_or(0, |(_, period)| *period);
            write_number(out, slot.growing, slot.number + repetition * period)?;
        }
        out.write_all(rest.as_bytes())?;
    }
    out.write_all(&trace.as_bytes()[end..])?;
    Ok(())
}

/// Every growing number of a text, and what follows the last.
fn slots_of(text: &str) -> Result<(Vec<Slot<'_>>, &str)> {
    let mut slots = Vec::new();
    let (mut line_begin, mut kept) = (0, 0);
    for line in text.split_inclusive('\n') {
        let mut found: Vec<(usize, Growing)> = GROWING
            .iter()
            .filter_map(|(key, growing)| Some((line_begin + line.find(key)? + key.len(), *growing)))
            .collect();
        found.sort_by_key(|(at, _)| *at);
        for (at, growing) in found {
            let is_part = |c: char| c.is_ascii_digit() || c == '.';
            let length = text[at..].find(|c| !is_part(c)).unwrap_or(text.len() - at);
            let number = &text[at..at + length];
            let number = number.replace('.', "").parse().with_context(|| format!("`{number}` is not a number"))?;
            slots.push(Slot { before: &text[kept..at], growing, number });
            kept = at + length;
        }
        line_begin += line.len();
    }
    Ok((slots, &text[kept..]))
}

/// How far apart repetitions must be for their numbers not to meet.
fn period(slots: &[Slot<'_>], growing: Growing) -> i64 {
    let numbers = || slots.iter().filter(|slot| slot.growing == growing).map(|slot| slot.number);
    let width = numbers().max().unwrap_or(0) - numbers().min().unwrap_or(0);
    // The last event of all runs on after it began.
    if growing == Growing::Time { width + 1_000_000_000 } else { width + 1 }
}

fn write_number(out: &mut impl Write, growing: Growing, number: i64) -> io::Result<()> {
    match growing {
        Growing::Time => write!(out, "{}.{:03}", number / 1000, number % 1000),
        _ => write!(out, "{number}"),
    }
}
