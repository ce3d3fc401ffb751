//! Events of operations that XLA compiled, on the host and on devices.

use rustc_hash::FxHashMap;

use jouletree_model::{Event, Nanos, Step};

use crate::interner::Interner;

use super::contents::{XPlaneContents, run};
use super::ops::Slot;
use super::space::{EventName, Plane};
use super::stats::{RawEvent, Stat, StatValue};
use super::steps::Run;

/// The numbers of the statistics that name an instruction, its module and its run.
#[derive(Debug, Clone, Copy)]
pub(super) struct XlaStats {
    op: Option<i64>,
    module: Option<i64>,
    program: Option<i64>,
    run: Option<i64>,
    call: Option<i64>,
}

/// What an event's statistics say about the instruction it is a run of.
#[derive(Debug, Clone, Copy)]
pub(super) struct XlaRun<'a> {
    /// The number of the event's name, which is that of the instruction as well.
    name: i64,
    op: StatValue<'a>,
    module: StatValue<'a>,
    program: Option<i64>,
    run: Option<i64>,
    /// What the end of its work refers to it by.
    call: Option<i64>,
}

/// The instructions met so far, with where their time goes.
#[derive(Default)]
pub(super) struct Instructions {
    numbers: FxHashMap<InstructionKey, usize>,
    known: Vec<Instruction>,
    modules: Interner,
    /// The parts of the only module when its instructions are not in the profile.
    whole: Vec<(Slot, f64)>,
}

#[derive(Default)]
struct Instruction {
    /// The operations that its time goes to, and the share of each.
    parts: Vec<(Slot, f64)>,
    /// The number of its module's name.
    module: u32,
}

/// A reference means something in its plane only.
#[derive(Debug, PartialEq, Eq, Hash)]
struct InstructionKey {
    plane: usize,
    op: TextKey,
    module: TextKey,
    program: Option<i64>,
}

/// A text or a reference to one, which are not compared with each other.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum TextKey {
    None,
    Reference(u64),
    Text(Box<[u8]>),
}

impl TextKey {
    pub(super) fn of(value: StatValue<'_>) -> TextKey {
        match value {
            StatValue::Reference(id) => TextKey::Reference(id),
            StatValue::Text(text) => TextKey::Text(text.into()),
            _ => TextKey::None,
        }
    }
}

impl XlaStats {
    /// `None` when the plane knows no compiled operations.
    pub(super) fn of(plane: &Plane<'_>) -> Option<XlaStats> {
        let (op, program) = (plane.stat_id("hlo_op"), plane.stat_id("program_id"));
        let (module, run) = (plane.stat_id("hlo_module"), plane.stat_id("run_id"));
        let call = plane.stat_id("_p");
        (op.is_some() || program.is_some()).then_some(XlaStats { op, module, program, run, call })
    }

    /// The instruction that an event is a run of, if its statistics name one.
    pub(super) fn of_event<'a>(&self, event: &RawEvent<'a>) -> Option<XlaRun<'a>> {
        let (op, module) = (StatValue::None, StatValue::None);
        let mut found = XlaRun { name: event.name, op, module, program: None, run: None, call: None };
        for stat in event.stats() {
            let id = Some(stat.id);
            if id == self.op {
                found.op = stat.value;
            } else if id == self.module {
                found.module = stat.value;
            } else if id == self.program {
                found.program = stat.value.integer();
            } else if id == self.run {
                found.run = stat.value.integer();
            } else if id == self.call {
                found.call = stat.value.integer();
            }
            if found.is_complete() && (found.call.is_some() || self.call.is_none()) {
                break;
            }
        }
        matches!(found.op, StatValue::Text(_) | StatValue::Reference(_)).then_some(found)
    }

    /// The same for a name whose own statistics name the program: how a TPU's operations are written.
    pub(super) fn of_name<'a>(&self, id: i64, name: &EventName<'a>) -> Option<XlaRun<'a>> {
        let mut stats = Stat::of_name(name.message).filter(|stat| Some(stat.id) == self.program);
        let program = stats.find_map(|stat| stat.value.integer())?;
        let op = StatValue::Text(if name.display.is_empty() { name.name } else { name.display });
        Some(XlaRun { name: id, op, module: StatValue::None, program: Some(program), run: None, call: None })
    }

    /// Adds the run of an instruction, in as many pieces as its time has parts. The pieces fill it without a gap.
    pub(super) fn add_runs<'a>(
        &self,
        recording: &mut XPlaneContents<'a>,
        plane: &Plane<'a>,
        number: usize,
        found: &XlaRun<'a>,
        (start, end): (Nanos, Nanos),
        events: &mut Vec<Event>,
    ) {
        let index = recording.instruction(plane, number, found);
        let Some(Instruction { parts, module }) = recording.instructions.known.get(index) else { return };
        let run_of = |run| Run { program: found.program.unwrap_or(-1), module: *module, run };
        let step = found.run.map_or(Step::NONE, |run| recording.steps.run(run_of(run), start, end));
        events.extend(tiles(start, end, parts).map(|(from, to, slot)| run(from, to, slot, step)));
    }
}

