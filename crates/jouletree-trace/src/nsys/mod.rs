//! Databases of Nsight Systems, as `nsys export --type sqlite` writes them.
//!
//! They hold what a Kineto trace holds in another form: ranges (NVTX) and calls of the CUDA runtime on the host's
//! threads, kernels and copies on GPUs, joined by correlation. `database` hands out rows whatever state the file is
//! in, `names` reads the names of ranges; `tables`, with `gpu` and `host`, puts everything into the recording that the
//! Kineto reader draws its conclusions from.
//!
//! Written from NVIDIA's description of the schema and tested with databases made after it.
//!
//! Reading takes SQLite, which is compiled with the feature `nsys`. A build without it recognises the files and refuses them.

#[cfg(feature = "nsys")]
mod database;
#[cfg(feature = "nsys")]
mod gpu;
#[cfg(feature = "nsys")]
mod host;
#[cfg(feature = "nsys")]
mod names;
#[cfg(feature = "nsys")]
mod reading;
#[cfg(feature = "nsys")]
mod tables;

use crate::Format;
use crate::head::Head;

#[cfg(feature = "nsys")]
use reading::read;

pub(crate) const FORMAT: Format = Format { name: "nsys-sqlite", recognises, read, is_fallback: false };

fn recognises(head: &Head) -> bool {
    head.start.starts_with(b"SQLite format 3\0")
}

#[cfg(not(feature = "nsys"))]
fn read(
    source: &crate::source::Source,
    _options: &crate::options::ReadOptions,
    _progress: &crate::input::Progress,
) -> Result<jouletree_model::Trace, crate::error::TraceError> {
    let found = "it is an SQLite database, which this build cannot read; build jouletree with its feature `nsys`";
    Err(crate::unrecognised(source, found.to_owned()))
}
