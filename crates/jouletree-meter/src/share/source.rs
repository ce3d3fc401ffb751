//! Where the CPU time of a tree comes from: the best source that works here, and why the better ones do not.

use std::fmt;
use std::io;

use jouletree_host::Roots;
use jouletree_model::Nanos;

use super::perf::PerfTime;
use super::schedstat::ThreadTimes;
use super::tree::{Tree, tick_of_the_system};
use crate::{Unusable, remedy};

/// The kernel brings the task clock up to date when it is asked; what remains is the time of asking.
const PERF_STEP: Nanos = Nanos(12_000);
/// The longest tick of a kernel in use: 100 a second.
const LONGEST_TICK: Nanos = Nanos(10_000_000);

/// Where CPU time comes from, the finest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The task clock of performance events: exact, with all that is born or ends meanwhile.
    PerfTaskClock,
    /// The scheduler's account of each thread: exact to a tick of a running thread.
    Schedstat,
    /// The ticks of each process.
    Stat,
}

impl Source {
    /// All, the finest first.
    pub const ALL: [Source; 3] = [Source::PerfTaskClock, Source::Schedstat, Source::Stat];

    /// The step in which it counts the time of one running thread.
    pub fn resolution(self) -> Nanos {
        match self {
            Source::PerfTaskClock => PERF_STEP,
            Source::Schedstat => LONGEST_TICK,
            // User's and system's time are cut off apart.
            Source::Stat => Nanos(2 * i64::try_from(tick_of_the_system()).unwrap_or(LONGEST_TICK.0)),
        }
    }

    /// Whether it goes on while a hypervisor runs another machine on the CPU.
    pub(super) fn counts_stolen_time(self) -> bool {
        self == Source::PerfTaskClock
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Source::PerfTaskClock => "perf task-clock",
            Source::Schedstat => "schedstat",
            Source::Stat => "stat",
        })
    }
}

/// The CPU time of a tree.
#[derive(Debug)]
pub struct TreeTime {
    tree: Tree,
    from: From,
    refused: Vec<(Source, Unusable)>,
}

#[derive(Debug)]
enum From {
    Perf(PerfTime),
    Schedstat(ThreadTimes),
    Stat,
}

impl TreeTime {
    /// Begins to count by the best source that works.
    pub fn start(roots: &Roots, tree: Tree) -> TreeTime {
        TreeTime::start_with(roots, tree, &Source::ALL)
    }

    /// Begins to count by the best of some sources; when none of them works, by the ticks of processes, which always do.
    pub fn start_with(roots: &Roots, mut tree: Tree, sources: &[Source]) -> TreeTime {
        let mut refused = Vec::new();
        for source in sources {
            let tried = match source {
                Source::PerfTaskClock => PerfTime::attach(roots, &mut tree, tick_of_the_system()).map(From::Perf),
                Source::Schedstat => ThreadTimes::attach(&mut tree, tick_of_the_system())
                    .map(From::Schedstat)
                    .map_err(io::Error::from),
                Source::Stat => break,
            };
            match tried {
                Ok(from) => return TreeTime { tree, from, refused },
                Err(error) => refused.push((*source, refusal(*source, &error))),
            }
        }
        tree.look();
        tree.forget_the_past(0);
        TreeTime { tree, from: From::Stat, refused }
    }

    /// Where the time comes from.
    pub fn source(&self) -> Source {
        match &self.from {
            From::Perf(_) => Source::PerfTaskClock,
            From::Schedstat(_) => Source::Schedstat,
            From::Stat => Source::Stat,
        }
    }

    /// The better sources that do not work here, why, and what would help.
    pub fn refused(&self) -> &[(Source, Unusable)] {
        &self.refused
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Looks for processes that were born or have ended: about ten times a second.
    pub fn look(&mut self) {
        if let From::Schedstat(threads) = &mut self.from {
            threads.poll(&mut self.tree);
        }
        self.tree.look();
        match &mut self.from {
            From::Perf(perf) => {
                if perf.read().is_ok() {
                    perf.reach(self.tree.time);
                }
            }
            From::Schedstat(threads) => threads.follow(&mut self.tree),
            From::Stat => {}
        }
    }

    /// The CPU time of the tree since the start. With [`Source::Stat`] it is that of the last look.
    pub fn read(&mut self) -> Nanos {
        let time = match &mut self.from {
            // A counter that could be read once can always be read, even when its thread has ended.
            From::Perf(perf) => perf.read().unwrap_or(perf.last()),
            From::Schedstat(threads) => {
                threads.poll(&mut self.tree);
                self.tree.time
            }
            From::Stat => self.tree.time,
        };
        Nanos(i64::try_from(time).unwrap_or(i64::MAX))
    }

    /// What a person should know about the numbers so far.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let From::Perf(perf) = &self.from
            && perf.uncertain > 0
        {
            remarks.push(format!("{} threads were born while counting began and may be missing", perf.uncertain));
        }
        if matches!(&self.from, From::Schedstat(threads) if threads.is_coarse()) || self.tree.unfollowed() > 0 {
            remarks.push("too many files are open to follow all threads; raise the limit: ulimit -n".to_owned());
        }
        remarks
    }
}

fn refusal(source: Source, error: &io::Error) -> Unusable {
    let remedy = match (source, error.kind()) {
        (Source::PerfTaskClock, io::ErrorKind::PermissionDenied) => Some(format!(
            "let everybody count their own processes, until the machine restarts:\n    \
             sudo sysctl kernel.perf_event_paranoid=2\nor let this program alone do so:\n    {}",
            remedy::SETCAP
        )),
        (Source::PerfTaskClock, io::ErrorKind::NotFound | io::ErrorKind::Unsupported) => {
            Some("use a kernel with CONFIG_PERF_EVENTS, and a container that allows perf_event_open".to_owned())
        }
        (Source::Schedstat, io::ErrorKind::NotFound) => Some("use a kernel with CONFIG_SCHED_INFO".to_owned()),
        _ if remedy::too_many_files(error) => Some(remedy::MORE_FILES.to_owned()),
        _ => None,
    };
    Unusable { reason: format!("{source}: {error}"), remedy }
}
