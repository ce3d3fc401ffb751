//! A command that is watched to its end: its status, how long it took, and the processor time that it used meanwhile.

use std::fs;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// A command that does not end is found by this. Those that end take a fraction of it on any machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a command may use of the processors after it was asked to end: a recording is accounted, in a build without
/// optimization. One that spins until it is killed uses far more.
const BUSY: Duration = Duration::from_secs(4);

pub struct Watched {
    child: Child,
    what: String,
    since: Instant,
    busy: Duration,
}

/// How it ended.
pub struct Ended {
    pub status: ExitStatus,
    what: String,
}

impl Watched {
    /// Watches from now on.
    pub fn new(child: Child, what: String) -> Watched {
        let busy = busy(&child);
        Watched { child, what, since: Instant::now(), busy }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it has not been waited for");
    }

    /// Waits until the process has become the command itself, or has ended.
    pub fn is_itself(&self) {
        let name = || fs::read_to_string(format!("/proc/{}/comm", self.child.id())).unwrap_or_default();
        while name().trim() != "jouletree" && !self.has_ended() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// That it goes on for a while and does not spin.
    #[track_caller]
    pub fn goes_on(&mut self) {
        let (before, time) = (busy(&self.child), Duration::from_millis(500));
        thread::sleep(time);
        assert!(!self.has_ended(), "{} has ended", self.what);
        let used = busy(&self.child) - before;
        // A recorder in a build without optimization is far from idle.
        assert!(used < time * 8 / 10, "{} used {used:?} in {time:?}", self.what);
        (self.since, self.busy) = (Instant::now(), busy(&self.child));
    }

    /// Its end, which has to come soon.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        while !self.has_ended() {
            if self.since.elapsed() > PATIENCE {
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("{} does not end", self.what);
            }
            thread::sleep(Duration::from_millis(5));
        }
        let (seconds, used) = (self.since.elapsed().as_secs_f64(), busy(&self.child) - self.busy);
        let status = self.child.wait().expect("its status");
        println!(
            "{:80} {status}, after {seconds:.2} s and {:.2} s of processor time",
            self.what,
            used.as_secs_f64()
        );
        assert!(used < BUSY, "{} used {used:?} of the processors", self.what);
        Ended { status, what: self.what }
    }

    /// Whether it has ended; its numbers are kept until it is waited for.
    fn has_ended(&self) -> bool {
        let looked = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        waitid(WaitId::Pid(Pid::from_child(&self.child)), looked).expect("a child").is_some()
    }
}

impl Ended {
    #[track_caller]
    pub fn with(self, code: i32) {
        assert_eq!(self.status.code(), Some(code), "{}: {}", self.what, self.status);
    }
}

/// The processor time of all threads of a process, until it is waited for.
fn busy(child: &Child) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("a process");
    // The name may hold anything; the numbers after it do not.
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks = |place: usize| fields[place].parse::<u64>().expect("a number");
    Duration::from_secs_f64((ticks(11) + ticks(12)) as f64 / clock_ticks_per_second() as f64)
}
