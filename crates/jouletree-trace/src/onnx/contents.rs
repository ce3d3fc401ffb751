//! What a profile says, event by event, before anything is concluded from it.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use jouletree_model::{Facts, Nanos, Warning};

use crate::census::Counter;
use crate::chrome::{ChromeEvent, ChromeVisitor};
use crate::flops::flops;
use crate::interner::Interner;
use crate::rejects::Rejects;

use super::args::{ProfileArgs, shapes};
use super::names::KERNEL_TIME;

/// Everything of interest in one file.
pub(super) struct OnnxContents {
    pub(super) file: String,
    /// What the model is called, if the program ran several: all paths are below it.
    pub(super) root: Option<String>,
    pub(super) names: Interner,
    /// The distinct operations, by name and type, with the facts of the first run of each.
    pub(super) ops: IndexMap<(u32, u32), Facts>,
    pub(super) nodes: Vec<NodeEvent>,
    pub(super) kernels: Vec<KernelEvent>,
    /// The runs of the model with their threads.
    pub(super) runs: Vec<(Nanos, Nanos, u32)>,
    pub(super) read: u64,
    pub(super) warnings: Vec<Warning>,
    pub(super) rejects: Rejects,
    pub(super) counter: Counter<(EventDevice, u32)>,
    /// The operations by name alone.
    op_called: FxHashMap<u32, usize>,
}

/// The run of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeEvent {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    /// Its number in [`OnnxContents::ops`].
    pub(super) op: usize,
    pub(super) thread: u32,
}

/// What a device did for an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelEvent {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) name: u32,
    pub(super) stream: u32,
    /// The operation that launched it, if the file has it.
    pub(super) launched_by: Option<usize>,
}

/// Where events happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum EventDevice {
    Host,
    Gpu,
}

impl OnnxContents {
    pub(super) fn new(file: &str, takes_census: bool) -> OnnxContents {
        OnnxContents {
            file: file.to_owned(),
            root: None,
            names: Interner::default(),
            ops: IndexMap::new(),
            nodes: Vec::new(),
            kernels: Vec::new(),
            runs: Vec::new(),
            read: 0,
            warnings: Vec::new(),
            rejects: Rejects::default(),
            counter: Counter::new(takes_census),
            op_called: FxHashMap::default(),
        }
    }

    fn complete(&mut self, event: &ChromeEvent<'_>, offset: u64) {
        let args = ProfileArgs::of(event.args_text);
        let is_node = event.category.bytes == b"Node";
        let is_kernel = event.category.bytes == b"Kernel";
        let place = if is_kernel { EventDevice::Gpu } else { EventDevice::Host };
        // A provider has its own category: it says where an operation was meant to run.
        let is_provided = is_node && !args.provider.bytes.is_empty();
        let category = self.names.raw(if is_provided { args.provider } else { event.category });
        let Some((start, end)) = self.rejects.extent(event, offset) else {
            return self.counter.count((place, category));
        };
        let name = event.name.text();
        // Older versions also time the fences around an operation, under its name.
        let node_name = name.strip_suffix(KERNEL_TIME).filter(|_| is_node);
        self.counter.note((place, category), start, end, is_kernel || node_name.is_some());
        if let Some(node_name) = node_name {
            let op = self.op(node_name, &args);
            let thread = self.thread(event);
            self.nodes.push(NodeEvent { start, end, op, thread });
        } else if is_kernel {
            let launched_by = self.launcher(&args);
            let stream = if args.stream.is_empty() { event.tid } else { args.stream };
            let stream = self.names.bytes(stream);
            let name = self.names.bytes(name.as_bytes());
            self.kernels.push(KernelEvent { start, end, name, stream, launched_by });
        } else if name == "model_run" {
            let thread = self.thread(event);
            self.runs.push((start, end, thread));
        }
    }

    fn op(&mut self, name: &str, args: &ProfileArgs<'_>) -> usize {
        let key = (self.names.bytes(name.as_bytes()), self.names.raw(args.op_name));
        if let Some(index) = self.ops.get_index_of(&key) {
            return index;
        }
        let (inputs, outputs) = (shapes(args.inputs), shapes(args.outputs));
        let facts = Facts {
            flops: flops(&args.op_name.text(), &inputs, &outputs),
            output_bytes: args.output_size.and_then(|size| u64::try_from(size).ok()),
            inputs,
            outputs,
            ..Facts::default()
        };
        let index = self.ops.insert_full(key, facts).0;
        self.op_called.insert(key.0, index);
        index
    }

    /// A path below the name of the model.
    pub(super) fn rooted(&self, path: &str) -> String {
        self.root.as_ref().map_or_else(|| path.to_owned(), |root| format!("{root}/{path}"))
    }

    /// Kernels name the operation that launched them, or follow it in the file.
    fn launcher(&self, args: &ProfileArgs<'_>) -> Option<usize> {
        let op_of = |event: &NodeEvent| Some((event.op, *self.ops.get_index(event.op)?.0));
        let parent = args.parent.text();
        let before = self.nodes.last().and_then(op_of);
        if !parent.is_empty() {
            let parent = self.names.find(parent.strip_suffix(KERNEL_TIME).unwrap_or(&parent))?;
            let is_parent = |(_, (name, _)): &(usize, (u32, u32))| *name == parent;
            let before = before.filter(is_parent).map(|(op, _)| op);
            return before.or_else(|| self.op_called.get(&parent).copied());
        }
        let op_name = args.op_name.text();
        let (op, (_, op_type)) = before?;
        (op_name.is_empty() || self.names.find(&op_name) == Some(op_type)).then_some(op)
    }

    fn thread(&mut self, event: &ChromeEvent<'_>) -> u32 {
        let label = [b"process ", event.pid, b" thread ", event.tid].concat();
        self.names.bytes(&label)
    }
}

impl ChromeVisitor for OnnxContents {
    fn header(&mut self, _key: &str, _value: &[u8]) {}

    fn event(&mut self, event: &ChromeEvent<'_>, offset: u64) -> bool {
        self.read += 1;
        if event.phase == b'X' {
            self.complete(event, offset);
        }
        true
    }
}
