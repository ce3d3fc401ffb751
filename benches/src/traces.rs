//! How fast a Kineto trace becomes a footprint, plain and gzip.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use flate2::{Compression, write::GzEncoder};

use crate::Setup;
use crate::clock::best_of;
use crate::figure::{Figure, Target};
use crate::footprint::{Power, conservation_error, footprint_of_trace};
use crate::kineto::{self, Variant};
use crate::peers;

const RUNS: usize = 5;

/// Measures plain JSON to footprint.
pub fn plain_figures(setup: &Setup) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for variant in Variant::ALL {
        let Some(path) = trace_file(setup, variant)? else { continue };
        let measured = measure(&path)?;
        figures.push(Figure {
            what: format!("Kineto JSON → footprint, {variant}"),
            value: measured.megabytes / measured.cpu,
            decimals: 0,
            unit: "MB/s a core",
            target: Some(Target::AtLeast(450.0)),
            detail: format!(
                "{:.0} MB, {} k events, {:.0} MB/s on the wall, conserved to {:.0e}",
                measured.megabytes,
                measured.events / 1000,
                measured.megabytes / measured.wall,
                measured.error
            ),
            peers: setup.peers.measure("trace", &[path.as_os_str()], &peers::READING_EARLIER)?,
        });
    }
    Ok(figures)
}

/// Measures the same from gzip.
pub fn gzip_figures(setup: &Setup) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for variant in [Variant::Host, Variant::Recorded] {
        let Some(plain) = trace_file(setup, variant)? else { continue };
        let packed = pack(&plain)?;
        let megabytes = plain.metadata()?.len() as f64 / 1e6;
        let measured = measure(&packed)?;
        figures.push(Figure {
            what: format!("Kineto JSON.gz → footprint, {variant}"),
            value: megabytes / measured.wall,
            decimals: 0,
            unit: "MB/s of JSON on the wall",
            target: Some(Target::AtLeast(200.0)),
            detail: format!(
                "{:.1} MB packed ({:.0}:1), {:.0} MB/s a core",
                measured.megabytes,
                megabytes / measured.megabytes,
                megabytes / measured.cpu
            ),
            peers: setup.peers.measure("gzip", &[packed.as_os_str()], &peers::UNPACKING_EARLIER)?,
        });
    }
    Ok(figures)
}

struct Measured {
    megabytes: f64,
    events: usize,
    cpu: f64,
    wall: f64,
    error: f64,
}

/// From the file to its footprint, the best of several runs.
fn measure(path: &Path) -> Result<Measured> {
    let power = Power::for_trace(path)?;
    let ((footprint, _), took) = best_of(RUNS, || footprint_of_trace(path, &power))?;
    let error = conservation_error(&footprint);
    ensure!(error < 1e-9, "accounting {} lost energy: relative {error}", path.display());
    let megabytes = path.metadata()?.len() as f64 / 1e6;
    Ok(Measured { megabytes, events: power.events, cpu: took.cpu, wall: took.wall, error })
}

/// The trace of a variant, written when it is first asked for; `None` with a message when it cannot be made here.
fn trace_file(setup: &Setup, variant: Variant) -> Result<Option<PathBuf>> {
    let path = setup.folder().join(variant.file_name());
    if !path.exists() && !kineto::write_trace(&path, variant, setup.trace_bytes())? {
        eprintln!("  {variant} skipped: set JOULETREE_DATA to the folder of development data");
        return Ok(None);
    }
    Ok(Some(path))
}

/// Packs a file beside itself, as `gzip` does by default.
fn pack(plain: &Path) -> Result<PathBuf> {
    let packed = plain.with_extension("json.gz");
    let mut encoder = GzEncoder::new(File::create(&packed)?, Compression::new(6));
    io::copy(&mut File::open(plain)?, &mut encoder)?;
    encoder.finish()?;
    Ok(packed)
}
