//! Kineto traces to measure with: a training written out event for event as PyTorch 2.15 writes it, on the host alone
//! or with a GPU, and a recorded trace repeated. The same call always writes the same bytes.

mod kernels;
mod layout;
mod recorded;
mod script;
mod snippets;
mod training;

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use layout::Layout;
use script::training_step;
use training::Training;

/// Which trace to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// A training on the host's processor: nested operators in the spans of modules.
    Host,
    /// The same with a GPU: launches, kernels on streams, the backward pass in a thread of its own.
    Gpu,
    /// A trace that PyTorch really wrote, again and again, if the development data is there.
    Recorded,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 3] = [Variant::Host, Variant::Gpu, Variant::Recorded];

    /// What its file is called.
    pub fn file_name(self) -> &'static str {
        match self {
            Variant::Host => "host.json",
            Variant::Gpu => "gpu.json",
            Variant::Recorded => "recorded.json",
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Variant::Host => "generated, CPU",
            Variant::Gpu => "generated, GPU",
            Variant::Recorded => "recorded, repeated",
        })
    }
}

/// Writes a trace of about `bytes` bytes, but no less than one step; `false` if its source is not at hand.
pub fn write_trace(path: &Path, variant: Variant, bytes: u64) -> Result<bool> {
    let recorded = match variant {
        Variant::Recorded => match recorded::trace_text()? {
            Some(text) => Some(text),
            None => return Ok(false),
        },
        Variant::Host | Variant::Gpu => None,
    };
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    match recorded {
        Some(text) => recorded::repeat(&text, bytes, &mut out)?,
        None => write_training(variant == Variant::Gpu, bytes, &mut out)?,
    }
    out.flush()?;
    Ok(true)
}

fn write_training(gpu: bool, bytes: u64, out: &mut impl Write) -> Result<()> {
    let calls = training_step(gpu);
    let mut training = Training::new(gpu);
    let mut layout = Layout::begin(out)?;
    loop {
        training.step(&calls, &mut layout)?;
        if layout.bytes() >= bytes {
            return Ok(layout.finish(training.now())?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::{Power, conservation_error, footprint_of_trace};

    #[test]
    fn generated_traces_are_read_without_a_warning_and_conserve_energy() {
        let folder = tempfile::tempdir().unwrap();
        for variant in [Variant::Host, Variant::Gpu] {
            let path = folder.path().join(variant.file_name());
            assert!(write_trace(&path, variant, 1).unwrap());
            let power = Power::for_trace(&path).unwrap();
            let bytes_per_event = path.metadata().unwrap().len() as usize / power.events;
            assert!((300..500).contains(&bytes_per_event), "{variant}: {bytes_per_event} bytes an event");
            let (footprint, tef) = footprint_of_trace(&path, &power).unwrap();
            assert!(conservation_error(&footprint) < 1e-12);
            assert_eq!(footprint.devices.len(), if variant == Variant::Gpu { 2 } else { 1 });
            let paths = || tef.entries().iter().map(|entry| &*entry.path);
            assert!(paths().any(|path| path.contains("attention/self/query")), "{variant}: modules are lost");
            // What gathers gradients names no forward operation; all else does.
            let lost = paths().find(|path| path.starts_with("gradients") && !is_gathering(path));
            assert_eq!(lost, None, "{variant}: a backward operation has lost its forward one");
        }
    }

    fn is_gathering(path: &str) -> bool {
        ["AccumulateGrad", "detach"].iter().any(|part| path.contains(part))
    }

    #[test]
    fn the_same_trace_is_written_every_time() {
        let text = || {
            let mut text = Vec::new();
            write_training(true, 1, &mut text).unwrap();
            text
        };
        assert_eq!(text(), text());
    }
}
