//! The station's thread: it empties the sampler, looks at the process trees and hands out batches.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jouletree_host::{Now, Roots};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Ending, Mono, SensorInfo};

use super::gpu_log::GpuLog;
use super::incident_log::IncidentLog;
use super::member::Member;
use super::queue::Queue;
use super::rounds::RoundClock;
use super::{IDLE, Options, SessionError, State, Watch};
use crate::sampler::Sampler;

/// The shortest time between two looks at everything,
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// and the least number of readings between them: a session with a long period keeps its overhead small.
const READINGS_PER_LOOK: u32 = 2;
/// Maximum wait for a sensor update on an early flush.
const NEXT_UPDATE: Nanos = Nanos(40_000_000);
/// Every so many looks what was collected is handed over.
const LOOKS_PER_BATCH: u32 = 2;

/// What is wanted of a station.
pub(super) enum Order {
    Watch(Watch, Sender<Result<(u64, Arc<Queue>), SessionError>>),
    Stop(u64),
    /// Hand over the batch of a session early.
    Flush(u64),
}

pub(super) struct Worker {
    sampler: Sampler,
    roots: Roots,
    options: Options,
    state: Arc<Mutex<State>>,
    orders: Receiver<Order>,
    members: Vec<Member>,
    gpus: Option<GpuLog>,
    rounds: RoundClock,
    /// The period of the sampler.
    period: Nanos,
    next_id: u64,
    /// Sessions with an early flush pending, and when each is due.
    early_flushes: Vec<(u64, Instant)>,
    incident_log: IncidentLog,
}

impl Worker {
    pub fn new(
        sampler: Sampler,
        roots: Roots,
        options: Options,
        state: Arc<Mutex<State>>,
        orders: Receiver<Order>,
    ) -> Worker {
        Worker {
            sampler,
            roots,
            options,
            state,
            orders,
            members: Vec::new(),
            gpus: None,
            rounds: RoundClock::default(),
            period: IDLE,
            next_id: 1,
            early_flushes: Vec::new(),
            incident_log: IncidentLog::default(),
        }
    }

    /// Works until all senders of orders are gone.
    pub fn run(&mut self) {
        let mut next = Instant::now();
        let mut looks = 0_u32;
        loop {
            // Without a session there is nothing to look at between two readings.
            next += if self.members.is_empty() { Duration::from_secs(1) } else { self.between_looks() };
            next = next.max(Instant::now());
            next = self.early_flushes.iter().map(|(_, ready)| *ready).fold(next, Instant::min);
            if !self.obey_until(&mut next) {
                return self.members.drain(..).for_each(|member| member.end());
            }
            let flushed = self.due_flushes();
            self.look(&flushed);
            looks = looks.wrapping_add(1);
            let is_time = looks.is_multiple_of(LOOKS_PER_BATCH);
            let due = self.members.iter_mut().filter(|member| is_time || flushed.contains(&member.id));
            due.for_each(Member::hand_over);
        }
    }

