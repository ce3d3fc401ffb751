//! The meters behind a view: a session of the station, and a pass over all processes once in an interval.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use jouletree_host::Roots;
use jouletree_meter::share::Census;
use jouletree_meter::station::{Feed, Next, Watch};
use jouletree_model::Nanos;
use jouletree_model::sampling::Stats;

use super::state::{State, Subject};
use super::view::View;
use crate::reader::Reader;

/// Often enough for powers of a second, and cheap.
const PERIOD: Nanos = Nanos(20_000_000);
/// At the end the station is waited for no longer than this.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Meters at work.
pub struct Watching {
    reader: Reader,
    session: Box<dyn Feed>,
    stats: Stats,
    census: Census,
    state: State,
    interval: Duration,
    next_pass: Instant,
    is_over: bool,
}

impl Watching {
    /// Begins to read the meters, with a pass over all processes once in an `interval`.
    pub fn start(reader: Reader, roots: &Roots, interval: Nanos, subject: Subject) -> Result<Watching> {
        if reader.remote_name().is_some() {
            bail!(
                "`top` shows this machine with its processes; for another one use: jouletree record --duration 60 \
                 --daemon=HOST:PORT"
            );
        }
        let state = State::new(&reader.sensors()?, subject.clone(), interval);
        let session = reader.watch(Watch { pid: subject.pid, period: PERIOD, grid: None })?.feed;
        let stats = reader.stats()?;
        let census = Census::open(roots).with_context(|| format!("{}", roots.proc.display()))?;
        let interval = Duration::from_nanos(u64::try_from(interval.0).unwrap_or(u64::MAX));
        let next_pass = Instant::now() + interval;
        Ok(Watching { reader, session, stats, census, state, interval, next_pass, is_over: false })
    }

    /// Takes what the meters bring, waiting for it no longer than `wait`; whether it is time for an update.
    pub fn turn(&mut self, wait: Duration) -> Result<bool> {
        if let Next::Batch(batch) =
            self.session.next(wait.min(self.next_pass.saturating_duration_since(Instant::now())))?
        {
            self.state.take(&batch);
        }
        let is_due = Instant::now() >= self.next_pass;
        if is_due {
            // Updates that a busy machine missed are not caught up.
            self.next_pass = (self.next_pass + self.interval).max(Instant::now());
            self.pass()?;
            self.state.learn(&self.reader.sensors()?);
            self.stats = self.reader.stats()?;
        }
        if !self.is_over && self.session.is_over() {
            self.is_over = true;
            self.state.is_over();
        }
        Ok(is_due)
    }

    /// Whether all processes that were watched have ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What there is to show.
    pub fn view(&self) -> View {
        self.state.view(self.stats)
    }

    /// Ends, and says what there is to say at the end.
    pub fn end(mut self) -> View {
        self.session.stop();
        let until = Instant::now() + LAST_WORDS;
        loop {
            match self.session.next(until.saturating_duration_since(Instant::now())) {
                Ok(Next::Batch(batch)) => self.state.take(&batch),
                Ok(Next::NothingYet) if Instant::now() < until => {}
                // A daemon that is gone cannot say more.
                Ok(Next::Ended | Next::NothingYet) | Err(_) => break,
            }
        }
        // What the processes did last is better known than not, but no reason to fail.
        let _ = self.pass();
        self.state.learn(&self.session.ending().sensors);
        self.state.finish();
        self.view()
    }

    fn pass(&mut self) -> Result<()> {
        let pass = self.census.pass().context("cannot list the processes")?;
        self.state.pass(&pass);
        Ok(())
    }
}
