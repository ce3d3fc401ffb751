//! CPU time by performance events: the kernel's task clock, inherited by all that descends from a thread.
//!
//! The finest source, and cheap: one system call for each thread that was there when the watch began. It counts what is
//! born later and what has ended. In a virtual machine it goes on while the hypervisor runs another guest. It misses the
//! last moments of every thread, in which the kernel clears up, and programs that run with other rights than their
//! user's (setuid): where the ticks of the processes show more, that is added.

use std::io;
use std::os::fd::AsRawFd as _;

use jouletree_host::Roots;
use perf_event::events::Software;
use perf_event::{Builder, Counter, ReadFormat};
use rustix::fs::{PROC_SUPER_MAGIC, statfs};

use super::tree::{Tree, monitor_in};

/// Times that the counters are set up anew because threads were born meanwhile, of which it is unknown whether they
/// are counted.
const ATTEMPTS: usize = 50;

/// The counters of a tree.
pub(super) struct PerfTime {
    counters: Vec<Counter>,
    last: u64,
    /// Time that only the ticks of processes know of.
    found: u64,
    /// Threads that were born while the counters were set up, at every attempt: they may be missing.
    pub(super) uncertain: usize,
}

impl PerfTime {
    /// Begins to count the whole tree.
    pub(super) fn attach(roots: &Roots, tree: &mut Tree, tick: u64) -> io::Result<PerfTime> {
        is_same_world(roots)?;
        let mut counters = Vec::new();
        let mut uncertain = 0;
        for _ in 0..ATTEMPTS {
            counters.clear();
            tree.look_everywhere();
            let before = threads(tree);
            for thread in &before {
                match open(*thread) {
                    Ok(counter) => counters.push(counter),
                    // It has ended meanwhile.
                    Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
                    Err(error) => return Err(error),
                }
            }
            tree.look_everywhere();
            uncertain = threads(tree).iter().filter(|thread| before.binary_search(thread).is_err()).count();
            if uncertain == 0 {
                break;
            }
        }
        let mut time = PerfTime { counters, last: 0, found: 0, uncertain };
        time.read()?;
        // Whole ticks are cut off twice, for the user's and the system's time.
        tree.forget_the_past(2 * tick);
        Ok(time)
    }

    /// The time at the last reading, in nanoseconds.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The time so far, in nanoseconds.
    pub(super) fn read(&mut self) -> io::Result<u64> {
        let mut sum = 0_u64;
        for counter in &mut self.counters {
            sum = sum.saturating_add(counter.read()?);
        }
        self.last = self.last.max(sum.saturating_add(self.found));
        Ok(self.last)
    }

    /// Makes up for what is known by the ticks of processes, which are never more than the truth.
    pub(super) fn reach(&mut self, ticks: u64) {
        let missing = ticks.saturating_sub(self.last);
        self.found += missing;
        self.last += missing;
    }
}

impl std::fmt::Debug for PerfTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let files: Vec<_> = self.counters.iter().map(|counter| counter.as_raw_fd()).collect();
        f.debug_struct("PerfTime").field("files", &files).field("last", &self.last).finish()
    }
}

/// All threads of a tree, in order.
fn threads(tree: &Tree) -> Vec<u32> {
    let mut threads: Vec<u32> = tree.members.values().flat_map(|member| member.threads.iter().copied()).collect();
    threads.sort_unstable();
    threads
}

fn open(thread: u32) -> io::Result<Counter> {
    let thread = i32::try_from(thread).map_err(io::Error::other)?;
    let mut builder = Builder::new(Software::TASK_CLOCK);
    builder.observe_pid(thread).any_cpu().inherit(true).enabled(true).read_format(ReadFormat::empty());
    builder.build()
}

/// Numbers of processes mean the same to the kernel as in the files only when these are the kernel's, and of the same
/// container.
fn is_same_world(roots: &Roots) -> io::Result<()> {
    let is_kernels = statfs(&roots.proc).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC);
    if is_kernels && monitor_in(roots) == std::process::id() {
        return Ok(());
    }
    Err(io::Error::other(format!("{} is not where this process lives", roots.proc.display())))
}
