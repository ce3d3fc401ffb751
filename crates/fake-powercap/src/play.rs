//! Playing a script, by the clock or step by step.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jouletree_model::{Joules, Watts};

use crate::tree::{ZoneFiles, is_taken};
use crate::zone::PlayedZone;
use crate::{Layout, Mishap, Power, Script, ZoneSpec};

/// A script that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum FakeError {
    /// There is a tree already.
    #[error("{0} holds a powercap tree already; remove it or name another folder")]
    Taken(PathBuf),
    /// The script names a zone that the layout does not have.
    #[error("there is no zone `{zone}` in this layout; there are {known}")]
    UnknownZone {
        /// What the script says.
        zone: String,
        /// What there is.
        known: String,
    },
    /// The tree cannot be written.
    #[error("the tree cannot be written: {0}")]
    System(#[from] io::Error),
}

/// The true energy of what is played.
#[derive(Debug, Clone)]
pub struct Oracle {
    powers: BTreeMap<String, Power>,
    /// When time jumps, and by how much.
    jumps: Vec<(Duration, Duration)>,
}

impl Oracle {
    /// The energy that a zone used between two instants of playing, jumps of time included; `None` for a zone that
    /// is not there.
    pub fn energy(&self, zone: &str, from: Duration, to: Duration) -> Option<Joules> {
        self.powers.get(zone)?;
        Some(Joules(self.by(zone, to) - self.by(zone, from)))
    }

    /// The most power that a zone ever draws.
    pub fn most(&self, zone: &str) -> Option<Watts> {
        self.powers.get(zone).map(Power::most)
    }

    pub(crate) fn by(&self, zone: &str, time: Duration) -> f64 {
        let jumped: Duration = self.jumps.iter().filter(|(at, _)| *at <= time).map(|(_, by)| *by).sum();
        self.powers.get(zone).map_or(0.0, |power| power.energy_by(time.saturating_add(jumped)).0)
    }
}

/// A tree and the script that is played into it.
#[derive(Debug)]
pub struct Fake {
    zones: Vec<PlayedZone>,
    oracle: Oracle,
    now: Duration,
    /// In nanoseconds.
    latest: Arc<AtomicU64>,
}

impl Fake {
    /// Builds the tree below `root`, which then looks like `/sys`, with all counters at their start.
    pub fn new(root: &Path, layout: Layout, script: &Script) -> Result<Fake, FakeError> {
        if is_taken(root) {
            return Err(FakeError::Taken(root.to_owned()));
        }
        let specs = layout.zones();
        check_names(&specs, script)?;
        let oracle = oracle(&specs, script);
        let mut zones: Vec<PlayedZone> = Vec::new();
        for spec in specs {
            let shown = spec.shows.as_ref().and_then(|key| zones.iter().find(|zone| zone.spec.key == *key));
            let files = ZoneFiles::create(root, &spec, shown.map(|zone| &zone.files))?;
            let mut zone = PlayedZone::new(spec, files, script.start, script.seed, &script.faults, &oracle);
            // A counter that is shown twice is played once.
            if zone.spec.shows.is_none() {
                zone.publish(Duration::ZERO, &oracle)?;
            }
            zones.push(zone);
        }
        Ok(Fake { zones, oracle, now: Duration::ZERO, latest: Arc::default() })
    }

    /// The true energies.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// The zones that are played, by the names that scripts call them.
    pub fn zones(&self) -> impl Iterator<Item = &ZoneSpec> {
        self.zones.iter().map(|zone| &zone.spec)
    }

    /// How long it has played.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// The most that an update came too late, which happens when it is played by the clock on a busy machine.
    pub fn latest(&self) -> Duration {
        Duration::from_nanos(self.latest.load(Ordering::Relaxed))
    }

    /// Lets time pass, without waiting: all counters are as they would be then.
    pub fn advance(&mut self, by: Duration) -> Result<(), FakeError> {
        self.advance_to(self.now.saturating_add(by))
    }

    fn advance_to(&mut self, now: Duration) -> Result<(), FakeError> {
        self.now = self.now.max(now);
        for zone in self.zones.iter_mut().filter(|zone| zone.spec.shows.is_none()) {
            if let Some(tick) = zone.ticks.last_until(self.now) {
                zone.publish(tick, &self.oracle)?;
            }
        }
        Ok(())
    }

    /// Plays as fast as a clock of any kind goes, until it is stopped.
    fn follow(
        &mut self,
        mut clock: impl FnMut() -> Duration,
        is_over: impl Fn() -> bool,
    ) -> Result<(), FakeError> {
        while !is_over() {
            thread::sleep(Duration::from_millis(1));
            self.advance_to(clock())?;
        }
        Ok(())
    }

