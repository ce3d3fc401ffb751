//! ONNX Runtime profiles, as `SessionOptions.enable_profiling` writes them.
//!
//! `contents` keeps what the file says; `names` finds the path in an operation's name; `place` finds the layer of those
//! whose names have lost it, with the help of the model's graph (`graph`) where the model is given and of what fused
//! operations are made of (`families`).

mod args;
mod contents;
mod families;
mod graph;
mod names;
mod place;
mod runs;
mod trace;

use jouletree_model::Trace;

use crate::Format;
use crate::chrome::read_chrome;
use crate::error::{TraceError, ending_warning};
use crate::head::Head;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::sidecar::Sidecar;
use crate::source::Source;

use contents::OnnxContents;
pub(crate) use names::path_of_name;

pub(crate) const FORMAT: Format = Format { name: "onnxruntime", recognises, read, is_fallback: false };

/// What the runtime itself does, by the beginnings of the names that it gives it.
const SESSION: [&str; 5] =
    ["model_loading", "session_initialization", "model_run", "SequentialExecutor::", "ParallelExecutor::"];

fn recognises(head: &Head) -> bool {
    let in_session = head.names.iter().any(|name| SESSION.iter().any(|begin| name.starts_with(begin)));
    let of_nodes = head.names.iter().any(|name| name.ends_with(names::KERNEL_TIME));
    (head.categories.contains("Session") && in_session) || (head.categories.contains("Node") && of_nodes)
}

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let mut input = source.open(progress)?;
    let mut recording = OnnxContents::new(source.name(), options.census);
    let ending = read_chrome(&mut input, &mut recording);
    recording.warnings.extend(ending_warning(source.name(), &ending, recording.read));
    // The search for the time base reports what is wrong with it.
    let sidecar = Sidecar::of(source, &mut Vec::new());
    let root = sidecar.as_ref().and_then(Sidecar::root);
    // Nodes of several models may have the same names.
    let own = sidecar.filter(|_| root.is_some() || options.model.is_empty()).and_then(|sidecar| sidecar.model());
    let options = match own {
        Some(model) => &ReadOptions { model, base: options.base, census: options.census },
        None => options,
    };
    recording.root = root;
    let trace = trace::trace_of(recording, source, options);
    if trace.lanes.is_empty() {
        let what = "the profile holds no run of an operation; set SessionOptions.enable_profiling, call \
                    session.run() and then session.end_profiling()";
        return Err(TraceError::empty(source.name(), what, &trace.warnings));
    }
    Ok(trace)
}
