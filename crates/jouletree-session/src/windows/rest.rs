//! Rest: programs wait until the machine is stable, as the recorder sees it.
//!
//! The desk lets one window of half a second follow another; what devices used in them, and how warm processors are, is what
//! rest is judged by. Idling is the lowest mean over as many of them as are judged that was seen so far.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use jouletree_account::calls::{Decision, StabilityCheck, StabilityLimits, Trace};
use jouletree_model::sampling::GpuSample;
use jouletree_model::{Device, DeviceClass, Nanos, Watts};
use jouletree_series::ongoing::Answer;

use super::protocol::Reply;

/// How long one look at the meters lasts.
pub const PULSE: Nanos = Nanos(500_000_000);

/// What rest means, and where temperatures are read.
#[derive(Debug, Clone)]
pub struct Resting {
    /// What rest means.
    pub limits: StabilityLimits,
    /// The system's device tree.
    pub sys: PathBuf,
}

/// Those who wait for rest.
pub struct Rests {
    resting: Resting,
    powers: BTreeMap<Device, VecDeque<Watts>>,
    /// Temperatures of graphics processors by their numbers, as last reported.
    warmth: BTreeMap<u32, f64>,
    celsius: BTreeMap<Device, VecDeque<f64>>,
    idle: BTreeMap<Device, Watts>,
    waiting: Vec<Waiting>,
    /// When the machine was last found stable.
    stable: Option<Nanos>,
    ready: Vec<(u64, Reply)>,
}

/// A program that waits.
struct Waiting {
    connection: u64,
    id: u64,
    check: StabilityCheck,
    since: Nanos,
    next: Nanos,
}

impl Rests {
    pub fn new(resting: Resting) -> Rests {
        Rests {
            resting,
            powers: BTreeMap::new(),
            warmth: BTreeMap::new(),
            celsius: BTreeMap::new(),
            idle: BTreeMap::new(),
            waiting: Vec::new(),
            stable: None,
            ready: Vec::new(),
        }
    }

    /// A program asks for a notification when the machine is stable.
    pub fn ask(&mut self, connection: u64, id: u64, now: Nanos) {
        let limits = &self.resting.limits;
        if StabilityCheck::is_shared(limits, self.stable, now) {
            // Calls that follow each other share a wait.
            self.stable = Some(now);
            self.ready.push((connection, Reply::Rest { rest: id, why: None, waited_s: 0.0 }));
            return;
        }
        let check = StabilityCheck::new(limits);
        self.waiting.push(Waiting { connection, id, check, since: now, next: now });
    }

    /// Forgets a program.
    pub fn forget(&mut self, connection: u64) {
        self.waiting.retain(|waiting| waiting.connection != connection);
    }

    /// Takes how warm graphics processors are.
    pub fn warm(&mut self, gpus: &[GpuSample]) {
        let temperatures =
            gpus.iter().filter_map(|sample| Some((sample.gpu, f64::from(sample.used.temperature?))));
        self.warmth.extend(temperatures);
    }

    /// Takes what devices used during a look.
    pub fn take(&mut self, answer: &Answer, now: Nanos) {
        let most = self.resting.limits.samples.max(2);
        let processors = warmest(&self.resting.sys);
        for energy in &answer.devices {
            if energy.device.class() == DeviceClass::Machine {
                continue;
            }
            let powers = self.powers.entry(energy.device.clone()).or_default();
            keep(powers, Watts(energy.energy.joules.0 / PULSE.seconds()), most);
            if powers.len() == most {
                let mean = Watts(powers.iter().map(|power| power.0).sum::<f64>() / most as f64);
                let idle = self.idle.entry(energy.device.clone()).or_insert(mean);
                *idle = Watts(idle.0.min(mean.0));
            }
            let celsius = match energy.device.class() {
                DeviceClass::Cpu => processors,
                DeviceClass::Gpu => self.warmth.get(&energy.device.index()).copied(),
                _ => None,
            };
            if let Some(celsius) = celsius {
                keep(self.celsius.entry(energy.device.clone()).or_default(), celsius, most);
            }
        }
        self.look(now);
    }

