//! The events of devices: kernels on streams, operations on cores.
//!
//! Written after what the profilers' sources say; no real file of a GPU or a TPU has been at hand.

use std::str::from_utf8;

use rustc_hash::FxHashMap;

use jouletree_model::{Device, Event, Nanos, Op, Pass, Step};

use crate::wire::Fields;

use super::contents::{XPlaneContents, lines, run};
use super::host::extent;
use super::layers::Layers;
use super::names::{Named, OpPlacement, Placed, places};
use super::ops::Slot;
use super::place::{Counted, category};
use super::space::{EventName, LineHead, Plane};
use super::stats::{RawEvent, Stat, StatValue, next_message};
use super::xla::{TextKey, XlaStats};

/// Goes through all lines of a device; those that are the same time again are counted and not accounted.
pub(super) fn read_plane<'a>(
    recording: &mut XPlaneContents<'a>,
    number: usize,
    plane: &Plane<'a>,
    device: &Device,
) {
    let lines = lines(plane);
    let counted = Counted::among(lines.iter().map(|(head, _)| head.name.as_str()));
    let mut reader = DevicePlane {
        number,
        plane,
        device,
        xla: XlaStats::of(plane),
        tf_op: plane.stat_id("tf_op"),
        kernels: FxHashMap::default(),
        scopes: Scopes::of(plane, &recording.layers),
    };
    for (head, line) in &lines {
        reader.read_line(recording, head, line, counted.includes(&head.name));
    }
}

struct DevicePlane<'p, 'a> {
    number: usize,
    plane: &'p Plane<'a>,
    device: &'p Device,
    xla: Option<XlaStats>,
    /// The statistic that names the TensorFlow operation a kernel was launched by.
    tf_op: Option<i64>,
    /// The operations met so far, by the number of the kernel's name and that of the operation.
    kernels: FxHashMap<(i64, TextKey), Slot>,
    scopes: Scopes,
}

/// The places of TensorFlow's operations, found together because names explain each other.
struct Scopes(FxHashMap<Vec<u8>, Op>);

impl Scopes {
    /// Operations that kernels refer to are among the names of statistics, as `name:Type`.
    fn of(plane: &Plane<'_>, layers: &Layers) -> Scopes {
        let texts: Vec<(&[u8], Named<'_>)> =
            plane.stats.iter().filter_map(|(_, text)| Some((*text, named(text)?))).collect();
        let placed = places(&texts.iter().map(|(_, named)| *named).collect::<Vec<_>>(), layers);
        let op = |placed: Placed| match placed.place {
            OpPlacement::At(op) | OpPlacement::SumOfGradients(op) => op,
        };
        Scopes(texts.into_iter().zip(placed).map(|((text, _), place)| (text.to_vec(), op(place))).collect())
    }

    fn get(&self, text: &[u8], layers: &Layers) -> Option<Op> {
        self.0.get(text).cloned().or_else(|| match places(&[named(text)?], layers).pop()?.place {
            OpPlacement::At(op) | OpPlacement::SumOfGradients(op) => Some(op),
        })
    }
}

fn named(text: &[u8]) -> Option<Named<'_>> {
    let (name, op_type) = from_utf8(text).ok()?.rsplit_once(':')?;
    let is_type = !op_type.is_empty() && op_type.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    (is_type && !name.is_empty()).then_some(Named { name, op_type })
}

impl<'a> DevicePlane<'_, 'a> {
    fn read_line(
        &mut self,
        recording: &mut XPlaneContents<'a>,
        head: &LineHead,
        line: &'a [u8],
        is_counted: bool,
    ) {
        let row = recording.category(self.device, category(&head.name));
        let takes_census = recording.takes_census();
        let line_start = recording.line_start(head);
        let mut events = Vec::new();
        let mut counted = 0;
        let mut fields = Fields::new(line);
        while let Some(message) = next_message(&mut fields) {
            let raw = RawEvent::read(message);
            let Some((start, end)) = extent(&raw, line_start) else {
                recording.reject(&raw, message);
                continue;
            };
            counted += 1;
            if takes_census {
                recording.note(row, start, end, is_counted);
            }
            if is_counted {
                self.add_run(recording, &raw, (start, end), &mut events);
            }
        }
        recording.note_damage(line, fields.damage());
        recording.events += counted;
        if !takes_census {
            recording.count(row, counted);
        }
        let label = format!("{} {}", self.plane.name, head.name);
        recording.add_lane(self.number, head, self.device, label, events);
    }

    fn add_run(
        &mut self,
        recording: &mut XPlaneContents<'a>,
        raw: &RawEvent<'a>,
        extent: (Nanos, Nanos),
        events: &mut Vec<Event>,
    ) {
        let name = self.plane.events.get(raw.name).copied().unwrap_or_default();
        if let Some(xla) = self.xla {
            let of_name = || {
                let found = xla.of_name(raw.name, &name)?;
                found.program().is_some_and(|program| recording.programs.has(program)).then_some(found)
            };
            if let Some(found) = xla.of_event(raw).or_else(of_name) {
                return xla.add_runs(recording, self.plane, self.number, &found, extent, events);
            }
        }
        let is_op = |stat: &Stat<'_>| Some(stat.id) == self.tf_op;
        let tf_op = raw.stats().find(is_op).or_else(|| Stat::of_name(name.message).find(is_op));
        let tf_op = tf_op.map_or(StatValue::None, |stat| stat.value);
        let key = (raw.name, TextKey::of(tf_op));
        let slot = match self.kernels.get(&key) {
            Some(slot) => *slot,
            None => {
                let op = self.kernel(&name, self.plane.text(tf_op), &recording.layers);
                let slot = recording.ops.add(op);
                self.kernels.insert(key, slot);
                slot
            }
        };
        events.push(run(extent.0, extent.1, slot, Step::NONE));
    }
    /// The operation that a kernel is a run of.
    fn kernel(&self, name: &EventName<'_>, tf_op: Option<&[u8]>, layers: &Layers) -> Op {
        let kernel = if name.display.is_empty() { name.name } else { name.display };
        let kernel = if kernel.is_empty() { b"unnamed" } else { kernel };
        let kernel = String::from_utf8_lossy(kernel);
        match tf_op.and_then(|text| self.scopes.get(text, layers)) {
            Some(op) => Op { op_type: (&*kernel).into(), ..op },
            None => Op::new(&*kernel, &*kernel, &*kernel, Pass::Forward),
        }
    }
}
