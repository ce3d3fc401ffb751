//! A module that JAX recorded, beside the text that XLA printed of the same module.
//!
//! The files are development data; without them these tests are skipped.

use std::io::Read;
use std::path::PathBuf;

use jouletree_model::{ModelTree, TensorShape};
use rustc_hash::FxHashMap;

use super::super::HloModule;
use super::super::shape::total_bytes;
use super::Message;
use crate::wire::Value;

/// A file of the development data, unpacked.
fn data(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("JOULETREE_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join("traces").join(name);
    let Ok(packed) = std::fs::read(&path) else {
        eprintln!("skipped: no {}; set JOULETREE_DATA to the development data", path.display());
        return None;
    };
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("a gzip file");
    Some(bytes)
}

fn get<'a>(message: Value<'a>, field: u64) -> impl Iterator<Item = Value<'a>> {
    message.message().filter(move |(found, _)| *found == field).map(|(_, value)| value)
}

fn text(message: Value<'_>, field: u64) -> String {
    get(message, field).next().map(Value::text).unwrap_or_default()
}

fn plane<'a>(space: &'a [u8], name: &str) -> Value<'a> {
    get(Value::Bytes(space), 1).find(|plane| text(*plane, 2) == name).expect("the plane")
}

/// The values of a map of metadata in a plane.
fn entries<'a>(plane: Value<'a>, field: u64) -> impl Iterator<Item = Value<'a>> {
    get(plane, field).filter_map(|entry| get(entry, 2).next())
}

/// The recorded module with this name.
fn recorded(space: &[u8], name: &str) -> HloModule {
    let protos = entries(plane(space, "/host:metadata"), 4).flat_map(|module| get(module, 5));
    let modules = protos.filter_map(|stat| HloModule::parse(get(stat, 6).next()?.bytes()));
    modules.into_iter().find(|module| module.name() == name).expect("the module")
}

/// The time, in picoseconds, of every instruction in the trace.
fn times(space: &[u8]) -> FxHashMap<String, u64> {
    let plane = plane(space, "/host:CPU");
    let strings: FxHashMap<u64, String> =
        entries(plane, 5).map(|stat| (get(stat, 1).next().map_or(0, Value::unsigned), text(stat, 2))).collect();
    let number = |message, field| get(message, field).next().map_or(0, Value::unsigned);
    let names: FxHashMap<u64, String> =
        entries(plane, 4).map(|event| (number(event, 1), text(event, 2))).collect();
    let mut times = FxHashMap::default();
    for event in get(plane, 3).flat_map(|line| get(line, 4)) {
        let instruction =
            get(event, 4).find(|stat| strings.get(&number(*stat, 1)).is_some_and(|name| name == "hlo_op"));
        let is_end = names.get(&number(event, 1)).is_some_and(|name| name.starts_with("end: "));
        if let Some(instruction) = instruction.filter(|_| !is_end) {
            let name = get(instruction, 7).next().and_then(|name| strings.get(&name.unsigned()).cloned());
            *times.entry(name.unwrap_or_else(|| text(instruction, 5))).or_insert(0) += number(event, 3);
        }
    }
    times
}

/// A line of the printed module: name, shape, opcode, operands and where it comes from.
struct Printed<'a> {
    name: &'a str,
    shape: &'a str,
    opcode: &'a str,
    operands: Vec<&'a str>,
    op_name: String,
}

fn printed(line: &str) -> Option<Printed<'_>> {
    let line = line.trim_start();
    let (name, rest) = line.strip_prefix("ROOT ").unwrap_or(line).strip_prefix('%')?.split_once(" = ")?;
    // A tuple's shape holds spaces, and so do comments in it.
    let shape_end = if rest.starts_with('(') { rest.find(") ")? + 1 } else { rest.find(' ')? };
    let (shape, rest) = rest.split_at(shape_end);
    let (opcode, rest) = rest.trim_start().split_once('(')?;
    let (operands, attributes) = rest.split_once(')')?;
    let operands =
        operands.split(", ").filter_map(|operand| operand.split_once('%')).map(|(_, name)| name).collect();
    let op_name = attributes.split_once("op_name=\"").and_then(|(_, rest)| rest.split_once('"'));
    let op_name = op_name.map_or(String::new(), |(name, _)| name.replace("\\'", "'"));
    Some(Printed { name, shape, opcode, operands, op_name })
}

#[test]
fn every_instruction_is_read_as_it_is_printed() {
    let (Some(space), Some(listing)) =
        (data("jax0102_minibert.xplane.pb.gz"), data("jax0102_minibert.hlo.txt.gz"))
    else {
        return;
    };
    let found = recorded(&space, "jit_step");
    let listing = String::from_utf8(listing).expect("text");
    let mut lines = 0;
    let mut named = 0;
    for line in listing.lines().filter_map(printed) {
        let instruction = &found.module.instructions[found.by_name[line.name]];
        assert_eq!(&*instruction.op_name, line.op_name, "{}", line.name);
        assert_eq!(&*instruction.opcode, line.opcode, "{}", line.name);
        let operands = instruction.operands.iter().map(|operand| &*found.module.instructions[*operand].name);
        assert_eq!(operands.collect::<Vec<_>>(), line.operands, "{}", line.name);
        if let [tensor] = &instruction.outputs[..] {
            assert_eq!(tensor.to_string(), line.shape.split('{').next().unwrap_or_default(), "{}", line.name);
        }
        lines += 1;
        named += usize::from(!line.op_name.is_empty());
    }
    assert_eq!(lines, found.module.instructions.len());
    assert_eq!(named, listing.matches("op_name=").count());
}

