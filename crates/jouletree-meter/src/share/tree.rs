//! A process and all that descends from it: threads, children, data loaders, born late or dying early.
//!
//! Descendants are looked for in `task/*/children`, or among all processes where the kernel does not list children. One
//! that was seen once stays in the tree, whatever becomes its parent; one that is born, orphaned by the end of its parent
//! and never seen is missed, as is one that ends between two looks, but the time of the latter is found at its parent.
//! The monitor itself is never part of a tree. Files are kept open, so that a number that is used again for another
//! process is never mistaken; where files are not the kernel's, the start time decides.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use jouletree_host::{Roots, is_gone};
use jouletree_model::Nanos;
use rustix::io::Errno;

use super::kept::NumberedDirectory;
use super::member::Member;

/// How descendants are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovery {
    /// By the lists of children that the kernel keeps for each thread.
    Children,
    /// By the parents of all processes of the machine, where there are no such lists.
    Parents,
}

/// Why a process cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// There is none.
    #[error("there is no process {0}; `ps` lists those that run")]
    NoProcess(u32),
    /// It cannot be looked at.
    #[error("process {0} cannot be looked at: {1}; {remedy}", remedy = remedy(.1))]
    Unreadable(u32, io::Error),
    /// It is this one.
    #[error("process {0} is the monitor itself, which is never part of what it watches; give another process")]
    Monitor(u32),
    /// The processes cannot be seen at all.
    #[error("{0}: {1}; mount the process file system: mount -t proc proc /proc")]
    NoProcesses(PathBuf, io::Error),
    /// The processor time of the machine cannot be read.
    #[error("{0}: {1}")]
    NoMachine(PathBuf, crate::ReadError),
}

fn no_processes(roots: &Roots, pid: u32, error: io::Error) -> WatchError {
    match has_no_descriptors(&error) {
        true => WatchError::Unreadable(pid, error),
        false => WatchError::NoProcesses(roots.proc.clone(), error),
    }
}

fn not_watched(pid: u32, error: io::Error) -> WatchError {
    match is_gone(&error) {
        true => WatchError::NoProcess(pid),
        false => WatchError::Unreadable(pid, error),
    }
}

fn has_no_descriptors(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// What to do about a process that cannot be looked at.
fn remedy(error: &io::Error) -> &'static str {
    match has_no_descriptors(error) {
        true => "raise the limit of open files (ulimit -n, or LimitNOFILE= of a unit), or try again later",
        false => "try again as the user of the process, or as root",
    }
}

/// A process and its descendants.
#[derive(Debug)]
pub struct Tree {
    pub(super) proc: PathBuf,
    pub(super) everyone: NumberedDirectory,
    pub(super) discovery: Discovery,
    pub(super) monitor: u32,
    pub(super) tick: u64,
    pub(super) members: BTreeMap<u32, Member>,
    /// The CPU time since the watch began, in nanoseconds.
    pub(super) time: u64,
    pub(super) seen: u64,
    pub(super) unfollowed: u64,
    pub(super) found: Vec<u32>,
    estates: Vec<(u32, u64)>,
    pub(super) text: Vec<u8>,
}

impl Tree {
    /// Watches the process `pid` and all its descendants from now on.
    pub fn watch(roots: &Roots, pid: u32) -> Result<Tree, WatchError> {
        let everyone =
            NumberedDirectory::open(&roots.proc).map_err(|error| no_processes(roots, pid, error.into()))?;
        let monitor = monitor_in(roots);
        if pid == monitor {
            return Err(WatchError::Monitor(pid));
        }
        let root = Member::open(&roots.proc, pid).map_err(|error| not_watched(pid, error.into()))?;
        let discovery = match root.tasks.file(pid, "children") {
            Ok(_) => Discovery::Children,
            Err(_) => Discovery::Parents,
        };
        let mut tree = Tree {
            proc: roots.proc.clone(),
            everyone,
            discovery,
            monitor,
            tick: tick_of_the_system(),
            members: BTreeMap::from([(pid, root)]),
            time: 0,
            seen: 1,
            unfollowed: 0,
            found: Vec::new(),
            estates: Vec::new(),
            text: vec![0; 4096],
        };
        tree.discover(true);
        tree.forget_the_past(0);
        Ok(tree)
    }

    /// How descendants are found.
    pub fn discovery(&self) -> Discovery {
        self.discovery
    }

    /// Its processes that live, or have ended and were not buried yet.
    pub fn processes(&self) -> impl ExactSizeIterator<Item = u32> {
        self.members.keys().copied()
    }

    /// Its processes that live.
    pub fn living(&self) -> impl Iterator<Item = u32> {
        self.members.iter().filter(|(_, member)| !member.line.is_zombie).map(|(pid, _)| *pid)
    }

    /// How many threads it had at the last look.
    pub fn threads(&self) -> usize {
        self.members.values().map(|member| member.threads.len()).sum()
    }

    /// How many processes were seen since the watch began.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Descendants that could not be followed, as too many files were open.
    pub fn unfollowed(&self) -> u64 {
        self.unfollowed
    }

    /// Whether all of it has ended.
    pub fn is_over(&self) -> bool {
        self.members.values().all(|member| member.line.is_zombie)
    }

    /// The CPU time of the whole tree since the watch began, as of the last look, in steps of the system's tick.
    pub fn time(&self) -> Nanos {
        Nanos(i64::try_from(self.time).unwrap_or(i64::MAX))
    }

    /// Looks at all its processes and for new ones: to be done about ten times a second. A child of a thread that never
    /// had one before, in a process of very many threads, may be found some looks later; its time is not lost.
    pub fn look(&mut self) {
        self.look_for(false);
    }

    /// Looks, and asks every thread for its children.
    pub(super) fn look_everywhere(&mut self) {
        self.look_for(true);
    }

    fn look_for(&mut self, is_thorough: bool) {
        self.members.values_mut().for_each(Member::look);
        self.members.values_mut().for_each(Member::look_again);
        self.bury();
        for member in self.members.values_mut() {
            self.time = self.time.saturating_add(member.advance(self.tick));
        }
        self.discover(is_thorough);
    }

    pub(super) fn forget_the_past(&mut self, slack: u64) {
        self.members.values_mut().for_each(|member| member.forget_the_past(self.tick, slack));
        self.time = 0;
    }

    /// Takes those out that are gone; what is known of their time is expected to turn up at who buried them.
    fn bury(&mut self) {
        self.estates.clear();
        for (pid, member) in self.members.iter().filter(|(_, member)| member.is_gone()) {
            let mut heir = member.line.parent;
            // Who buried them may be buried itself by now.
            for _ in 0..self.members.len() {
                match self.members.get(&heir) {
                    Some(parent) if parent.is_gone() && heir != *pid => heir = parent.line.parent,
                    _ => break,
                }
            }
            self.estates.push((heir, member.estate(self.tick)));
        }
        if self.estates.is_empty() {
            return;
        }
        self.members.retain(|_, member| !member.is_gone());
        for (heir, time) in self.estates.drain(..) {
            if let Some(heir) = self.members.get_mut(&heir) {
                heir.expect(time);
            }
        }
    }
}

/// The number of this process as the root of processes knows it: another inside a container.
pub(super) fn monitor_in(roots: &Roots) -> u32 {
    let link = std::fs::read_link(roots.proc.join("self")).ok();
    link.and_then(|path| path.to_str()?.parse().ok()).unwrap_or_else(std::process::id)
}

/// The step in which the system counts CPU time, in nanoseconds.
pub(super) fn tick_of_the_system() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}
