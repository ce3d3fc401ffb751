//! The share of a process tree in what the CPUs of each socket do, window by window.

use jouletree_host::{Now, Roots, process_time};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Mono, ShareSample};
use rustix::thread::sched_getcpu;

use super::machine::Machine;
use super::places::Places;
use super::reconcile::{Carry, Slice, Times, reconcile};
use super::source::{Source, TreeTime};
use super::tree::{Tree, WatchError, tick_of_the_system};
use crate::ReadError;

/// How often births and deaths are looked for.
const LOOK: Nanos = Nanos(100_000_000);

/// Measures the share of a tree.
#[derive(Debug)]
pub struct ShareMeter {
    time: TreeTime,
    machine: Machine,
    places: Places,
    window: Nanos,
    tick: Nanos,
    began: Option<Mono>,
    looked: Mono,
    ours: Nanos,
    own: Nanos,
    carry: Carry,
    slices: Vec<Option<Slice>>,
    samples: Vec<ShareSample>,
}

impl ShareMeter {
    /// The window by default: ten ticks, so that a CPU's ticks resolve tenths.
    pub const WINDOW: Nanos = Nanos(100_000_000);

    /// Watches the process `pid` and its descendants from now on, by the best source that works.
    pub fn start(roots: &Roots, pid: u32) -> Result<ShareMeter, WatchError> {
        ShareMeter::start_with(roots, pid, ShareMeter::WINDOW, &Source::ALL)
    }

    /// The same with another window and only some sources. A window shorter than the step of the clocks is made longer.
    pub fn start_with(
        roots: &Roots,
        pid: u32,
        window: Nanos,
        sources: &[Source],
    ) -> Result<ShareMeter, WatchError> {
        let machine =
            Machine::open(roots).map_err(|error| WatchError::NoMachine(roots.proc.join("stat"), error))?;
        let mut time = TreeTime::start_with(roots, Tree::watch(roots, pid)?, sources);
        let tick = Nanos(i64::try_from(tick_of_the_system()).unwrap_or(10_000_000));
        let sockets = machine.sockets().len();
        let now = Mono::now();
        let mut places = Places::default();
        places.look(time.tree(), &machine);
        Ok(ShareMeter {
            ours: time.read(),
            window: window.max(tick).max(time.source().resolution()),
            places,
            time,
            machine,
            tick,
            began: None,
            looked: now,
            own: process_time(),
            carry: Carry::default(),
            slices: Vec::with_capacity(sockets),
            samples: Vec::with_capacity(sockets),
        })
    }

    /// Where the tree's CPU time comes from, and the tree.
    pub fn time(&self) -> &TreeTime {
        &self.time
    }

    /// The length of a window, in which the shares are even.
    pub fn window(&self) -> Nanos {
        self.window
    }

    /// When the window began that has not ended yet.
    pub fn began(&self) -> Option<Mono> {
        self.began
    }

    /// The CPU time of the tree since the start, as fine as its source allows: for callers that look inside windows.
    pub fn cpu_time(&mut self) -> Nanos {
        self.time.read()
    }

    /// CPU time of the tree that exceeded all that the ticks of the CPUs left room for, and is in no share.
    pub fn dropped(&self) -> Nanos {
        Nanos(self.carry.dropped as i64)
    }

    /// What a person should know about the numbers so far.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.time.remarks();
        if self.dropped() > self.window {
            remarks.push(format!("{} of CPU time is more than the machine's ticks show", self.dropped()));
        }
        remarks
    }

    /// The shares of the window that ends now, one for each socket; nothing while it lasts. After a failure the next
    /// window begins where reading works again: there is a gap between.
    pub fn poll(&mut self, now: Mono) -> Result<&[ShareSample], ReadError> {
        if self.began.is_some_and(|began| now - began < self.window) {
            self.samples.clear();
            return Ok(&self.samples);
        }
        self.close(now)
    }

    /// Ends the window now, however short it is: for the end of a recording. One that is shorter than a tick of the
    /// system says nothing.
    pub fn close(&mut self, now: Mono) -> Result<&[ShareSample], ReadError> {
        self.samples.clear();
        if self.began.is_some_and(|began| now - began < self.tick) {
            return Ok(&self.samples);
        }
        if now - self.looked >= LOOK || self.time.source() == Source::Stat {
            self.time.look();
            self.places.look(self.time.tree(), &self.machine);
            self.looked = now;
        }
        let began = self.began.take();
        let (ours, own) = (self.time.read(), process_time());
        self.machine.look()?;
        self.began = Some(now);
        let times = Times {
            window: began.map_or(Nanos(0), |began| now - began),
            tick: self.tick,
            ours: ours - self.ours,
            own: own - self.own,
            own_socket: u32::try_from(sched_getcpu())
                .ok()
                .and_then(|cpu| self.machine.socket_of(cpu))
                .unwrap_or(0),
            include_stolen: self.time.source().counts_stolen_time(),
        };
        (self.ours, self.own) = (ours, own);
        if let Some(from) = began {
            let weights = self.places.weights();
            reconcile(self.machine.since(), weights, times, &mut self.carry, &mut self.slices);
            let slices = self.machine.sockets().iter().zip(&self.slices);
            self.samples.extend(slices.filter_map(|(socket, slice)| {
                let Slice { ours, others, idle, own } = (*slice)?;
                Some(ShareSample { from, at: now, socket: *socket, ours, others, idle, own })
            }));
        }
        Ok(&self.samples)
    }
}