#[test]
fn nearly_all_time_lands_in_layers() {
    let Some(space) = data("jax0102_minibert.xplane.pb.gz") else { return };
    let found = recorded(&space, "jit_step");
    let (mut all, mut inside, mut split) = (0.0, 0.0, 0.0);
    for (name, time) in times(&space) {
        for part in found.parts(&name).expect("an instruction of the module") {
            let time = time as f64 * part.share;
            all += time;
            inside += if part.op.path.starts_with("jit_step/") { 0.0 } else { time };
            split += if part.op.approximate { time } else { 0.0 };
        }
    }
    println!(
        "{:.3} % of {:.3} ms in layers, {:.1} % approximate",
        100.0 * inside / all,
        all / 1e9,
        100.0 * split / all
    );
    assert!(inside >= 0.99 * all, "{inside} of {all}");
}

#[test]
fn operations_agree_with_the_model_and_with_xla() {
    let Some(space) = data("jax0102_minibert.xplane.pb.gz") else { return };
    let found = recorded(&space, "jit_step");
    // Two layers of width 128 over 8 sequences of 64: four projections, two of four times the width, two products of
    // attention; a classifier with two outputs. Training computes each once forward and twice backward.
    let (layers, width, sequences, length) = (2, 128, 8, 64);
    let tokens = sequences * length;
    let layer = 4 * 2 * tokens * width * width
        + 2 * 2 * tokens * width * 4 * width
        + 2 * 2 * sequences * length * length * width;
    let products = 3 * (layers * layer + 2 * sequences * width * 2);
    let dots = found.module.instructions.iter().zip(&found.flops).filter(|(found, _)| &*found.opcode == "dot");
    assert_eq!(dots.map(|(_, flops)| flops.expect("known")).sum::<u64>(), products);

    let entry = found.module.computations.last().expect("a computation").instructions.clone();
    let total: u64 = found.flops[entry].iter().map(|flops| flops.expect("known")).sum();
    println!("{total} operations");
    // XLA's own analysis, printed with three figures: 1.34e9.
    assert_eq!((total as f64 / 1e7).round(), 134.0);
}

#[test]
fn the_model_has_facts_and_flow() {
    let Some(space) = data("jax0102_minibert.xplane.pb.gz") else { return };
    let found = recorded(&space, "jit_step");
    let times = times(&space);
    let mut model = ModelTree::default();
    found.add_to(&mut model, &|name| times.contains_key(name));
    println!("{} instructions ran, {} nodes, {} edges", times.len(), model.nodes().len(), model.edges().len());
    let whole = |facts: fn(&jouletree_model::Facts) -> Option<u64>| -> u64 {
        model.nodes().filter_map(|(_, _, known)| facts(known)).sum()
    };
    let ran = || times.keys().map(|name| found.by_name[name.as_str()]);
    let flops: u64 = ran().filter_map(|index| found.flops[index]).sum();
    // Shares are rounded to whole operations.
    assert!(whole(|facts| facts.flops).abs_diff(flops) <= model.nodes().len() as u64);
    let bytes: u64 = ran().filter_map(|index| total_bytes(&found.module.instructions[index].outputs)).sum();
    assert!(whole(|facts| facts.output_bytes).abs_diff(bytes) <= model.nodes().len() as u64);

    let node = |name: &str| model.nodes().find(|(_, op, _)| &*op.name == name).expect("a node");
    // The product of layer 0's weights of `output` and its gradient is what the optimizer subtracts.
    let (dot, _, facts) = node("dot.37");
    let (update, op, _) = node("multiply_subtract_fusion.22");
    assert_eq!(&*op.path, "optimizer/sub");
    assert!(model.edges().any(|edge| edge.from == dot && edge.to == update));
    assert_eq!(facts.outputs, [TensorShape::new("f32", [512, 128])]);
    assert_eq!(facts.flops, Some(2 * 512 * 128 * 512));
}

#[test]
fn a_module_is_used_up_to_a_damage() {
    let Some(space) = data("jax0102_minibert.xplane.pb.gz") else { return };
    let stats = entries(plane(&space, "/host:metadata"), 4).flat_map(|module| get(module, 5));
    for proto in stats.filter_map(|stat| get(stat, 6).next()) {
        let whole = HloModule::parse(proto.bytes()).expect("a module");
        let module = get(proto, 1).next().expect("a module").bytes();
        let mut before = 0;
        for cut in (0..module.len()).step_by(4_999) {
            let Some(found) = HloModule::parse(&Message::new().text(1, &module[..cut]).0) else { continue };
            let names = |found: &HloModule| -> Vec<Box<str>> {
                found.module.instructions.iter().map(|found| found.name.clone()).collect()
            };
            let count = found.module.instructions.len();
            assert_eq!(names(&found), names(&whole)[..count]);
            assert!(count >= before);
            before = count;
            let mut model = ModelTree::default();
            found.add_to(&mut model, &|_| true);
            assert!(model.nodes().len() > 0);
        }
    }
}