    /// Replies to programs that have waited long enough, for whatever reason.
    fn look(&mut self, now: Nanos) {
        let traces: Vec<Trace<'_>> = self
            .powers
            .iter()
            .map(|(device, power)| Trace {
                device: device.clone(),
                celsius: self.celsius.get(device).map_or(&[], |celsius| celsius.as_slices().0),
                power: power.as_slices().0,
                idle: self.idle.get(device).copied(),
            })
            .collect();
        let steadiness = self.resting.limits.judge(&traces);
        let mut left = Vec::new();
        for mut waiting in std::mem::take(&mut self.waiting) {
            if now < waiting.next {
                left.push(waiting);
                continue;
            }
            let why = match waiting.check.next(&steadiness) {
                Decision::Wait(time) => {
                    waiting.next = now + time;
                    left.push(waiting);
                    continue;
                }
                Decision::Go => {
                    self.stable = Some(now);
                    None
                }
                Decision::GiveUp(reasons) => {
                    Some(reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
                }
            };
            let waited_s = (now - waiting.since).seconds();
            self.ready.push((waiting.connection, Reply::Rest { rest: waiting.id, why, waited_s }));
        }
        self.waiting = left;
    }

    /// The replies, and their clients.
    pub fn ready(&mut self) -> Vec<(u64, Reply)> {
        std::mem::take(&mut self.ready)
    }

    /// Whether a program waits.
    pub fn owes(&self, connection: u64) -> bool {
        self.waiting.iter().any(|waiting| waiting.connection == connection)
    }
}

/// Keeps the newest values, in one piece.
fn keep<T>(all: &mut VecDeque<T>, newest: T, most: usize) {
    all.push_back(newest);
    while all.len() > most {
        all.pop_front();
    }
    all.make_contiguous();
}

/// Where temperatures are: a folder, the file that says of what, and the file with thousandths of a degree.
const THERMOMETERS: [(&str, &str, &str); 2] =
    [("class/thermal", "type", "temp"), ("class/hwmon", "name", "temp1_input")];
/// What is said of those of processors.
const OF_PROCESSORS: [&str; 6] = ["pkg", "cpu", "soc", "coretemp", "k10temp", "zenpower"];

/// The temperature of the warmest processor, or of the warmest zone of the machine where none says that it is a
/// processor's; `None` where none has one. Zones of chip sets and radios are warm whatever processors do.
fn warmest(sys: &Path) -> Option<f64> {
    let (mut of_processors, mut of_zones) = (None::<f64>, None::<f64>);
    for (folder, kind, value) in THERMOMETERS {
        for entry in fs::read_dir(sys.join(folder)).into_iter().flatten().flatten() {
            let read = |file: &str| fs::read_to_string(entry.path().join(file)).ok();
            let Some(thousandths) = read(value).and_then(|text| text.trim().parse::<f64>().ok()) else { continue };
            let kind = read(kind).unwrap_or_default().to_ascii_lowercase();
            let warmer = |than: Option<f64>| Some(than.map_or(thousandths, |than| than.max(thousandths)));
            if OF_PROCESSORS.iter().any(|word| kind.contains(word)) {
                of_processors = warmer(of_processors);
            } else if folder.ends_with("thermal") {
                of_zones = warmer(of_zones);
            }
        }
    }
    of_processors.or(of_zones).map(|thousandths| thousandths / 1000.0)
}

#[cfg(test)]
mod tests {
    use jouletree_model::sampling::{GpuUse, Mono};
    use jouletree_model::{Joules, Kind};
    use jouletree_series::ongoing::DeviceEnergy;

    use super::*;

    /// Half a second of this power, as a look sees it.
    fn look(watts: f64) -> Answer {
        let joules = Joules(watts * PULSE.seconds());
        let energy = jouletree_series::Estimate { joules, low: joules, high: joules, coverage: 1.0 };
        let device = |name: &str| DeviceEnergy {
            device: name.parse().unwrap(),
            kind: Kind::Measured,
            energy,
            parts: Default::default(),
        };
        Answer { id: 0, complete: true, devices: vec![device("host/cpu:0"), device("host/gpu:1")] }
    }

    fn rests(sys: &Path) -> Rests {
        let limits = StabilityLimits { samples: 4, time_out: Nanos(3_000_000_000), ..StabilityLimits::default() };
        Rests::new(Resting { limits, sys: sys.to_owned() })
    }

    /// Lets looks follow each other from the `from`th on; returns the replies.
    fn watch(rests: &mut Rests, from: i64, watts: &[f64]) -> Vec<(u64, Reply)> {
        let mut replies = Vec::new();
        for (number, watts) in watts.iter().enumerate() {
            rests.take(&look(*watts), Nanos((from + number as i64) * PULSE.0));
            replies.extend(rests.ready());
        }
        replies
    }

