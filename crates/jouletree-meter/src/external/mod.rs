//! A meter of the user's own: lines of `time,watts` or `time,joules` in a file that grows, a pipe or a socket.
//!
//! A header is optional; it names its columns `watts` or `joules`, and `epoch_s`, `epoch_ms`, `epoch_us`, `epoch_ns` or
//! `time`. Without one, a line is a time and a power, or a power alone, which then counts from when it arrives. Between
//! two powers there is a straight line. Lines that cannot be read are counted and reported; a meter that is silent for longer
//! than it usually is leaves a gap.

mod address;
mod line;
mod stream;
mod tally;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use jouletree_host::Now;
use jouletree_model::sampling::{Anchor, Mono, Quality, SensorInfo};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Nanos, PowerUnit, Watts};

pub use address::MeterAddress;

use crate::silence::Silence;
use crate::{Found, ReadError, Reading, Sensor, Unusable};
use stream::{Lines, Step, Stream};
use tally::{ASSUMED_PERIOD, Tally};

/// More than any machine at a plug.
const MOST_WATTS: f64 = 50_000.0;

/// How long a socket that was closed is left alone.
const RECONNECT: Duration = Duration::from_millis(500);

/// A meter of the user's own.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalMeter {
    /// Where its lines come from.
    pub place: MeterAddress,
    /// What it meters.
    pub device: Device,
    /// What its values are, when no header says so; watts without a header.
    pub unit: Option<PowerUnit>,
}

impl ExternalMeter {
    /// A meter of the whole machine, which is what most meters at a plug are.
    pub fn of_machine(place: MeterAddress) -> ExternalMeter {
        ExternalMeter { place, device: Device::new(DeviceClass::Machine, 0), unit: None }
    }

    /// What its sensor says of where it is read.
    pub fn source(&self) -> String {
        format!("external meter: {}", self.place)
    }

    /// Opens it and begins to listen, to what comes from now on.
    pub fn find(&self) -> Found {
        let mut tally = Tally::new(self.unit.unwrap_or(PowerUnit::Watts));
        let opened = Stream::open(&self.place).and_then(|(stream, header)| {
            if let Some(header) = header {
                tally.header(&header);
            }
            let info = self.info(tally.unit());
            let shared = Arc::new(Shared { state: Mutex::new(State::new(tally)), stop: AtomicBool::new(false) });
            let (theirs, place) = (shared.clone(), self.place.clone());
            thread::Builder::new().name("meter".to_owned()).spawn(move || listen(&place, stream, &theirs))?;
            let (seen, began) = (Seen::default(), Mono::now());
            Ok(ExternalSensor { info, shared, seen, silence: Silence::since(began), began, told_gaps: 0 })
        });
        match opened {
            Ok(sensor) => Found { info: sensor.info.clone(), sensor: Ok(Box::new(sensor)) },
            Err(error) => {
                let unusable = Unusable {
                    reason: format!("{}: {error}", self.place),
                    remedy: Some(self.place.remedy().to_owned()),
                };
                Found { info: self.info(self.unit.unwrap_or(PowerUnit::Watts)), sensor: Err(unusable) }
            }
        }
    }

    fn info(&self, unit: PowerUnit) -> SensorInfo {
        SensorInfo {
            device: self.device.clone(),
            domain: None,
            source: self.source(),
            kind: kind(unit),
            range: None,
            step: Microjoules(1.0),
            period: ASSUMED_PERIOD,
            most: Watts(MOST_WATTS),
            is_slow: false,
            quality: Quality::default(),
        }
    }
}

/// Energy is what the meter says; what is computed from power is not.
fn kind(unit: PowerUnit) -> Kind {
    match unit {
        PowerUnit::Joules => Kind::Measured,
        PowerUnit::Watts => Kind::Derived,
    }
}

/// What the listening thread knows.
struct State {
    tally: Tally,
    seen: Seen,
    closed: Option<String>,
}

/// What the sensor needs of it.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// The newest count, and when its line arrived.
    newest: Option<(Reading, Mono)>,
    unit: Option<PowerUnit>,
    period: Option<Nanos>,
    timeout: Nanos,
    gaps: u64,
}

struct Shared {
    state: Mutex<State>,
    stop: AtomicBool,
}

impl State {
    fn new(tally: Tally) -> State {
        State { tally, seen: Seen::default(), closed: None }
    }

    fn line(&mut self, line: &[u8], arrived: Anchor) {
        let Some(time) = self.tally.line(&String::from_utf8_lossy(line), arrived.wall) else { return };
        let before = self.seen.newest.map_or(Mono(i64::MIN), |(reading, _)| reading.at);
        let at = Mono(arrived.mono.0.saturating_sub((arrived.wall - time).0)).max(before);
        self.seen = Seen {
            newest: Some((Reading { at, microjoules: self.tally.microjoules() }, arrived.mono)),
            unit: Some(self.tally.unit()),
            period: Some(self.tally.period()),
            timeout: self.tally.timeout(),
            gaps: self.tally.gaps(),
        };
    }
}

/// Reads lines until it is stopped; opens again what was closed.
fn listen(place: &MeterAddress, stream: Stream, shared: &Shared) {
    let mut stream = Some(stream);
    let mut lines = Lines::default();
    while !shared.stop.load(Ordering::Acquire) {
        let Some(open) = stream.as_mut() else {
            thread::sleep(RECONNECT);
            stream = Stream::open(place).ok().map(|(stream, _)| stream);
            continue;
        };
        let step = open.read(&mut lines);
        let arrived = Anchor::now();
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            Ok(Step::Some) => {
                lines.each(|line| state.line(line, arrived));
                state.closed = None;
            }
            Ok(Step::None) => {}
            Ok(Step::End) | Err(_) => {
                state.closed = Some(step.err().map_or("it was closed".to_owned(), |error| error.to_string()));
                state.tally.interrupt();
                lines = Lines::default();
                stream = None;
            }
        }
    }
}

struct ExternalSensor {
    info: SensorInfo,
    shared: Arc<Shared>,
    seen: Seen,
    silence: Silence,
    began: Mono,
    told_gaps: u64,
}

impl Sensor for ExternalSensor {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn read(&mut self) -> Result<u64, ReadError> {
        self.reading().map(|reading| reading.microjoules)
    }

    fn reading(&mut self) -> Result<Reading, ReadError> {
        // If a line is just being taken, it will be there the next time.
        if let Ok(state) = self.shared.state.try_lock() {
            self.seen = state.seen;
        }
        let now = Mono::now();
        let Some((reading, arrived)) = self.seen.newest else { return Err(ReadError::Late(now - self.began)) };
        self.info.kind = self.seen.unit.map_or(self.info.kind, kind);
        self.info.period = self.seen.period.unwrap_or(self.info.period);
        if let Some(silent) = self.silence.look(now, arrived, self.seen.timeout) {
            return Err(ReadError::Late(silent));
        }
        if self.seen.gaps > self.told_gaps {
            self.told_gaps = self.seen.gaps;
            return Err(ReadError::Unwatched(self.seen.timeout));
        }
        Ok(reading)
    }

    fn remarks(&self) -> Vec<String> {
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut remarks = state.tally.remarks();
        remarks.extend(state.closed.as_ref().map(|why| format!("it cannot be reached: {why}")));
        remarks
    }
}

impl Drop for ExternalSensor {
    fn drop(&mut self) {
        // The thread looks a few times a second, and holds nothing that anybody waits for.
        self.shared.stop.store(true, Ordering::Release);
    }
}
