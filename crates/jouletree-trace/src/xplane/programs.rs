//! Programs that XLA compiled: the modules in the file, and where the time of their instructions goes.

use rustc_hash::{FxHashMap, FxHashSet};

use jouletree_model::{ModelTree, Op, Pass};

use crate::hlo::HloModule;

use super::containers::Container;
use super::space::{EventName, Space};
use super::stats::{Stat, StatValue};

/// The compiled modules of a file; each is read when an instruction of it first runs.
#[derive(Default)]
pub(super) struct Programs<'a> {
    programs: Vec<Program<'a>>,
    by_id: FxHashMap<i64, usize>,
    by_name: FxHashMap<String, Vec<usize>>,
    /// How many instructions ran of which nothing is known but their name.
    pub(super) unknown: u64,
    /// How many functions ran without a word about their instructions.
    pub(super) untold: u64,
}

/// What is known of an instruction.
pub(super) struct Found {
    /// Where its time goes, and which share of it.
    pub(super) parts: Vec<(Op, f64)>,
    /// What it is if it runs others, and what it runs in.
    pub(super) container: Option<Container>,
    pub(super) around: Vec<Container>,
}

/// What a compiled function is called of which nothing is known.
const COMPILED: &str = "compiled by XLA";

struct Program<'a> {
    proto: &'a [u8],
    module: Option<Option<HloModule>>,
    used: FxHashSet<String>,
}

impl<'a> Programs<'a> {
    /// Finds the modules: entries that carry an `Hlo Proto`, called `jit_step(42)`.
    pub(super) fn of(space: &Space<'a>) -> Programs<'a> {
        let mut found = Programs::default();
        for plane in &space.planes {
            let proto = plane.stat_id("Hlo Proto").or_else(|| plane.stat_id("hlo_proto"));
            let Some(proto) = proto else { continue };
            let program = plane.stat_id("program_id");
            for (id, event) in plane.events.iter() {
                found.add(id, event, proto, program);
            }
        }
        found
    }

    fn add(&mut self, id: i64, event: &EventName<'a>, proto_stat: i64, program_stat: Option<i64>) {
        let name = String::from_utf8_lossy(event.name);
        let (name, number) = match name.strip_suffix(')').and_then(|name| name.rsplit_once('(')) {
            Some((name, number)) => (name, number.parse::<u64>().ok().map(|number| number as i64)),
            None => (&*name, None),
        };
        let (mut proto, mut program) = (None, number);
        for stat in Stat::of_name(event.message) {
            match stat.value {
                StatValue::Text(bytes) if stat.id == proto_stat => proto = Some(bytes),
                StatValue::Integer(number) if Some(stat.id) == program_stat => program = Some(number),
                _ => {}
            }
        }
        let Some(proto) = proto else { return };
        let index = self.programs.len();
        self.programs.push(Program { proto, module: None, used: FxHashSet::default() });
        self.by_id.insert(program.unwrap_or(id), index);
        self.by_name.entry(name.to_owned()).or_default().push(index);
    }

    /// Whether the file holds the module of a program.
    pub(super) fn has(&self, program: i64) -> bool {
        self.by_id.contains_key(&program)
    }

    /// Whether the file holds no module.
    pub(super) fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// Where the time of a compiled function goes whose instructions are not in the file. Only if there is one module
    /// is it known which it was.
    pub(super) fn whole(&mut self) -> Vec<(Op, f64)> {
        self.untold += 1;
        let parts = match self.programs.as_mut_slice() {
            [only] => only.module().map(HloModule::whole).unwrap_or_default(),
            _ => Vec::new(),
        };
        if parts.is_empty() {
            return vec![(Op::new(COMPILED, "XLA", COMPILED, Pass::Forward), 1.0)];
        }
        parts.into_iter().map(|part| (part.op, part.share)).collect()
    }

    /// Finds an instruction in its module; what is in none is known by its name.
    pub(super) fn find(&mut self, instruction: &str, module: &str, program: Option<i64>) -> Found {
        let by_id = program.and_then(|program| self.by_id.get(&program)).copied();
        let named = self.by_name.get(module).map(Vec::as_slice).unwrap_or_default();
        let candidates: Vec<usize> = match by_id {
            Some(index) => vec![index],
            None => named.to_vec(),
        };
        for index in candidates {
            if let Some(found) = self.programs.get_mut(index).and_then(|found| found.find(instruction, index)) {
                return found;
            }
        }
        self.unknown += 1;
        let path = if module.is_empty() { instruction.to_owned() } else { format!("{module}/{instruction}") };
        let op_type = match instruction.rsplit_once('.') {
            Some((stem, number)) if !stem.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => stem,
            _ => instruction,
        };
        let parts = vec![(Op::new(path, op_type, instruction, Pass::Forward), 1.0)];
        Found { parts, container: None, around: Vec::new() }
    }

    /// Adds what the modules say about the instructions that ran.
    pub(super) fn add_to(&self, model: &mut ModelTree) {
        for program in &self.programs {
            if let Some(Some(module)) = &program.module {
                module.add_to(model, &|instruction| program.used.contains(instruction));
            }
        }
    }
}

impl Program<'_> {
    fn module(&mut self) -> Option<&HloModule> {
        self.module.get_or_insert_with(|| HloModule::parse(self.proto)).as_ref()
    }

    fn find(&mut self, instruction: &str, number: usize) -> Option<Found> {
        let module = self.module.get_or_insert_with(|| HloModule::parse(self.proto)).as_ref()?;
        let parts = module.parts(instruction).filter(|parts| !parts.is_empty())?;
        self.used.insert(instruction.to_owned());
        Some(Found {
            parts: parts.iter().map(|part| (part.op.clone(), part.share)).collect(),
            container: module.container(instruction).map(|index| (number, index)),
            around: module.containers_around(instruction).into_iter().map(|index| (number, index)).collect(),
        })
    }
}
