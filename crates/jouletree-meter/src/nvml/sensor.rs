//! The energy of a GPU as a sensor.

use jouletree_host::Now;
use jouletree_model::sampling::{Mono, SensorInfo};
use jouletree_model::{Kind, Microjoules, Nanos, Watts};

use super::gpu::{Gpu, Quantity};
use super::integral::PowerIntegral;
use super::window::{quality, window};
use super::{PREFIX, problem, unknown_gpu};
use crate::period::Period;
use crate::{Found, ReadError, Reading, Sensor};

/// What most GPUs since 2020 do, and the longest that any does.
pub(super) const ASSUMED_PERIOD: Nanos = Nanos(100_000_000);

/// For a GPU that does not report its limit.
pub(super) const MOST_WATTS: f64 = 2_500.0;

/// Powers rise above the limit that is enforced, for milliseconds, but not so far.
const ABOVE_LIMIT: f64 = 3.0;

/// A counter that does not change for so long while the GPU draws power does not count.
const STUCK: Nanos = Nanos(2_000_000_000);

/// How often it is made sure that the GPU of our number is still the same GPU.
const CHECK: Nanos = Nanos(1_000_000_000);

/// The energy of one GPU.
pub(super) struct GpuSensor {
    gpu: Gpu,
    name: String,
    uuid: String,
    quantity: Quantity,
    window: Option<Nanos>,
    info: SensorInfo,
    period: Period,
    integral: PowerIntegral,
    /// The counter's last value and when it was first seen.
    counted: Option<(Mono, u64)>,
    has_moved: bool,
    looked: Mono,
    /// How long it was not read before the last change.
    vague: Nanos,
    checked: Mono,
}

impl GpuSensor {
    /// The sensor of a GPU, or why there is none.
    pub(super) fn new(gpu: Gpu) -> Result<GpuSensor, Box<Found>> {
        let (name, uuid) = (gpu.name().unwrap_or("unnamed".to_owned()), gpu.uuid().unwrap_or_default());
        let bus = gpu.pci_bus().map(|bus| format!(" at {bus}")).unwrap_or_default();
        let mut info = unknown_gpu(gpu.index(), format!("{PREFIX}{name}{bus}"));
        if let Some(limit) = gpu.limit_milliwatts().ok().filter(|limit| *limit > 0) {
            info.most = Watts(f64::from(limit) * 1e-3 * ABOVE_LIMIT);
        }
        let quantity = match best_of(&gpu, &Quantity::ALL) {
            Ok(quantity) => quantity,
            Err(error) => return Err(Box::new(Found { info, sensor: Err(problem::no_power(&error)) })),
        };
        info.source = format!("{}, {}", info.source, quantity.name());
        let mut sensor = GpuSensor {
            uuid,
            quantity,
            window: window(quantity, gpu.architecture(), &name),
            name,
            info,
            period: Period::assumed(ASSUMED_PERIOD),
            integral: PowerIntegral::default(),
            counted: None,
            has_moved: false,
            looked: Mono::now(),
            vague: Nanos(0),
            checked: Mono::now(),
            gpu,
        };
        sensor.update_info();
        Ok(sensor)
    }

    /// Goes on with power when the counter of energy did not move although it was watched and power is drawn; says
    /// whether it did so.
    pub(super) fn give_up_dead_counter(&mut self) -> bool {
        let is_dead = self.quantity == Quantity::Energy && !self.has_moved && self.draws_power();
        match best_of(&self.gpu, &Quantity::ALL[1..]) {
            Ok(quantity) if is_dead => {
                self.quantity = quantity;
                self.window = window(quantity, self.gpu.architecture(), &self.name);
                self.info.source = format!("{} is stuck; {}", self.info.source, quantity.name());
                self.update_info();
                true
            }
            _ => false,
        }
    }

    /// How many changes of its values were seen, up to some number.
    pub(super) fn changes(&self) -> usize {
        self.period.seen()
    }