    /// Carries out orders until it is time for the next look, which the first session makes earlier; says whether there
    /// may be more orders.
    fn obey_until(&mut self, next: &mut Instant) -> bool {
        loop {
            match self.orders.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Order::Watch(watch, reply)) => {
                    // Who asked may have given up; then the session ends here.
                    if let Err(gone) = reply.send(self.watch(watch))
                        && let Ok((id, _)) = gone.0
                    {
                        self.stop(id);
                    }
                    *next = (*next).min(Instant::now() + self.between_looks());
                }
                Ok(Order::Stop(id)) => self.stop(id),
                Ok(Order::Flush(id)) => *next = (*next).min(self.schedule_flush(id)),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    fn watch(&mut self, watch: Watch) -> Result<(u64, Arc<Queue>), SessionError> {
        let ending = Ending { sensors: self.sampler.infos().to_vec(), ..Ending::default() };
        let queue = Arc::new(Queue::new(self.options.most_waiting, ending));
        // What was read before the session began is not the session's.
        self.look(&[]);
        let (id, sensors) = (self.next_id, self.sampler.infos().len());
        let member = Member::begin(id, watch, &self.roots, queue.clone(), Anchor::now(), sensors)?;
        queue.update(|ending| ending.share_source = member.share_source());
        self.next_id += 1;
        self.members.push(member);
        self.gpus.get_or_insert_with(|| GpuLog::start(&self.roots));
        self.keep_pace();
        Ok((id, queue))
    }

    fn stop(&mut self, id: u64) {
        let Some(place) = self.members.iter().position(|member| member.id == id) else { return };
        // This also has all sensors read once more.
        self.sampler.ask();
        self.look(&[id]);
        let known = self.known();
        let mut member = self.members.remove(place);
        member.take_last();
        member.hand_over();
        member.publish(&known);
        member.end();
        if self.members.is_empty() {
            self.gpus = None;
        } else if let Some(gpus) = &self.gpus {
            gpus.forget(id);
        }
        self.keep_pace();
    }

    /// Schedules an early flush of a session; returns when it is due.
    fn schedule_flush(&mut self, id: u64) -> Instant {
        let now = Instant::now();
        let Some(member) = self.members.iter().find(|member| member.id == id) else {
            return now + self.between_looks();
        };
        // A point lies up to half a tick and the lag of its sensor before the reading that shows it.
        let shown = |info: &SensorInfo| Nanos(info.period.0.saturating_mul(3) / 2) + info.quality.lag;
        let update = self.sampler.infos().iter().map(shown).max().unwrap_or_default() + self.period;
        let wait = update.min(NEXT_UPDATE).max(member.closes() - Mono::now()).max(Nanos(0));
        let ready = now + Duration::from_nanos(wait.0.unsigned_abs());
        self.early_flushes.retain(|(other, _)| *other != id);
        self.early_flushes.push((id, ready));
        self.sampler.read_now();
        ready
    }

    /// The sessions whose early flush is due by now.
    fn due_flushes(&mut self) -> Vec<u64> {
        let now = Instant::now();
        self.early_flushes.extract_if(.., |(_, ready)| *ready <= now).map(|(id, _)| id).collect()
    }

    /// Reads as often as the most demanding session wants.
    fn keep_pace(&mut self) {
        let period = self.members.iter().map(|member| member.period).min().unwrap_or(IDLE);
        // Sessions have periods that were checked.
        if period != self.period && self.sampler.set_period(period).is_ok() {
            self.period = period;
        }
    }

    fn between_looks(&self) -> Duration {
        BETWEEN_LOOKS.max(Duration::from_nanos(self.period.0.unsigned_abs()) * READINGS_PER_LOOK)
    }

    /// Takes what is there and gives it to everybody; to some, the shares up to now.
    fn look(&mut self, closing: &[u64]) {
        let (members, rounds, period) = (&mut self.members, &mut self.rounds, self.period);
        self.sampler.drain(|sample| {
            let round = rounds.instant(&sample);
            members.iter_mut().for_each(|member| member.take(sample, round, period));
        });
        let (anchors, incidents) = self.sampler.take_news();
        self.incident_log.log(&incidents, self.sampler.infos());
        let now = Mono::now();
        for member in members.iter_mut() {
            let gpus = self.gpus.as_ref().map(|gpus| gpus.take(member.id, member.processes())).unwrap_or_default();
            member.hear(anchors.as_slice(), &incidents, &gpus);
            member.look(now, closing.contains(&member.id));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.stats = self.sampler.stats();
    }

    /// What is known of the sensors by now.
    fn known(&mut self) -> Ending {
        let sensors = self.sampler.infos().to_vec();
        let remarks = self.sampler.remarks().iter().zip(&sensors).flat_map(|(remarks, info)| {
            let name = match &info.domain {
                Some(domain) => format!("{} {domain}", info.device),
                None => info.device.to_string(),
            };
            remarks.iter().map(move |remark| format!("{name}: {remark}"))
        });
        let remarks = remarks.collect();
        self.state.lock().unwrap_or_else(PoisonError::into_inner).sensors.clone_from(&sensors);
        Ending { sensors, remarks, stats: self.sampler.stats(), ..Ending::default() }
    }
}
