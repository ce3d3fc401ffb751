//! The sampler: one thread that reads every sensor at fixed instants of the monotonic clock.
//!
//! It sleeps until absolute deadlines, reads each sensor once per wake, allocates nothing while all is well, and hands
//! samples over through a ring without a lock. What it could not do travels with the data: readings that failed are
//! samples with a flag, deadlines that were missed are counted and skipped and never caught up, samples that found no
//! space are counted, and what happened is reported once in an [`Incident`]. Sensors that may block are read by threads of
//! their own ([`Deadlined`]), so that none holds up another.

mod clocks;
mod realtime;
mod round;
mod stats;
mod watched;

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jouletree_host::Now;
use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Anchors, Incident, Mono, Sample, SensorInfo, Stats, What};
use rtrb::{Consumer, RingBuffer};

pub use realtime::realtime_class;

use crate::Sensor;
use crate::slow::{DEADLINE, Deadlined};
use round::Rounds;
use stats::Shared;
use watched::Watched;

/// Room for incidents and anchors that were not taken yet: an hour of anchors.
const ROOM: usize = 4096;
/// So many incidents are kept; what comes after is counted.
const MOST_INCIDENTS: usize = 4096;

/// How to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The time from one reading of all sensors to the next: a millisecond at least and a second at most.
    pub period: Nanos,
    /// Whether to request real-time scheduling (SCHED_FIFO), without which a busy machine makes samples late.
    /// [`Stats::class`] says what it answered.
    pub realtime: bool,
    /// How many samples wait for [`Sampler::drain`] before some are lost. Each takes 24 bytes.
    pub ring: usize,
}

impl Options {
    /// The shortest period.
    pub const SHORTEST: Nanos = Nanos(1_000_000);
    /// The longest period. Upper bound, so that [`Sampler::stop`] returns within a second.
    pub const LONGEST: Nanos = Nanos(1_000_000_000);

    /// Whether a period can be kept.
    pub fn check_period(period: Nanos) -> Result<(), StartError> {
        match (Options::SHORTEST..=Options::LONGEST).contains(&period) {
            true => Ok(()),
            false => Err(StartError::Period(period)),
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { period: Nanos(4_000_000), realtime: true, ring: 1 << 16 }
    }
}

/// Why sampling cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is nothing to read.
    #[error(
        "there is no sensor to read; `jouletree doctor` says what this machine has and what each of them lacks"
    )]
    NoSensors,
    /// A sample has 16 bits for its sensor.
    #[error("{0} sensors are more than the 65536 that one sampler reads")]
    TooMany(usize),
    /// A period that cannot be kept.
    #[error("a period of {0} cannot be kept; choose one from 1 ms to 1 s")]
    Period(Nanos),
    /// Nothing could be handed over.
    #[error("a ring of {ring} samples does not hold one reading of {sensors} sensors; make it larger")]
    Ring {
        /// The samples that it holds.
        ring: usize,
        /// The sensors.
        sensors: usize,
    },
    /// The system gives no thread.
    #[error("the system gives no thread for sampling: {0}")]
    Thread(#[from] std::io::Error),
}

/// Samples all sensors until it is stopped or dropped.
#[derive(Debug)]
pub struct Sampler {
    infos: Vec<SensorInfo>,
    samples: Consumer<Sample>,
    new_anchors: Consumer<Anchor>,
    new_incidents: Consumer<Incident>,
    anchors: Anchors,
    incidents: Vec<Incident>,
    incidents_left_out: u64,
    shared: Arc<Shared>,
    remarks: Vec<Vec<String>>,
    thread: Option<JoinHandle<Vec<FinalSensorState>>>,
}

/// How long the thread is waited for when it is asked about its sensors.
const ANSWER: Duration = Duration::from_millis(200);

/// What is known about a sensor after it was sampled, and what it says of its readings.
type FinalSensorState = (SensorInfo, Vec<String>);

