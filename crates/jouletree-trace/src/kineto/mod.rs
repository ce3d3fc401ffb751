//! PyTorch Kineto traces, from the categories of 2021 to today's.
//!
//! `contents` keeps what the file says, `walk` goes through the host's threads in time order and finds for every event
//! its module, its pass and its step, `device` joins kernels to what launched them.

pub(crate) mod contents;
mod device;
mod scopes;
mod walk;

#[cfg(feature = "nsys")]
pub(crate) use scopes::EVALUATE;

use jouletree_model::Trace;

use crate::Format;
use crate::chrome::read_chrome;
use crate::error::{TraceError, ending_warning};
use crate::head::Head;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::source::Source;

use contents::KinetoContents;
pub(crate) use scopes::{module_path, short_kernel_name};

pub(crate) const FORMAT: Format = Format { name: "pytorch-kineto", recognises, read, is_fallback: false };

fn recognises(head: &Head) -> bool {
    const CATEGORIES: [&str; 10] = [
        "cpu_op",
        "Operator",
        "kernel",
        "Kernel",
        "python_function",
        "cuda_runtime",
        "user_annotation",
        "mtia_runtime",
        "mtia_ccp_events",
        "xpu_runtime",
    ];
    let by_category = CATEGORIES.iter().any(|category| head.categories.contains(*category));
    // PyTorch built without Kineto writes a bare list of events of a process called so.
    by_category || head.keys.contains("schemaVersion") || head.processes.contains("CPU functions")
}

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let mut input = source.open(progress)?;
    let mut recording = KinetoContents::new(source.name(), options.census);
    let ending = read_chrome(&mut input, &mut recording);
    recording.warnings.extend(ending_warning(source.name(), &ending, recording.events));
    if recording.host.is_empty() && recording.gpu.is_empty() {
        let what = "the trace holds no operation and no kernel; record with torch.profiler.profile(activities=[CPU, CUDA])";
        let warnings = recording.into_trace(source, options).warnings;
        return Err(TraceError::empty(source.name(), what, &warnings));
    }
    Ok(recording.into_trace(source, options))
}
