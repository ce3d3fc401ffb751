//! The real sampler's thread on a fake powercap tree and a test double of NVIDIA's library that play by the clock: no
//! number here comes from hardware. The machine may be busy; what is promised must hold nevertheless.

use test_support::powercap as common;

use std::time::{Duration, Instant};

use jouletree_host::{Now, Roots};
use jouletree_meter::sampler::{Options, Sampler};
use jouletree_meter::{Sensor, nvml};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Flags, Mono, Sample, What};
use jouletree_series::{SeriesBuilder, Why};

use common::{Machine, machine, tick_bound};
use fake_powercap::{Layout, Player};
use punctual::punctually;

const MS: i64 = 1_000_000;

/// What was sampled, and the fake that was played.
struct SampledRun {
    samples: Vec<Sample>,
    sampler: Sampler,
    builders: Vec<SeriesBuilder>,
    player: Player,
    /// When the script began.
    begun: Mono,
}

/// Samples these sensors by the clock while the fake plays.
fn record(machine: Machine, sensors: Vec<Box<dyn Sensor>>, lasts: Duration) -> (SampledRun, tempfile::TempDir) {
    let Machine { folder, fake } = machine;
    let player = Player::start(fake);
    let begun = Mono(Mono::now().0 - i64::try_from(player.elapsed().as_nanos()).unwrap());
    let options = Options::default();
    let mut sampler = Sampler::start(sensors, options).unwrap();
    let mut builders: Vec<SeriesBuilder> =
        sampler.infos().iter().map(|info| SeriesBuilder::new(info, options.period)).collect();
    let mut samples = Vec::new();
    let end = Instant::now() + lasts;
    loop {
        let is_over = Instant::now() >= end;
        if is_over {
            sampler.stop();
        }
        sampler.drain(|sample| {
            builders[usize::from(sample.sensor)].take(sample);
            samples.push(sample);
        });
        if is_over {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    (SampledRun { samples, sampler, builders, player, begun }, folder)
}

impl SampledRun {
    /// The words of what happened to a sensor. A player that is held up by a busy machine is not worth a word.
    fn words(&self, sensor: u16) -> Vec<String> {
        let whats = self.whats(sensor).into_iter();
        whats.filter(|what| !matches!(what, What::Still(_) | What::Moves)).map(What::to_string).collect()
    }

    fn whats(&self, sensor: u16) -> Vec<&What> {
        let of_it = self.sampler.incidents().iter().filter(|incident| incident.sensor == Some(sensor));
        of_it.map(|incident| &incident.what).collect()
    }

    fn reasons(&self, sensor: usize) -> Vec<Why> {
        self.builders[sensor].gaps().iter().map(|gap| gap.why).collect()
    }

    /// What the series of the first sensor holds is what the script used in the same time, and nothing else.
    fn check_energy(self, zone: &str) {
        let anchors = self.sampler.anchors();
        let series = self.builders[0].series(anchors).unwrap();
        let start = anchors.wall(self.begun).unwrap();
        let of_script = |time: Nanos| Duration::from_nanos(u64::try_from((time - start).0).unwrap_or(0));
        let truth: f64 = series
            .spans()
            .map(|span| {
                let (from, to) = (of_script(span.range.start), of_script(span.range.end));
                self.player.oracle().energy(zone, from, to).unwrap().0
            })
            .sum();
        let most = self.player.oracle().most(zone).unwrap().0;
        let stretches = 1.0 + self.builders[0].gaps().len() as f64;
        // The player is a thread of a busy machine, too.
        let late = self.player.stop().unwrap().latest().as_secs_f64();
        let bound = stretches * (tick_bound(most) + 2.0 * most * late);
        println!("{zone}: {:.4} J, played {truth:.4} J, ± {bound:.3} J", series.total().0);
        assert!((series.total().0 - truth).abs() <= bound, "{:?} {truth} ± {bound}", series.total());
    }
}

fn package(faults: &str) -> (SampledRun, tempfile::TempDir) {
    let machine = machine(Layout::TwoSockets, &format!("start 0.2s before wrap\npackage-0: 50W\n{faults}"));
    let sensors = vec![machine.sensor("cpu:0", None), machine.sensor("cpu:1", None)];
    let (recording, folder) = record(machine, sensors, Duration::from_millis(1500));
    // Whatever happens to the one, the other is sampled on.
    assert_eq!(recording.words(1), [""; 0]);
    assert!(
        recording.reasons(1).iter().all(|why| matches!(why, Why::Stale | Why::Still)),
        "{:?}",
        recording.reasons(1)
    );
    (recording, folder)
}

#[test]
fn samples_are_in_time_and_true() {
    let (recording, _folder) = package("");
    let stats = recording.sampler.stats();
    println!("{stats:?}");
    assert_eq!(stats.overruns, 0);
    assert_eq!(recording.samples.len() as u64, 2 * stats.wakes);
    // Each deadline from the first sample to the last was kept or counted.
    let (first, last) = (recording.samples.first().unwrap(), recording.samples.last().unwrap());
    let deadlines = ((last.at - first.at).0 as f64 / (4 * MS) as f64).round() + 1.0;
    let unsure = 1.0 + stats.late_most.0 as f64 / (4 * MS) as f64;
    assert!(((stats.wakes + stats.missed) as f64 - deadlines).abs() <= unsure, "{deadlines} {stats:?}");
    for pair in recording.samples.windows(3) {
        assert!(pair[2].at > pair[0].at && pair[0].sensor == pair[2].sensor);
    }
    recording.check_energy("package-0");
}

#[test]
fn a_zone_that_cannot_be_read_from_the_start_is_a_gap_until_it_can() {
    let machine = machine(Layout::OneSocket, "package-0: 50W\nat 0s package-0 garbage for 500ms");
    let sensors = vec![machine.sensor("cpu:0", None)];
    let (recording, _folder) = record(machine, sensors, Duration::from_millis(1200));
    assert!(recording.samples[0].flags.has(Flags::GAP) && recording.samples[0].count == 0);
    assert_eq!(
        recording.words(0),
        ["it cannot be read: it says `not a number`, which is no count", "it can be read again"]
    );
    recording.check_energy("package-0");
}

#[test]
fn faults_in_the_middle_are_told_once_and_leave_a_gap() {
    for (fault, words, is_over) in [
        ("garbage for 300ms", "it cannot be read: it says `not a number`, which is no count", true),
        ("empty for 300ms", "it cannot be read: it says ``, which is no count", true),
        ("beyond for 300ms", "it cannot be read: it says 262143328851, beyond its range of 262143328850", true),
        ("refuse for 300ms", "it cannot be read: Input/output error (os error 5)", true),
        ("vanish", "it cannot be read: it is gone (No such file or directory (os error 2))", false),
    ] {
        let (recording, _folder) = package(&format!("at 600ms package-0 {fault}"));
        let expected: Vec<&str> = [words].into_iter().chain(is_over.then_some("it can be read again")).collect();
        assert_eq!(recording.words(0), expected, "{fault}");
        assert!(recording.reasons(0).contains(&Why::Failed), "{fault}");
        recording.check_energy("package-0");
    }
}

#[test]
fn a_counter_that_is_set_back_is_a_gap() {
    let (recording, _folder) = package("at 600ms package-0 back 20J");
    let is_implausible = |why: &Why| matches!(why, Why::Implausible(_));
    assert_eq!(recording.reasons(0).iter().filter(|why| is_implausible(why)).count(), 1);
    recording.check_energy("package-0");
}

#[test]
fn a_frozen_counter_is_told_and_is_a_gap() {
    let (recording, _folder) = package("at 500ms package-0 freeze for 600ms");
    let whats = recording.whats(0);
    assert!(matches!(whats[0], What::Still(time) if *time > Nanos(250 * MS)), "{whats:?}");
    assert_eq!(whats[1], &What::Moves);
    assert!(recording.reasons(0).contains(&Why::Still));
    recording.check_energy("package-0");
}

#[test]
fn a_gpu_that_hangs_holds_up_nobody() {
    punctually(hangs_beside_a_package);
}

fn hangs_beside_a_package() {
    let hang = vec![fake_nvml::Hang { at_s: 1.5, for_ms: Some(200.0) }];
    let folder = tempfile::tempdir().unwrap();
    let power = fake_nvml::Power::Ramp { from: 50.0, to: 250.0, seconds: 4.0 };
    let gpu = fake_nvml::Gpu { power, hang, ..fake_nvml::Gpu::default() };
    let script = fake_nvml::Script { gpu: vec![gpu], start_mono_ns: Some(Mono::now().0), ..Default::default() };
    let library = fake_nvml::install(folder.path(), &script).unwrap();
    let gpu = nvml::find(&Roots { nvml: Some(library), ..Roots::default() })
        .remove(0)
        .sensor
        .unwrap_or_else(|_| panic!());
    assert!(gpu.info().is_slow);
    let machine = machine(Layout::OneSocket, "package-0: 50W");
    let sensors = vec![machine.sensor("cpu:0", None), gpu];
    let (recording, _folder) = record(machine, sensors, Duration::from_millis(2500));
    let words = recording.words(1);
    assert!(words.iter().any(|words| words.contains("it did not answer within")), "{words:?}");
    assert_eq!(words.last().unwrap(), "it can be read again");
    assert!(recording.reasons(1).contains(&Why::Failed));
    assert_eq!(recording.words(0), [""; 0]);
    // It is not read 150 ms late because another hangs.
    let times: Vec<i64> = recording.samples.iter().filter(|s| s.sensor == 0).map(|s| s.at.0).collect();
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    println!(
        "longest time between samples beside a hang of 200 ms: {} µs; {:?}",
        longest / 1000,
        recording.sampler.stats()
    );
    assert!(longest < 100 * MS, "{longest}");
    recording.check_energy("package-0");
}
