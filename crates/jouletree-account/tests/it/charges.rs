//! What single events are charged with, against the footprint of the sweep, which knows nothing of events.

use std::convert::Infallible;

use jouletree_account::{Charge, ChargeVisitor, Metered, Semantics, account, charge_events};
use jouletree_model::{
    Device, EnergySeries, Event, Joules, Kind, Lane, Nanos, Op, OpId, Pass, Step, TimeRange, Trace,
};
use proptest::prelude::*;

const OPS: u32 = 5;

/// Whether a lane is on the GPU, and the start, duration and operation of each of its events.
type LaneOf = (bool, Vec<(i64, i64, u32)>);

/// Sums up what it receives.
#[derive(Default)]
struct CollectedCharges {
    events: Vec<(usize, Event, Charge)>,
    stretched: f64,
    /// When the last stretch of each lane ended.
    reached: Vec<Nanos>,
}

impl ChargeVisitor for CollectedCharges {
    type Error = Infallible;

    fn stretch(&mut self, lane: usize, event: &Event, range: TimeRange, charge: Charge) -> Result<(), Infallible> {
        assert!(event.start <= range.start && range.start < range.end && range.end <= event.end);
        self.reached.resize(self.reached.len().max(lane + 1), Nanos::MIN);
        assert!(self.reached[lane] <= range.start, "stretches of a lane follow each other");
        self.reached[lane] = range.end;
        self.stretched += charge.energy.0;
        Ok(())
    }

    fn event(&mut self, lane: usize, event: &Event, charge: Charge) -> Result<(), Infallible> {
        self.events.push((lane, *event, charge));
        Ok(())
    }
}

fn collected(trace: &Trace, power: &[Metered<'_>]) -> CollectedCharges {
    let mut charges = CollectedCharges::default();
    charge_events(trace, power, &mut charges).unwrap();
    charges
}

fn device(name: &str) -> Device {
    name.parse().unwrap()
}

fn trace_of(lanes: &[LaneOf]) -> Trace {
    let mut trace = Trace::default();
    for op in 0..OPS {
        trace.ops.intern(Op::new(format!("layer/{op}"), "MatMul", "", Pass::Forward));
    }
    let devices = ["cpu:0", "gpu:0"].map(|name| trace.device_index(&device(name)));
    for (is_gpu, events) in lanes {
        let events = events.iter().map(|(start, duration, op)| Event {
            start: Nanos(*start),
            end: Nanos(start + duration),
            op: OpId(*op),
            step: Step::NONE,
        });
        trace.lanes.push(Lane::new(devices[usize::from(*is_gpu)], "lane", events.collect()));
    }
    trace
}

fn series_of(points: &[(i64, f64, bool)]) -> EnergySeries {
    let mut series = EnergySeries::default();
    let (mut time, mut energy) = (-50, 0.0);
    for (elapsed, joules, gap) in points {
        (time, energy) = (time + elapsed, energy + joules);
        series.push(Nanos(time), Joules(energy), *gap).unwrap();
    }
    series
}

/// Fails unless events and footprint agree about every operation.
fn assert_same(trace: &Trace, power: &[Metered<'_>]) {
    let Ok(footprint) = account(trace, power, Semantics::Exact) else { return };
    let charges = collected(trace, power);
    assert_eq!(charges.events.len(), trace.event_count());
    let total: f64 = footprint.energies.iter().map(|charged| charged.energy.0).sum();
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * total;
    for op in 0..OPS {
        let events = || charges.events.iter().filter(move |(_, event, _)| event.op.0 == op);
        let booked = || footprint.energies.iter().filter(move |charged| charged.op.0 == op);
        let (found, wanted): (f64, f64) =
            (events().map(|(_, _, charge)| charge.energy.0).sum(), booked().map(|charged| charged.energy.0).sum());
        assert!(close(found, wanted), "operation {op}: {found} and {wanted} of {total}");
        let busy: i64 = events().map(|(_, _, charge)| charge.busy.0).sum();
        assert_eq!(busy, booked().map(|charged| charged.busy.0).sum::<i64>());
    }
    assert!(close(charges.stretched, total));
}

fn lanes(events: usize) -> impl Strategy<Value = Vec<LaneOf>> {
    let span = events as i64 * 12;
    let event = prop_oneof![
        (0..span, 0..40_i64, 0..OPS),
        (0..span, 0..span, 0..OPS),
        (0..span / 8, 0..3_i64, 0..OPS).prop_map(|(start, duration, op)| (start * 8, duration * 8, op)),
    ];
    prop::collection::vec((any::<bool>(), prop::collection::vec(event, 0..events)), 1..6)
}

fn points(most: usize) -> impl Strategy<Value = Vec<(i64, f64, bool)>> {
    prop::collection::vec((1..60_i64, 0.0..9.0_f64, prop::bool::weighted(0.2)), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn charges_of_events_make_the_footprint(
        lanes in lanes(20), cpu in points(12), dram in points(12), socket in points(5), gpu in points(9)
    ) {
        let devices = ["cpu:0", "dram:0", "cpu:1", "gpu:0"].map(device);
        let series = [cpu, dram, socket, gpu].map(|points| series_of(&points));
        let metered: Vec<Metered<'_>> = devices
            .iter()
            .zip(&series)
            .map(|(device, series)| Metered { device, kind: Kind::Measured, series })
            .collect();
        let trace = trace_of(&lanes);
        assert_same(&trace, &metered);
        // Of a device that nothing metered only its memory's energy is known.
        assert_same(&trace, &metered[1..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn long_lanes_lose_nothing(lanes in lanes(4000), cpu in points(900), gpu in points(900)) {
        let devices = ["cpu:0", "gpu:0"].map(device);
        let series = [cpu, gpu].map(|points| series_of(&points));
        let metered: Vec<Metered<'_>> = devices
            .iter()
            .zip(&series)
            .map(|(device, series)| Metered { device, kind: Kind::Measured, series })
            .collect();
        assert_same(&trace_of(&lanes), &metered);
    }
}

#[test]
fn an_event_pays_for_itself_and_not_for_what_is_inside_it() {
    let trace = trace_of(&[(false, vec![(0, 100, 0), (20, 30, 1), (60, 0, 2)]), (false, vec![(50, 20, 3)])]);
    let series = series_of(&[(50, 0.0, false), (90, 90.0, false)]);
    let cpu = device("cpu:0");
    let charges = collected(&trace, &[Metered { device: &cpu, kind: Kind::Measured, series: &series }]);
    let charged = |op: u32| charges.events.iter().find(|(_, event, _)| event.op.0 == op).unwrap().2;
    // 1 J per nanosecond: alone from 0 to 20 and from 70 to 90, where the power ends, shared from 50 to 70.
    let close = |charge: Charge, joules: f64| (charge.energy.0 - joules).abs() < 1e-9;
    assert!(
        close(charged(0), 50.0) && close(charged(1), 30.0) && close(charged(2), 0.0) && close(charged(3), 10.0)
    );
    assert_eq!([0, 1, 2, 3].map(|op| charged(op).busy.0), [60, 30, 0, 20]);
    assert_eq!([0, 1, 2, 3].map(|op| charged(op).is_known), [true, true, false, true]);
}

#[test]
fn without_power_events_are_told_without_energy() {
    let trace = trace_of(&[(true, vec![(0, 10, 0)])]);
    let charges = collected(&trace, &[]);
    assert_eq!(charges.events.len(), 1);
    assert_eq!(charges.events[0].2, Charge { energy: Joules::ZERO, busy: Nanos(0), is_known: false });
}