    #[test]
    fn a_steady_machine_is_at_rest_and_calls_that_follow_share_the_wait() {
        let folder = tempfile::tempdir().unwrap();
        let mut rests = rests(folder.path());
        rests.ask(7, 1, Nanos(0));
        assert!(watch(&mut rests, 0, &[20.0, 20.1, 19.9]).is_empty());
        // There is a look every second.
        let replies = watch(&mut rests, 3, &[20.0, 20.0]);
        assert!(matches!(replies.as_slice(), [(7, Reply::Rest { rest: 1, why: None, .. })]), "{replies:?}");
        rests.ask(7, 2, Nanos(5 * PULSE.0));
        let replies = rests.ready();
        assert!(
            matches!(replies.as_slice(), [(7, Reply::Rest { rest: 2, why: None, waited_s: 0.0 })]),
            "{replies:?}"
        );
    }

    #[test]
    fn a_machine_that_works_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let mut rests = rests(folder.path());
        watch(&mut rests, 0, &[20.0; 8]);
        rests.ask(7, 1, Nanos(8 * PULSE.0));
        // Steady, but far above idling.
        let replies = watch(&mut rests, 8, &[60.0; 20]);
        let [(7, Reply::Rest { rest: 1, why: Some(why), waited_s })] = replies.as_slice() else {
            panic!("{replies:?}")
        };
        assert!(why.contains("away from idling") && *waited_s >= 3.0, "{why} after {waited_s} s");
        rests.ask(9, 2, Nanos(40 * PULSE.0));
        assert!(rests.owes(9));
        rests.forget(9);
        assert!(!rests.owes(9));
    }

    fn zone(sys: &Path, number: u32, kind: &str, thousandths: &str) {
        let zone = sys.join(format!("class/thermal/thermal_zone{number}"));
        fs::create_dir_all(&zone).unwrap();
        fs::write(zone.join("type"), kind).unwrap();
        fs::write(zone.join("temp"), thousandths).unwrap();
    }

    #[test]
    fn heat_keeps_calls_back() {
        let folder = tempfile::tempdir().unwrap();
        zone(folder.path(), 0, "acpitz\n", "90000\n");
        let mut rests = rests(folder.path());
        rests.ask(7, 1, Nanos(0));
        let replies = watch(&mut rests, 0, &[20.0; 20]);
        let [(7, Reply::Rest { why: Some(why), .. })] = replies.as_slice() else { panic!("{replies:?}") };
        assert!(why.contains("host/cpu:0: 90.0 °C"), "{why}");
        // A zone that is the processor's own is believed before all others.
        zone(folder.path(), 1, "x86_pkg_temp\n", "41000\n");
        assert_eq!(warmest(folder.path()), Some(41.0));
        let sensor = folder.path().join("class/hwmon/hwmon3");
        fs::create_dir_all(&sensor).unwrap();
        fs::write(sensor.join("temp1_input"), "52500\n").unwrap();
        fs::write(sensor.join("name"), "nvme\n").unwrap();
        assert_eq!(warmest(folder.path()), Some(41.0));
        fs::write(sensor.join("name"), "k10temp\n").unwrap();
        assert_eq!(warmest(folder.path()), Some(52.5));
    }

    #[test]
    fn warm_graphics_processors_keep_calls_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut rests = rests(folder.path());
        let warm = |celsius| {
            let used = GpuUse { temperature: Some(celsius), ..GpuUse::default() };
            [GpuSample { at: Mono(0), gpu: 1, used, share: None }]
        };
        rests.warm(&warm(62));
        rests.ask(7, 1, Nanos(0));
        let replies = watch(&mut rests, 0, &[20.0; 20]);
        let [(7, Reply::Rest { why: Some(why), .. })] = replies.as_slice() else { panic!("{replies:?}") };
        assert!(why.contains("host/gpu:1: 62.0 °C, over the limit of 40.0 °C"), "{why}");
        // It cools, and the mean over what is looked at follows.
        rests.warm(&warm(33));
        rests.ask(7, 2, Nanos(20 * PULSE.0));
        let replies = watch(&mut rests, 20, &[20.0; 20]);
        assert!(matches!(replies.as_slice(), [(7, Reply::Rest { rest: 2, why: None, .. })]), "{replies:?}");
    }
}