impl Sampler {
    /// Begins to sample. A sensor's number in [`Sample::sensor`] is its place in `sensors`.
    pub fn start(sensors: Vec<Box<dyn Sensor>>, options: Options) -> Result<Sampler, StartError> {
        let Options { period, realtime, ring } = options;
        if sensors.is_empty() {
            return Err(StartError::NoSensors);
        }
        if sensors.len() > usize::from(u16::MAX) + 1 {
            return Err(StartError::TooMany(sensors.len()));
        }
        Options::check_period(period)?;
        if ring < sensors.len() {
            return Err(StartError::Ring { ring, sensors: sensors.len() });
        }
        let infos = sensors.iter().map(|sensor| sensor.info().clone()).collect();
        let watched: Vec<Watched> =
            (0_u16..=u16::MAX).zip(sensors).map(|(id, sensor)| watched(id, sensor)).collect::<Result<_, _>>()?;
        let (producer, samples) = RingBuffer::new(ring);
        let (anchors, new_anchors) = RingBuffer::new(ROOM);
        let (incidents, new_incidents) = RingBuffer::new(ROOM);
        let shared = Arc::new(Shared::default());
        shared.set_period(period);
        let mut rounds = Rounds::new(watched, producer, anchors, incidents, shared.clone());
        let thread = thread::Builder::new().name("sampler".to_owned()).spawn(move || {
            rounds.prepare(realtime);
            rounds.run()
        })?;
        Ok(Sampler {
            infos,
            samples,
            new_anchors,
            new_incidents,
            anchors: Anchors::default(),
            incidents: Vec::new(),
            incidents_left_out: 0,
            shared,
            remarks: Vec::new(),
            thread: Some(thread),
        })
    }

    /// What is sampled, in the order of [`Sample::sensor`]; after the end or
    /// [`Sampler::ask`], with what sensors learned about themselves.
    pub fn infos(&self) -> &[SensorInfo] {
        &self.infos
    }

    /// Hands over all samples that are there, by sensor in the order of their time. Afterwards [`Sampler::anchors`]
    /// and [`Sampler::incidents`] hold everything up to the last of them.
    pub fn drain(&mut self, mut take: impl FnMut(Sample)) {
        // Whatever belongs to these samples was sent before them.
        let ready = self.samples.slots();
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            self.stop();
        }
        self.listen();
        for _ in 0..ready {
            let Ok(sample) = self.samples.pop() else { break };
            take(sample);
        }
    }

    /// From now on reads with another period, beginning at once.
    pub fn set_period(&self, period: Nanos) -> Result<(), StartError> {
        Options::check_period(period)?;
        self.shared.set_period(period);
        self.wake();
        Ok(())
    }

    /// Has the sensors read within 20 ms, however long the period is.
    pub fn read_now(&self) {
        self.shared.want_reading();
        self.wake();
    }

    /// Asks what is known of the sensors by now; [`Sampler::infos`] and [`Sampler::remarks`] return it. A thread that does
    /// not get to answer leaves them as they were.
    pub fn ask(&mut self) {
        if self.thread.is_none() {
            return;
        }
        self.shared.want_final_states();
        self.read_now();
        let until = Instant::now() + ANSWER;
        while Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
            if let Some(final_states) = self.shared.take_final_states() {
                (self.infos, self.remarks) = final_states.into_iter().unzip();
                return;
            }
        }
    }

    /// What is new since it was last taken, as of the last [`Sampler::drain`]: for those who sample for months.
    pub fn take_news(&mut self) -> (Anchors, Vec<Incident>) {
        (std::mem::take(&mut self.anchors), std::mem::take(&mut self.incidents))
    }

    /// What ties the clock of the samples to the time of day, as of the last [`Sampler::drain`].
    pub fn anchors(&self) -> &Anchors {
        &self.anchors
    }

    /// What happened, as of the last [`Sampler::drain`].
    pub fn incidents(&self) -> &[Incident] {
        &self.incidents
    }

    /// How well it keeps time, and what it costs.
    pub fn stats(&self) -> Stats {
        let mut stats = self.shared.stats();
        stats.incidents_left_out += self.incidents_left_out;
        stats
    }

    /// What each sensor says of its readings; nothing before the end or [`Sampler::ask`].
    pub fn remarks(&self) -> &[Vec<String>] {
        &self.remarks
    }

    /// Stops within a period, or little more where a slow sensor hangs; samples that were not drained yet can still
    /// be drained.
    pub fn stop(&mut self) {
        self.shared.stop();
        self.wake();
        let Some(thread) = self.thread.take() else { return };
        match thread.join() {
            Ok(final_states) => (self.infos, self.remarks) = final_states.into_iter().unzip(),
            // A sensor that panics ends the sampling; what was sampled before stays.
            Err(_) => self.incidents.push(Incident { at: Mono::now(), sensor: None, what: What::Ended }),
        }
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    fn listen(&mut self) {
        while let Ok(anchor) = self.new_anchors.pop() {
            self.anchors.push(anchor);
        }
        while let Ok(incident) = self.new_incidents.pop() {
            if self.incidents.len() < MOST_INCIDENTS {
                self.incidents.push(incident);
            } else {
                self.incidents_left_out += 1;
            }
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn watched(id: u16, sensor: Box<dyn Sensor>) -> std::io::Result<Watched> {
    let sensor: Box<dyn Sensor> =
        if sensor.info().is_slow { Box::new(Deadlined::start(sensor, DEADLINE)?) } else { sensor };
    Ok(Watched::new(id, sensor))
}
