//! XPlane files (`*.xplane.pb`), as `tf.profiler` and `jax.profiler` write them.
//!
//! `space` finds planes, lines and names in the file; `kinds` says what the events with a name are and `names` where
//! TensorFlow's operations are in the model; `layers` keeps the layers that the program noted, `eager` finds what ran
//! without a graph; `programs` places what XLA compiled; `host` and `device` go through the events; `work` and
//! `containers` make the times of compiled operations right; `contents` keeps what they find and makes the trace of it.

mod containers;
mod contents;
mod device;
mod eager;
mod host;
mod ids;
mod keras;
mod kinds;
mod layers;
mod names;
mod ops;
mod place;
mod programs;
mod space;
mod stats;
mod steps;
mod work;
mod xla;

use jouletree_model::{Trace, Warning};

use crate::Format;
use crate::error::TraceError;
use crate::head::Head;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::source::Source;
use crate::wire::Fields;

use contents::XPlaneContents;
use place::PlaneKind;
use space::Space;

pub(crate) const FORMAT: Format = Format { name: "xplane", recognises, read, is_fallback: false };

/// A file begins with a plane, and a plane with its number, its name or its lines; no text begins like that, and no
/// other protocol buffer that frameworks write.
fn recognises(head: &Head) -> bool {
    const PLANES: [&[u8]; 4] = [b"/host:", b"/device:", b"Task Environment", b"#Metadata"];
    let mut start = head.start.as_slice();
    // Complaints and the names of machines may come first.
    while let [0x12 | 0x1a | 0x22, length @ 0..=0x7f, rest @ ..] = start
        && let Some(rest) = rest.get(usize::from(*length)..)
    {
        start = rest;
    }
    let mut fields = Fields::new(start);
    let first = fields.next().or(fields.cut().map(|(field, rest)| (field, crate::wire::Value::Bytes(rest))));
    let in_plane = |bytes: &[u8]| matches!(bytes.first(), Some(0x08 | 0x12 | 0x1a));
    let is_plane = matches!(first, Some((1, value)) if in_plane(value.bytes()));
    // A file that was treated as text has lost its lengths but not its names.
    let is_mangled = start.first() == Some(&0x0a)
        && start.windows(REPLACED.len()).any(|bytes| bytes == REPLACED)
        && PLANES.iter().any(|name| start.windows(name.len()).any(|bytes| bytes == *name));
    is_plane || is_mangled
}

/// What a program puts in the place of bytes that are no text.
const REPLACED: &[u8] = b"\xef\xbf\xbd";

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let (bytes, failure) = source.read_all(progress)?;
    let space = Space::read(&bytes);
    let mut recording = XPlaneContents::new(&bytes, &space, options.census);
    for (number, plane) in space.planes.iter().enumerate() {
        match PlaneKind::of(&plane.name) {
            PlaneKind::Host => host::read_plane(&mut recording, number, plane),
            PlaneKind::Device(device) => device::read_plane(&mut recording, number, plane, &device),
        }
    }
    let mut warnings = space::warnings(&space, source.name());
    let damage = [space.damage, recording.damage].into_iter().flatten().min();
    warnings.extend(damage_warning(source.name(), &bytes, damage, failure, recording.events));
    recording.into_trace(source, options, warnings)
}

fn damage_warning(
    file: &str,
    bytes: &[u8],
    damage: Option<usize>,
    failure: Option<String>,
    events: u64,
) -> Option<Warning> {
    if let (None, Some(why)) = (damage, &failure) {
        let message = format!("the file is cut short here ({why}); the {events} events before are used");
        return Some(Warning::new(file, message).at(format!("byte {}", bytes.len())));
    }
    let at = damage?;
    let why = failure.map(|why| format!(" ({why})")).unwrap_or_default();
    let replaced = bytes.windows(REPLACED.len()).filter(|part| *part == REPLACED).count();
    let message = if replaced > 8 && replaced * 100 > bytes.len() {
        format!(
            "the file was treated as text somewhere and {replaced} of its bytes were replaced; copy it again as it \
             is (binary). {events} events could be read"
        )
    } else {
        format!(
            "the file is cut short or damaged here{why}; {events} events could be read. Names are at the end of \
             their plane, so events may have lost theirs"
        )
    };
    Some(Warning::new(file, message).at(format!("byte {at}")))
}
