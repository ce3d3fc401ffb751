//! The two clocks are brought together without loss: closed forms, and properties over random machines.

use jouletree_model::Nanos;
use proptest::prelude::*;

use super::machine::{CpuTicks, SocketTicks};
use super::reconcile::{Carry, Slice, Times, reconcile};

const TICK: Nanos = Nanos(10_000_000);
const WINDOW: Nanos = Nanos(100_000_000);

fn socket(cpus: u32, busy: u64, idle: u64, stolen: u64) -> SocketTicks {
    SocketTicks { ticks: CpuTicks { busy, idle, stolen }, cpus }
}

fn times(ours: i64, own: i64) -> Times {
    let (ours, own) = (Nanos(ours), Nanos(own));
    Times { window: WINDOW, tick: TICK, ours, own, own_socket: 0, include_stolen: false }
}

fn slices(sockets: &[SocketTicks], weights: &[f64], times: Times, carry: &mut Carry) -> Vec<Option<Slice>> {
    let mut slices = Vec::new();
    reconcile(sockets, weights, times, carry, &mut slices);
    slices
}

fn assert_near(slice: Option<Slice>, ours: f64, others: f64, idle: f64, own: f64) {
    let slice = slice.unwrap();
    for (is, should) in [(slice.ours, ours), (slice.others, others), (slice.idle, idle), (slice.own, own)] {
        assert!((is - should).abs() < 1e-9, "{slice:?}, expected {ours} {others} {idle} {own}");
    }
}

#[test]
fn half_of_the_busy_time_is_ours() {
    // Four CPUs, three busy; we ran on one and a half of them, the monitor on a tenth of one.
    let found = slices(&[socket(4, 30, 10, 0)], &[1.0], times(150_000_000, 10_000_000), &mut Carry::default());
    assert_near(found[0], 0.375, 0.375, 0.25, 0.025);
}

#[test]
fn what_exceeds_the_ticks_is_carried_and_comes_back() {
    let mut carry = Carry::default();
    let first = slices(&[socket(1, 9, 1, 0)], &[1.0], times(100_000_000, 0), &mut carry);
    assert_near(first[0], 0.9, 0.0, 0.1, 0.0);
    assert!((carry.ours - 1e7).abs() < 1.0);
    let second = slices(&[socket(1, 10, 0, 0)], &[1.0], times(90_000_000, 0), &mut carry);
    assert_near(second[0], 1.0, 0.0, 0.0, 0.0);
    assert!(carry.ours.abs() < 1.0 && carry.dropped == 0.0);
    // A clock that says ten times what is possible is not believed, and this is counted.
    let third = slices(&[socket(1, 5, 5, 0)], &[1.0], times(1_000_000_000, 0), &mut carry);
    assert_near(third[0], 0.5, 0.0, 0.5, 0.0);
    assert!((carry.dropped - 930e6).abs() < 1.0 && (carry.ours - 20e6).abs() < 1.0, "{carry:?}");
}

#[test]
fn stolen_time_is_no_part_of_the_capacity() {
    // Half of the time the CPU worked for another machine, while our clock went on.
    let stolen = Times { include_stolen: true, ..times(100_000_000, 0) };
    let found = slices(&[socket(1, 5, 0, 5)], &[1.0], stolen, &mut Carry::default());
    assert_near(found[0], 1.0, 0.0, 0.0, 0.0);
    let found = slices(&[socket(1, 5, 0, 5)], &[1.0], times(25_000_000, 0), &mut Carry::default());
    assert_near(found[0], 0.5, 0.5, 0.0, 0.0);
}

#[test]
fn two_sockets_share_by_weight_and_overflow_into_each_other() {
    let sockets = [socket(2, 20, 0, 0), socket(2, 10, 10, 0)];
    let found = slices(&sockets, &[3.0, 1.0], times(200_000_000, 0), &mut Carry::default());
    assert_near(found[0], 0.75, 0.25, 0.0, 0.0);
    assert_near(found[1], 0.25, 0.25, 0.5, 0.0);
    let found = slices(&sockets, &[0.0, 1.0], times(200_000_000, 0), &mut Carry::default());
    assert_near(found[0], 0.5, 0.5, 0.0, 0.0);
    assert_near(found[1], 0.5, 0.0, 0.5, 0.0);
    // Where it ran is unknown: where the machine was busy.
    let found = slices(&sockets, &[0.0, 0.0], times(150_000_000, 0), &mut Carry::default());
    assert_near(found[0], 0.5, 0.5, 0.0, 0.0);
    assert_near(found[1], 0.25, 0.25, 0.5, 0.0);
}

#[test]
fn a_socket_of_which_nothing_is_known_gets_no_slice() {
    let found = slices(&[socket(0, 0, 0, 0), socket(1, 0, 0, 9)], &[1.0, 1.0], times(1, 1), &mut Carry::default());
    assert_eq!(found, [None, None]);
}

prop_compose! {
    fn any_socket()(cpus in 0..64_u32, busy in 0..700_u64, idle in 0..700_u64, stolen in 0..700_u64) -> SocketTicks {
        socket(cpus, busy, idle, stolen)
    }
}

proptest! {
    #[test]
    fn ours_others_and_idle_are_one(
        rounds in prop::collection::vec((
            prop::collection::vec(any_socket(), 1..4),
            prop::collection::vec(0.0..10.0_f64, 4),
            -1..20_000_000_000_i64, -1..2_000_000_000_i64, 0..5_usize, any::<bool>(),
        ), 1..20),
    ) {
        let mut carry = Carry::default();
        let mut given = 0.0;
        let mut placed = 0.0;
        for (sockets, weights, ours, own, own_socket, include_stolen) in rounds {
            let times = Times { own_socket, include_stolen, ..times(ours, own) };
            let slices = slices(&sockets, &weights, times, &mut carry);
            given += ours.max(0) as f64;
            for (slice, socket) in slices.into_iter().zip(&sockets) {
                let Some(slice) = slice else { continue };
                prop_assert!((slice.ours + slice.others + slice.idle - 1.0).abs() < 1e-9);
                for part in [slice.ours, slice.others, slice.idle, slice.own] {
                    prop_assert!((0.0..=1.0 + 1e-12).contains(&part), "{slice:?}");
                }
                prop_assert!(slice.own <= slice.others);
                let here = (socket.ticks.busy + socket.ticks.idle) as f64;
                prop_assert!(slice.ours <= socket.ticks.busy as f64 / here + 1e-9);
                placed += slice.ours * WINDOW.0 as f64 * f64::from(socket.cpus) * here
                    / (here + socket.ticks.stolen as f64);
            }
            // Nothing of ours is made up.
            prop_assert!(placed <= given * (1.0 + 1e-9) + 1.0, "{placed} {given}");
        }
    }
}
