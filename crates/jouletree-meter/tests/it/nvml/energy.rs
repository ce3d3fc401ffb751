//! Energy against the closed form of the script, within what a sensor that updates now and then can know.

use std::time::Duration;

use fake_nvml::{Gpu, Power};
use jouletree_host::Now;
use jouletree_meter::{Reading, Sensor};
use jouletree_model::sampling::Mono;
use jouletree_model::{Kind, Nanos};
use punctual::punctually;

use super::{Machine, milliseconds};

const CONSTANT: Power = Power::Constant { watts: 120.0 };
const RAMP: Power = Power::Ramp { from: 50.0, to: 250.0, seconds: 4.0 };
const SQUARE: Power = Power::Square { low: 60.0, high: 200.0, period: 0.3 };
const SHAPES: [Power; 3] = [CONSTANT, RAMP, SQUARE];

/// What was read over some time, and the longest time without a look.
struct Watched {
    first: Reading,
    last: Reading,
    blind: f64,
}

impl Watched {
    fn joules(&self) -> f64 {
        (self.last.microjoules - self.first.microjoules) as f64 * 1e-6
    }
}

/// Looks at all sensors every 2 ms; the first reading of each is the first that is new.
fn watch(sensors: &mut [Box<dyn Sensor>], time: Nanos) -> Vec<Watched> {
    let mut looked = Mono::now();
    let begin = looked;
    let mut blind = Nanos(0);
    let mut seen: Vec<(Option<Reading>, Reading)> =
        sensors.iter_mut().map(|sensor| (None, sensor.reading().unwrap())).collect();
    while looked - begin < time || seen.iter().any(|(first, _)| first.is_none()) {
        std::thread::sleep(Duration::from_millis(2));
        for (sensor, (first, last)) in sensors.iter_mut().zip(&mut seen) {
            let reading = sensor.reading().unwrap();
            if reading.at != last.at {
                *first = first.or(Some(reading));
            }
            *last = reading;
        }
        blind = blind.max(Mono::now() - looked);
        looked = Mono::now();
    }
    let watched = |(first, last): (Option<Reading>, Reading)| Watched {
        first: first.unwrap(),
        last,
        blind: blind.seconds(),
    };
    seen.into_iter().map(watched).collect()
}

/// Watches GPUs and compares each with the power of its script.
fn compare(gpus: Vec<Gpu>, bound: impl Fn(&Gpu, &Watched) -> f64) {
    punctually(|| compare_once(&gpus, &bound));
}

fn compare_once(gpus: &[Gpu], bound: impl Fn(&Gpu, &Watched) -> f64) {
    let machine = Machine::with(gpus.to_vec());
    let mut sensors: Vec<_> = machine.find().into_iter().map(|found| found.sensor.unwrap()).collect();
    // A mean over a second is one from the second second on.
    machine.wait_for(gpus.iter().fold(0.0, |longest: f64, gpu| longest.max(gpu.average_ms / 1e3)));
    for sensor in &mut sensors {
        // No reading since the GPUs were found.
        let _ = sensor.read();
    }
    let watched = watch(&mut sensors, milliseconds(900));
    for ((gpu, sensor), watched) in gpus.iter().zip(&sensors).zip(watched) {
        // What the fake shows without a window is that of its instant.
        let has_window = gpu.window_ms > 0.0 || gpu.average_ms > 0.0;
        let lag = if has_window { sensor.info().quality.lag.seconds() } else { 0.0 };
        let [start, end] = [watched.first.at, watched.last.at].map(|at| machine.seconds(at) - lag);
        let (joules, truth, bound) = (watched.joules(), gpu.power.joules(start, end), bound(gpu, &watched));
        println!("{:?} every {} ms: {joules:.3} J, truth {truth:.3} J ± {bound:.3} J", gpu.power, gpu.update_ms);
        assert!((joules - truth).abs() <= bound, "{joules} J, not {truth} J within {bound} J");
        assert!(!gpu.energy_counter || is_exact(gpu, &machine, &watched), "{joules} J");
        assert!(bound < truth / 2.0, "the machine is too busy for this test: blind for {} s", watched.blind);
    }
}

/// Whether a counter grew by just what was used between two updates of the script.
fn is_exact(gpu: &Gpu, machine: &Machine, watched: &Watched) -> bool {
    let period = gpu.update_ms / 1e3;
    // An update may fall between the reading and its stamp.
    let updates = |at| [0.0, period].map(|earlier| gpu.updated(machine.seconds(at)) - earlier);
    let ends = updates(watched.last.at);
    let mut truths =
        updates(watched.first.at).into_iter().flat_map(|start| ends.map(|end| gpu.power.joules(start, end)));
    truths.any(|truth| (watched.joules() - truth).abs() < 2.5e-3)
}

