//! How fast an XPlane file becomes a trace.

mod generated;
mod message;
mod recorded;

use std::fs;

use anyhow::{Result, ensure};
use jouletree_model::Trace;
use jouletree_trace::{Progress, ReadOptions, read_trace, read_trace_bytes};

use crate::Setup;
use crate::clock::best_of;
use crate::figure::{Figure, Peer, Target};

const RUNS: usize = 5;

/// Measures bytes in memory to trace, and file to trace beside it.
pub fn figures(setup: &Setup) -> Result<Vec<Figure>> {
    let (bytes, written) = generated::space(setup.trace_bytes());
    let (trace, figure) = measure(setup, "generated", &bytes)?;
    ensure!(trace.event_count() as u64 == written.operations, "{} operations were read", trace.event_count());
    ensure!(events(&trace) == written.events, "{} events were read of {}", events(&trace), written.events);
    let mut figures = vec![figure];
    for name in recorded::NAMES {
        match recorded::space(name, setup.trace_bytes())? {
            Some(bytes) => figures.push(measure(setup, &format!("{name}, prolonged"), &bytes)?.1),
            None => eprintln!("  {name} skipped: set JOULETREE_DATA to the folder of development data"),
        }
    }
    Ok(figures)
}

fn measure(setup: &Setup, what: &str, bytes: &[u8]) -> Result<(Trace, Figure)> {
    let path = setup.folder().join("bench.xplane.pb");
    fs::write(&path, bytes)?;
    let (_, from_file) = best_of(RUNS, || Ok(read_trace(&path, &ReadOptions::default(), &Progress::default())?))?;
    let (trace, took) = best_of(RUNS, || Ok(read_trace_bytes(what, bytes, &ReadOptions::default())?))?;
    let megabytes = bytes.len() as f64 / 1e6;
    let events = events(&trace);
    let figure = Figure {
        what: format!("XPlane → trace, {what}"),
        value: megabytes / took.cpu,
        decimals: 0,
        unit: "MB/s a core",
        target: Some(Target::AtLeast(800.0)),
        detail: format!(
            "{megabytes:.0} MB in memory, {} k events, {} k of them accounted, {:.1} M events/s; {:.0} MB/s with the \
             reading of the file",
            events / 1000,
            trace.event_count() / 1000,
            events as f64 / took.cpu / 1e6,
            megabytes / from_file.cpu
        ),
        peers: vec![Peer { name: "prost, decoding all".to_owned(), value: "99".to_owned(), measured: false }],
    };
    Ok((trace, figure))
}

/// All events in the file, accounted or not.
fn events(trace: &Trace) -> u64 {
    trace.sources.iter().flat_map(|source| &source.counts).map(|count| count.events).sum()
}
