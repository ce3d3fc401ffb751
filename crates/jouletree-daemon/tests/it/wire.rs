//! Whatever the station says arrives as it was said, and nonsense is refused.

use jouletree_daemon::nonsense::read_everything;
use jouletree_daemon::wire::{WireError, pack, unpack, v1};
use jouletree_model::Nanos;
use jouletree_model::sampling::{
    Anchor, Batch, Flags, GpuSample, GpuShare, GpuUse, Incident, Mono, ResourceSample, Sample, ShareBasis,
    ShareSample, What,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use prost::Message;

fn sample() -> impl Strategy<Value = Sample> {
    (0..5_u16, prop_oneof![Just(0), any::<u16>()], any::<i64>(), any::<u64>())
        .prop_map(|(sensor, flags, at, count)| Sample { sensor, flags: Flags(flags), at: Mono(at), count })
}

fn share() -> impl Strategy<Value = ShareSample> {
    (any::<i32>(), 0..i64::from(u32::MAX), 0..4_u32, 0.0..1.0, 0.0..1.0).prop_map(|(from, time, socket, a, b)| {
        let from = Mono(from.into());
        ShareSample { from, at: Mono(from.0 + time), socket, ours: a, others: b, idle: 1.0 - a - b, own: b / 2.0 }
    })
}

fn resource() -> impl Strategy<Value = ResourceSample> {
    let bytes = || option::of(0..u64::MAX - 1);
    (any::<i64>(), 0.0..64.0, option::of(0.0..1.0), any::<u64>(), [bytes(), bytes(), bytes()], 0..1000_usize)
        .prop_map(|(at, cpus, machine_busy, resident, memory, processes)| {
            let [proportional, memory_total, memory_available] = memory;
            let threads = processes * 3;
            let at = Mono(at);
            ResourceSample {
                at,
                cpus,
                machine_busy,
                resident,
                proportional,
                memory_total,
                memory_available,
                processes,
                threads,
            }
        })
}

fn gpu() -> impl Strategy<Value = GpuSample> {
    let number = || option::of(any::<u32>());
    let share = option::of((0.0..1.0, any::<bool>()));
    (
        any::<i64>(),
        any::<u32>(),
        option::of(0.0..1.0),
        option::of(0..1_u64 << 50),
        [number(), number(), number()],
        share,
    )
        .prop_map(|(at, gpu, busy, memory, [sm_clock, memory_clock, temperature], share)| {
            let used = GpuUse {
                busy,
                memory_busy: busy.map(|busy| busy / 2.0),
                memory_used: memory,
                memory_total: memory.map(|memory| memory + 1),
                sm_clock,
                memory_clock,
                temperature,
            };
            let basis = |alone| if alone { ShareBasis::Alone } else { ShareBasis::Utilisation };
            let share = share.map(|(share, alone)| GpuShare { share, basis: basis(alone) });
            GpuSample { at: Mono(at), gpu, used, share }
        })
}

fn incident() -> impl Strategy<Value = Incident> {
    let time = || any::<i64>().prop_map(Nanos);
    let what = prop_oneof![
        ".*".prop_map(What::Lost),
        Just(What::Recovered),
        time().prop_map(What::Still),
        Just(What::Moves),
        (any::<u64>(), time()).prop_map(|(missed, worst)| What::Late { missed, worst }),
        time().prop_map(What::ClockStep),
        time().prop_map(What::Suspend),
        Just(What::Ended),
    ];
    (any::<i64>(), option::of(any::<u16>()), what).prop_map(|(at, sensor, what)| Incident {
        at: Mono(at),
        sensor,
        what,
    })
}

fn batch() -> impl Strategy<Value = Batch> {
    let anchor = (any::<i64>(), any::<i64>(), any::<i64>()).prop_map(|(mono, wall, boot)| Anchor {
        mono: Mono(mono),
        wall: Nanos(wall),
        boot: Nanos(boot),
    });
    let (samples, shares, resources) = (vec(sample(), 0..40), vec(share(), 0..5), vec(resource(), 0..5));
    let (gpus, anchors, incidents) = (vec(gpu(), 0..5), vec(anchor, 0..3), vec(incident(), 0..3));
    let processes = vec(any::<u32>(), 0..4);
    (any::<u64>(), any::<u64>(), samples, shares, resources, gpus, anchors, incidents, processes).prop_map(
        |(number, lost, samples, shares, resources, gpus, anchors, incidents, processes)| Batch {
            number,
            samples,
            shares,
            resources,
            gpus,
            anchors,
            incidents,
            processes,
            lost,
        },
    )
}

proptest! {
    #[test]
    fn a_batch_arrives_as_it_was_sent(batch in batch()) {
        prop_assert_eq!(unpack(batch.number, batch.lost, &pack(&batch)), Ok(batch));
    }

    #[test]
    fn a_batch_that_was_damaged_is_read_or_refused(batch in batch(), place in any::<prop::sample::Index>(), to: u8) {
        let mut bytes = pack(&batch);
        if !bytes.is_empty() {
            let place = place.index(bytes.len());
            bytes[place] = to;
        }
        read_everything(&bytes);
    }

    #[test]
    fn anything_is_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        read_everything(&bytes);
    }
}

#[test]
fn columns_that_do_not_fit_are_refused() {
    let samples = v1::Samples { sensor: vec![0, 1], at_delta: vec![1], ..v1::Samples::default() };
    let batch = v1::Batch { samples: Some(samples), ..v1::Batch::default() };
    assert_eq!(unpack(0, 0, &batch.encode_to_vec()), Err(WireError::Columns("samples")));
    let samples = v1::Samples {
        sensor: vec![65_536],
        at_delta: vec![1],
        microjoules_delta: vec![1],
        ..v1::Samples::default()
    };
    let batch = v1::Batch { samples: Some(samples), ..v1::Batch::default() };
    assert_eq!(unpack(0, 0, &batch.encode_to_vec()), Err(WireError::Value("number of a sensor")));
}

#[test]
fn a_sample_takes_some_eight_bytes() {
    let round = |round: i64| {
        let sample = move |sensor: u16| Sample {
            sensor,
            flags: Flags::default(),
            at: Mono(1 << 50).later(round * 1_000_000 + i64::from(sensor) * 1000),
            count: (1 << 37) + u64::try_from(round).unwrap() * 60_000,
        };
        (0..8).map(sample).collect::<Vec<_>>()
    };
    let batch = Batch { samples: (0..100).flat_map(round).collect(), ..Batch::default() };
    let bytes = pack(&batch).len();
    assert!(bytes < 800 * 9, "{bytes}");
}

trait Later {
    fn later(self, nanos: i64) -> Mono;
}

impl Later for Mono {
    fn later(self, nanos: i64) -> Mono {
        Mono(self.0 + nanos)
    }
}