    /// Plays by the clock, from `begun` on, until it is stopped.
    pub fn play(&mut self, begun: Instant, mut is_over: impl FnMut(&Fake) -> bool) -> Result<(), FakeError> {
        while !is_over(self) {
            let next =
                self.zones.iter().filter(|zone| zone.spec.shows.is_none()).map(|zone| zone.ticks.next()).min();
            let next = next.unwrap_or(self.now + Duration::from_millis(1));
            thread::sleep(next.saturating_sub(begun.elapsed()));
            self.advance_to(begun.elapsed())?;
            let late = begun.elapsed().saturating_sub(next).as_nanos();
            self.latest.fetch_max(u64::try_from(late).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A fake that is played by the clock in a thread of its own.
#[derive(Debug)]
pub struct Player {
    begun: Instant,
    oracle: Oracle,
    latest: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Fake, FakeError>>>,
}

impl Player {
    /// Begins to play.
    pub fn start(fake: Fake) -> Player {
        let begun = Instant::now();
        Player::spawn(fake, begun, move |fake, stop| fake.play(begun, |_| stop.load(Ordering::Relaxed)))
    }

    /// Begins to play by another clock: counters then follow whatever that clock follows, such as [`busy_clock`].
    pub fn follow(fake: Fake, clock: impl FnMut() -> Duration + Send + 'static) -> Player {
        Player::spawn(fake, Instant::now(), |fake, stop| fake.follow(clock, || stop.load(Ordering::Relaxed)))
    }

    fn spawn(
        mut fake: Fake,
        begun: Instant,
        play: impl FnOnce(&mut Fake, &AtomicBool) -> Result<(), FakeError> + Send + 'static,
    ) -> Player {
        let (stop, oracle) = (Arc::new(AtomicBool::new(false)), fake.oracle.clone());
        let (stopped, latest) = (Arc::clone(&stop), Arc::clone(&fake.latest));
        let thread = thread::spawn(move || {
            play(&mut fake, &stopped)?;
            Ok(fake)
        });
        Player { begun, oracle, latest, stop, thread: Some(thread) }
    }

    /// How long it has played.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The true energies.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// The most that an update came too late so far.
    pub fn latest(&self) -> Duration {
        Duration::from_nanos(self.latest.load(Ordering::Relaxed))
    }

    /// Stops; the counters do not change from then on.
    pub fn stop(mut self) -> Result<Fake, FakeError> {
        self.stop.store(true, Ordering::Relaxed);
        let played = self.thread.take().and_then(|thread| thread.join().ok());
        played.unwrap_or_else(|| Err(io::Error::other("the player failed").into()))
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whether it failed no longer matters to anybody.
            let _ = thread.join();
        }
    }
}

/// A clock that goes as the processors of this machine work: by a second for each second that one of them is busy, and a
/// tenth of that for each second that passes.
pub fn busy_clock() -> impl FnMut() -> Duration {
    let (begun, at_first) = (Instant::now(), busy_time().unwrap_or_default());
    move || {
        let busy = busy_time().map_or(Duration::ZERO, |busy| busy.saturating_sub(at_first));
        busy + begun.elapsed() / 10
    }
}

/// What the processors of this machine have worked since it was started, in ticks of ten milliseconds.
fn busy_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    // All but idle and waiting; the time of guests is in that of users.
    let busy =
        ticks.iter().take(8).enumerate().filter(|(place, _)| !matches!(place, 3 | 4)).map(|(_, ticks)| ticks);
    Some(Duration::from_millis(busy.sum::<u64>().saturating_mul(10)))
}

fn oracle(specs: &[ZoneSpec], script: &Script) -> Oracle {
    let mut powers = BTreeMap::new();
    for spec in specs {
        // What shows another's counter draws what that one draws.
        let key = spec.shows.as_ref().unwrap_or(&spec.key);
        let power = script.powers.get(key).cloned().unwrap_or_else(|| Power::constant(spec.power));
        powers.insert(spec.key.clone(), power);
    }
    let jumps = script.faults.iter().filter_map(|fault| match fault.mishap {
        Mishap::Jump(by) => Some((fault.at, by)),
        _ => None,
    });
    Oracle { powers, jumps: jumps.collect() }
}

fn check_names(specs: &[ZoneSpec], script: &Script) -> Result<(), FakeError> {
    let keys: Vec<&str> = specs.iter().filter(|spec| spec.shows.is_none()).map(|spec| spec.key.as_str()).collect();
    let named = script.powers.keys().chain(script.faults.iter().filter_map(|fault| fault.zone.as_ref()));
    match named.into_iter().find(|name| !keys.contains(&name.as_str())) {
        Some(zone) => Err(FakeError::UnknownZone { zone: zone.clone(), known: keys.join(", ") }),
        None => Ok(()),
    }
}
