//! Footprints to test with.

use jouletree_model::{Device, DeviceClass, Joules, Nanos, Pass};
use proptest::prelude::*;

use crate::{Tef, TefEntry};

/// An operation that ran once, for a second, on the first processor; its type is the last part of its path.
pub fn entry(path: &str, pass: Pass, energy: f64) -> TefEntry {
    let op_type = path.rsplit('/').next().unwrap_or_default();
    TefEntry {
        path: path.into(),
        op_type: op_type.into(),
        name: path.into(),
        mark: None,
        pass,
        approximate: false,
        device: Device::new(DeviceClass::Cpu, 0),
        energy: Joules(energy),
        busy: Nanos(1_000_000_000),
        count: 1,
        standard_error: None,
        errors: None,
    }
}

/// A footprint of forward operations with their energies.
pub fn forward(entries: &[(&str, f64)]) -> Tef {
    Tef::new(entries.iter().map(|(path, energy)| entry(path, Pass::Forward, *energy)).collect())
}

/// Paths of few names, so that they meet, run in numbers and nest: `layer_1/x/h.0`.
fn likely_path() -> impl Strategy<Value = String> {
    let names =
        ["encoder", "layer_0", "layer_1", "layer_2", "h.0", "h.1", "h.*", "0", "1", "x", "y", "transformer"];
    proptest::collection::vec(proptest::sample::select(names.to_vec()), 1..6).prop_map(|parts| parts.join("/"))
}

/// Any text at all, slashes and odd numbers included.
fn hostile_path() -> impl Strategy<Value = String> {
    prop_oneof!["[/0-9_.a*-]{0,12}", any::<String>(), "(a/){0,120}[0-9]"]
}

/// Any footprint, its entries in no order.
pub fn entries() -> impl Strategy<Value = Vec<TefEntry>> {
    let path = prop_oneof![4 => likely_path(), 1 => hostile_path()];
    let op_type = proptest::sample::select(vec!["MatMul", "Const", "aten::add"]);
    let pass = proptest::sample::select(Pass::ALL.to_vec());
    let one = (path, op_type, pass, 0..3_u32, 0.0..1e6_f64, 0..i64::MAX, any::<u64>()).prop_map(
        |(path, op_type, pass, device, energy, busy, count)| TefEntry {
            op_type: op_type.into(),
            device: Device::new(DeviceClass::Gpu, device),
            busy: Nanos(busy),
            count,
            ..entry(&path, pass, energy)
        },
    );
    proptest::collection::vec(one, 0..60)
}
