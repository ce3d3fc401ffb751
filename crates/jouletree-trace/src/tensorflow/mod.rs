//! What TensorFlow's sessions record: timelines, run metadata, and event files that hold run metadata.
//!
//! All three record the same steps. `timeline`, `run_metadata` and `event_file` read them; `contents` keeps what they say
//! and makes the trace; `graph` separates forward, backward and optimizer operations by the data flow; `names` undoes
//! what TensorFlow did to names, `inlined` and `fused` what it did to functions and kernels; `place` finds every operation's path in the model; `preference` chooses where several
//! files have the same step.

mod contents;
mod crc32c;
mod definitions;
mod device;
mod event_file;
pub(crate) mod fused;
mod graph;
pub(crate) mod inlined;
mod labels;
mod lanes;
pub(crate) mod names;
mod node_stats;
mod place;
mod preference;
mod run_metadata;
mod step_stats;
mod tensors;
mod tfrecord;
mod timeline;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use jouletree_model::Op;

use crate::Format;
use crate::interner::Interner;

use contents::Input;

pub(crate) use place::{layer, shared_layer};
pub(crate) use preference::prefer_run_metadata;

pub(crate) const TIMELINE: Format = timeline::FORMAT;
pub(crate) const RUN_METADATA: Format = run_metadata::FORMAT;
pub(crate) const EVENT_FILE: Format = event_file::FORMAT;

/// The operations of a graph, each at its place in the model, and the data flow between them. Types and inputs are
/// numbers of `names`.
pub(crate) fn graph_ops(
    types: &IndexMap<u32, u32>,
    inputs: &FxHashMap<u32, Vec<u32>>,
    names: &Interner,
) -> (Vec<Op>, Vec<(usize, usize)>) {
    let whole = |from: &u32| Input { from: *from, port: 0 };
    let inputs = inputs.iter().map(|(name, inputs)| (*name, inputs.iter().map(whole).collect())).collect();
    let graph = graph::Graph::new(types, &inputs, names);
    (place::places(&graph), graph.edges().collect())
}