    fn saw_change(&mut self, interval: Nanos, unwatched: Nanos) {
        // Who looks seldom sees how often it looks, and not how often there is something new.
        let vague = std::mem::replace(&mut self.vague, unwatched).max(unwatched);
        if vague.0.saturating_mul(4) <= interval.0 {
            self.period.saw(interval);
            self.update_info();
        }
    }

    fn update_info(&mut self) {
        let period = self.period.get();
        if self.quantity != Quantity::Energy {
            // What is computed from power is not read from a meter of energy.
            self.info.kind = Kind::Derived;
            self.info.step = Microjoules(1.0);
        }
        // No GPU is slower; a power that seldom changes only looks so.
        let period = period.min(ASSUMED_PERIOD);
        self.info.period = period;
        self.info.quality = quality(self.quantity, period, self.window);
    }

    /// Counters of energy go on counting whether they are read or not.
    fn count(&mut self, at: Mono, millijoules: u64, unwatched: Nanos) -> Result<Reading, ReadError> {
        let microjoules = millijoules.saturating_mul(1000);
        match self.counted {
            Some((since, count)) if count == microjoules => {
                let still = at - since;
                if still > STUCK.max(Nanos(self.info.period.0 * 10)) && self.draws_power() {
                    return Err(ReadError::Stuck(still));
                }
                Ok(Reading { at: since, microjoules })
            }
            before => {
                self.counted = Some((at, microjoules));
                if let Some((since, _)) = before {
                    // The first look is not a change, and says nothing about the time until the next.
                    if std::mem::replace(&mut self.has_moved, true) {
                        self.saw_change(at - since, unwatched);
                    }
                }
                Ok(Reading { at, microjoules })
            }
        }
    }

    fn draws_power(&self) -> bool {
        self.gpu.read(Quantity::Usage).is_ok_and(|milliwatts| milliwatts > 0)
    }

    fn integrate(&mut self, at: Mono, milliwatts: u64, unwatched: Nanos) -> Result<Reading, ReadError> {
        if let Some(interval) = self.integral.take(at, milliwatts, self.info.period)? {
            self.saw_change(interval, unwatched);
        }
        let at = self.integral.until().unwrap_or(at);
        Ok(Reading { at, microjoules: self.integral.microjoules() })
    }

    /// GPUs may be numbered anew when one of them is lost: another's energy must not be taken for this one's.
    fn check_identity(&mut self, now: Mono) -> Result<(), ReadError> {
        if now - self.checked > CHECK {
            if self.gpu.uuid()? != self.uuid {
                return Err(ReadError::Gone("another GPU has got its number".to_owned()));
            }
            self.checked = now;
        }
        Ok(())
    }
}

impl Sensor for GpuSensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn read(&mut self) -> Result<u64, ReadError> {
        self.reading().map(|reading| reading.microjoules)
    }

    fn reading(&mut self) -> Result<Reading, ReadError> {
        self.check_identity(Mono::now())?;
        let value = self.gpu.read(self.quantity)?;
        let at = Mono::now();
        let unwatched = at - std::mem::replace(&mut self.looked, at);
        match self.quantity {
            Quantity::Energy => self.count(at, value, unwatched),
            Quantity::Instant | Quantity::Usage => self.integrate(at, value, unwatched),
        }
    }

    fn remarks(&self) -> Vec<String> {
        if self.period.is_learned() {
            return Vec::new();
        }
        let period = self.info.period;
        vec![format!(
            "how often it updates could not be seen, because its value hardly changed; {period} is assumed"
        )]
    }
}

/// The best that a GPU answers to, or its last refusal.
fn best_of(gpu: &Gpu, quantities: &[Quantity]) -> Result<Quantity, ReadError> {
    let mut refusal = ReadError::Gone("nothing to read".to_owned());
    for quantity in quantities {
        match gpu.read(*quantity) {
            Ok(_) => return Ok(*quantity),
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}