/// A stretch of time cut into pieces by their shares; they fill it without a gap.
pub(super) fn tiles(
    start: Nanos,
    end: Nanos,
    parts: &[(Slot, f64)],
) -> impl Iterator<Item = (Nanos, Nanos, Slot)> {
    let (mut from, mut passed) = (start, 0.0);
    parts.iter().enumerate().map(move |(place, (slot, share))| {
        passed += share;
        let is_last = place + 1 == parts.len();
        let length = Nanos(((end - start).0 as f64 * passed).round() as i64);
        let to = if is_last { end } else { (start + length).clamp(from, end) };
        (std::mem::replace(&mut from, to), to, *slot)
    })
}

impl XlaRun<'_> {
    /// Whether nothing more can be found.
    fn is_complete(&self) -> bool {
        self.run.is_some()
            && self.program.is_some()
            && self.module != StatValue::None
            && self.op != StatValue::None
    }

    /// What the end of its work refers to it by, if it has one.
    pub(super) fn call(&self) -> Option<i64> {
        self.call
    }

    /// The program that the instruction is a part of.
    pub(super) fn program(&self) -> Option<i64> {
        self.program
    }
}

impl<'a> XPlaneContents<'a> {
    /// Where the time of a compiled function goes whose instructions are unknown.
    pub(super) fn whole(&mut self) -> Vec<(Slot, f64)> {
        if self.instructions.whole.is_empty() {
            let (ops, layers) = (&mut self.ops, &self.layers);
            let slots = self.programs.whole().into_iter().map(|(op, share)| (ops.add(layers.renamed(op)), share));
            self.instructions.whole = slots.collect();
        }
        self.instructions.whole.clone()
    }

    /// The number of an instruction among those met so far.
    fn instruction(&mut self, plane: &Plane<'a>, number: usize, found: &XlaRun<'a>) -> usize {
        let key = InstructionKey {
            plane: number,
            op: TextKey::of(found.op),
            module: TextKey::of(found.module),
            program: found.program,
        };
        if let Some(index) = self.instructions.numbers.get(&key) {
            return *index;
        }
        let name = || plane.events.get(found.name).map(|event| event.name);
        let op = plane.text(found.op).filter(|op| !op.is_empty()).or_else(name).unwrap_or(b"unnamed");
        let module = plane.text(found.module).unwrap_or_default();
        let text = String::from_utf8_lossy;
        let known = self.programs.find(&text(op), &text(module), found.program);
        let layers = &self.layers;
        let parts: Vec<(Slot, f64)> =
            known.parts.into_iter().map(|(op, share)| (self.ops.add(layers.renamed(op)), share)).collect();
        for (slot, _) in &parts {
            self.containers.note(*slot, known.container, &known.around);
        }
        let module = self.instructions.modules.bytes(module);
        let index = self.instructions.known.len();
        self.instructions.known.push(Instruction { parts, module });
        self.instructions.numbers.insert(key, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_fill_their_event() {
        let cut = |start, end, shares: &[f64]| -> Vec<(i64, i64)> {
            let parts: Vec<(Slot, f64)> = shares.iter().map(|share| (Slot(0), *share)).collect();
            tiles(Nanos(start), Nanos(end), &parts).map(|(from, to, _)| (from.0, to.0)).collect()
        };
        assert_eq!(cut(10, 20, &[1.0]), [(10, 20)]);
        assert_eq!(cut(10, 20, &[0.25, 0.25, 0.5]), [(10, 13), (13, 15), (15, 20)]);
        assert_eq!(cut(5, 5, &[0.5, 0.5]), [(5, 5), (5, 5)]);
        // Shares that make no sense move borders, never beyond the event.
        assert_eq!(cut(0, 10, &[f64::NAN, -3.0, 7.0, 1.0]), [(0, 0), (0, 0), (0, 0), (0, 10)]);
        assert_eq!(cut(i64::MIN, i64::MAX, &[0.5, 0.5]).last().map(|piece| piece.1), Some(i64::MAX));
        assert_eq!(cut(0, 10, &[]), []);
    }
}
