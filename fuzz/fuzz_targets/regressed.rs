//! Estimated powers from any events and readings: no panic, no number that is none, all energy booked, equal shares where there is
//! no estimate.
#![no_main]

use jouletree_account::{Attribution, Metered, Semantics, account_explained};
use jouletree_model::{
    Device, DeviceClass, EnergySeries, Event, Joules, Kind, Lane, Nanos, Op, OpId, Pass, Step, Trace,
};

/// How many operations there are.
const OPS: u8 = 12;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((split, data)) = data.split_first() else { return };
    let (events, readings) = data.split_at(data.len() * usize::from(*split) / 256);
    let device = Device::new(DeviceClass::Gpu, 0);
    let mut trace = Trace::default();
    trace.device_index(&device);
    for op in 0..OPS {
        let path = format!("layer_{}/op_{}", op % 3, op / 3);
        trace.ops.intern(Op::new(path.as_str(), ["MatMul", "Add"][usize::from(op % 2)], path.as_str(), Pass::Forward));
    }
    let mut lanes = [(Vec::new(), 0_i64), (Vec::new(), 0)];
    for bytes in events.chunks_exact(3) {
        let (events, at) = &mut lanes[usize::from(bytes[0] & 1)];
        let start = *at + i64::from(bytes[1]) * 10_000;
        let end = start + i64::from(bytes[2]) * 10_000;
        events.push(Event { start: Nanos(start), end: Nanos(end), op: OpId(u32::from(bytes[0] % OPS)), step: Step::NONE });
        // Some events lie inside the one before.
        *at = if bytes[0] & 2 == 0 { end } else { start };
    }
    trace.lanes = lanes.into_iter().map(|(events, _)| Lane::new(0, "lane", events)).collect();
    let mut series = EnergySeries::default();
    let (mut time, mut energy) = (0_i64, 0.0);
    for bytes in readings.chunks_exact(2) {
        time += 1 + i64::from(bytes[0] >> 1) * 50_000;
        // From nothing to much more than any device draws.
        energy += if bytes[1] < 250 { f64::from(bytes[1]) * 1e-3 } else { 10_f64.powi(i32::from(bytes[1]) - 200) };
        if series.push(Nanos(time), Joules(energy), bytes[0] & 1 == 1 && bytes[1] & 7 == 0).is_err() {
            return;
        }
    }
    let power = [Metered { device: &device, kind: Kind::Measured, series: &series }];
    let of = |attribution| account_explained(&trace, &power, Semantics::Exact, attribution);
    let (Ok(equal), Ok(found)) = (of(Attribution::Equal), of(Attribution::Auto)) else { return };
    let balance = &found.footprint.devices[0];
    let measured = series.total().0;
    let booked = (balance.attributed + balance.unattributed).0;
    assert!((booked - measured).abs() <= 1e-9 * measured.max(1e-9), "{booked} J of {measured} J");
    for charged in &found.footprint.energies {
        assert!(charged.energy.0 >= 0.0 && charged.energy.0.is_finite(), "{charged:?}");
        assert!(charged.standard_error.is_none_or(|error| error.0 >= 0.0 && error.0.is_finite()), "{charged:?}");
    }
    if !found.explanations[0].is_regressed() {
        assert_eq!(found.footprint, equal.footprint);
    }
});
