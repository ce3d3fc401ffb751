//! Energy is cut without loss: closed forms, and the property.

use jouletree_model::Joules;
use jouletree_model::sampling::{Mono, ShareSample};
use proptest::prelude::*;

use super::split::{Increment, Split, split};

const SECOND: i64 = 1_000_000_000;

fn share(from: i64, to: i64, ours: f64, others: f64) -> ShareSample {
    let idle = 1.0 - ours - others;
    ShareSample { from: Mono(from), at: Mono(to), socket: 0, ours, others, idle, own: others / 10.0 }
}

fn parts(split: Split) -> [f64; 5] {
    [split.ours.0, split.others.0, split.idle.0, split.unknown.0, split.own.0]
        .map(|joules| (joules * 1e9).round() / 1e9)
}

#[test]
fn the_part_of_idle_processors_is_idle_energy() {
    let increments = [Increment { from: Mono(0), to: Mono(SECOND), energy: Joules(110.0) }];
    let shares = [share(0, SECOND, 0.25, 0.25)];
    assert_eq!(parts(split(&increments, &shares, 0)[0]), [27.5, 27.5, 55.0, 0.0, 2.75]);
    let idle = split(&increments, &[share(0, SECOND, 0.0, 0.0)], 0)[0];
    assert_eq!(parts(idle), [0.0, 0.0, 110.0, 0.0, 0.0]);
}

#[test]
fn energy_without_a_share_is_nobodys_guess() {
    let increments = [0, 1, 2].map(|second| Increment {
        from: Mono(second * SECOND),
        to: Mono((second + 1) * SECOND),
        energy: Joules(10.0),
    });
    let shares = [share(SECOND / 2, SECOND, 1.0, 0.0), share(2 * SECOND, 3 * SECOND, 0.0, 1.0)];
    let cut = split(&increments, &shares, 0);
    assert_eq!(parts(cut[0])[..4], [5.0, 0.0, 0.0, 5.0]);
    assert_eq!(parts(cut[1])[..4], [0.0, 0.0, 0.0, 10.0]);
    assert_eq!(parts(cut[2])[..4], [0.0, 10.0, 0.0, 0.0]);
    let elsewhere = split(&increments, &shares, 1);
    assert!(elsewhere.iter().all(|cut| cut.unknown == Joules(10.0)));
    let backwards = [Increment { from: Mono(5), to: Mono(5), energy: Joules(1.0) }];
    assert_eq!(split(&backwards, &shares, 0)[0].unknown, Joules(1.0));
}

proptest! {
    #[test]
    fn nothing_is_lost(
        energies in prop::collection::vec((1..200_000_000_i64, 0.0..50.0_f64), 1..40),
        windows in prop::collection::vec((0..30_000_000_i64, 1..300_000_000_i64, 0.0..1.0_f64, 0.0..1.0_f64), 0..40),
    ) {
        let mut now = 0;
        let increments: Vec<Increment> = energies.into_iter().map(|(time, energy)| {
            let from = now;
            now += time;
            Increment { from: Mono(from), to: Mono(now), energy: Joules(energy) }
        }).collect();
        let mut now = 0;
        let shares: Vec<ShareSample> = windows.into_iter().map(|(gap, time, busy, part)| {
            let from = now + if gap < 20_000_000 { 0 } else { gap };
            now = from + time;
            share(from, now, busy * part, busy * (1.0 - part))
        }).collect();
        let cut = split(&increments, &shares, 0);
        for (increment, cut) in increments.iter().zip(cut) {
            prop_assert!((cut.total().0 - increment.energy.0).abs() <= 1e-9 * increment.energy.0.max(1.0), "{cut:?}");
            for part in [cut.ours, cut.others, cut.idle, cut.unknown, cut.own] {
                prop_assert!(part.0 >= -1e-9, "{cut:?}");
            }
            if shares.first().is_some_and(|share| share.from <= increment.from)
                && shares.windows(2).all(|pair| pair[0].at == pair[1].from)
                && shares.last().is_some_and(|share| share.at >= increment.to)
            {
                prop_assert!(cut.unknown.0.abs() < 1e-9);
            }
        }
    }
}