/// Every shape of power, updated every 20 ms and every 100 ms.
fn all_shapes() -> Vec<Gpu> {
    let gpu = |(power, update_ms)| Gpu { power, update_ms, ..Gpu::default() };
    SHAPES.into_iter().flat_map(|power| [(power, 20.0), (power, 100.0)]).map(gpu).collect()
}

fn most(power: Power) -> f64 {
    match power {
        Power::Constant { watts } => watts,
        Power::Ramp { to, .. } => to,
        Power::Square { high, .. } => high,
    }
}

#[test]
fn the_counter_of_energy_is_right_up_to_the_moment_of_its_updates() {
    // What is counted is exact, and when it was counted nearly so: each end is seen no later than one look after its
    // update. A millijoule is the counter's step.
    compare(all_shapes(), |gpu, seen| 2.0 * (most(gpu.power) * seen.blind + 1e-3));
}

#[test]
fn power_integrates_to_the_energy() {
    // Each value is the mean since the one before: instants of a square wave do not show its energy.
    let gpu = |gpu: Gpu| Gpu { window_ms: gpu.update_ms, ..gpu.without_counter() };
    let gpus = all_shapes().into_iter().map(gpu).collect();
    compare(gpus, |gpu, seen| {
        let ends = 2.0 * most(gpu.power) * seen.blind;
        match gpu.power {
            Power::Constant { watts } => 1e-3 * watts,
            Power::Ramp { .. } => ends,
            Power::Square { low, high, .. } => {
                // Means are joined by straight lines, which is as much too early as too late, except at the ends.
                ends + (high - low) * gpu.update_ms / 1e3
            }
        }
    });
}

#[test]
fn energy_from_means_is_that_of_a_lag_ago() {
    // 25 ms of each 100 ms, as on A100.
    let a100 = Gpu {
        name: "NVIDIA A100-FAKE".to_owned(),
        architecture: 7,
        power: RAMP,
        update_ms: 100.0,
        window_ms: 25.0,
        ..Gpu::default()
    };
    // A mean of the last second, as on most others since: without the lag this is off by 25 W for 0.9 s.
    let ada = Gpu { architecture: 8, power: RAMP, instant_power: false, average_ms: 1000.0, ..Gpu::default() };
    compare(vec![a100.without_counter(), ada.without_counter()], |_, seen| 2.0 * most(RAMP) * seen.blind);
}

#[test]
fn what_is_known_of_a_sensor_is_told() {
    let a100 = Gpu { name: "NVIDIA A100-FAKE".to_owned(), architecture: 7, update_ms: 100.0, ..Gpu::default() };
    let machine = Machine::with(vec![Gpu { power: RAMP, ..a100 }.without_counter()]);
    let sensor = machine.sensor();
    let info = sensor.info();
    assert_eq!((info.device.to_string().as_str(), info.kind), ("host/gpu:0", Kind::Derived));
    assert!(info.is_slow && info.range.is_none());
    assert_eq!(info.quality.lag, Nanos(12_500_000));
    let coverage = info.quality.coverage.unwrap();
    assert!((0.2..0.3).contains(&coverage), "{coverage}");
    assert_eq!(info.most.0, 900.0);
    assert!(info.source.contains("A100") && info.source.contains("00000000:01:00.0"), "{}", info.source);
}

#[test]
fn the_best_that_a_gpu_offers_is_read() {
    let gpu = Gpu { power: RAMP, ..Gpu::default() };
    for (gpu, source, kind) in [
        (gpu.clone(), "energy counter", Kind::Measured),
        (gpu.clone().without_counter(), "instant power", Kind::Derived),
        (Gpu { instant_power: false, ..gpu.without_counter() }, "averaged power", Kind::Derived),
    ] {
        let machine = Machine::with(vec![gpu]);
        let sensor = machine.sensor();
        assert!(sensor.info().source.ends_with(source), "{}", sensor.info().source);
        assert_eq!(sensor.info().kind, kind);
    }
}

#[test]
fn how_often_a_gpu_updates_is_learned() {
    punctually(|| [20, 100].into_iter().for_each(learns_an_update_every));
}

fn learns_an_update_every(update: u32) {
    let gpu = Gpu { power: RAMP, update_ms: f64::from(update), ..Gpu::default() };
    for gpu in [gpu.clone(), gpu.without_counter()] {
        let machine = Machine::with(vec![gpu]);
        let sensor = machine.sensor();
        let learned = sensor.info().period.seconds() * 1e3;
        assert!((learned / f64::from(update) - 1.0).abs() < 0.15, "{learned} ms, not {update} ms");
        assert_eq!(sensor.remarks(), Vec::<String>::new());
    }
}

#[test]
fn a_period_that_cannot_be_seen_is_assumed_and_said() {
    let machine = Machine::with(vec![Gpu { power: CONSTANT, ..Gpu::default() }.without_counter()]);
    let sensor = machine.sensor();
    assert_eq!(sensor.info().period, milliseconds(100));
    assert!(sensor.remarks()[0].contains("assumed"), "{:?}", sensor.remarks());
}
