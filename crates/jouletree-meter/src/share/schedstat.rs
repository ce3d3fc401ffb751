//! CPU time by the scheduler's own account of each thread: nanoseconds, brought up to date at every tick of a running
//! thread. One file for each thread stays open. What threads and children take with them between two looks is found in
//! the whole ticks of their process.

use std::collections::BTreeMap;

use jouletree_host::number;
use rustix::io::Errno;

use super::kept::KeptFile;
use super::tree::Tree;

/// The accounts of all threads of a tree.
#[derive(Debug, Default)]
pub(super) struct ThreadTimes {
    threads: BTreeMap<(u32, u32), ThreadTime>,
    unfollowed: bool,
}

#[derive(Debug)]
struct ThreadTime {
    file: KeptFile,
    last: u64,
    is_gone: bool,
}

impl ThreadTimes {
    /// Begins with the threads that are there; what they ran before does not count.
    pub(super) fn attach(tree: &mut Tree, tick: u64) -> Result<ThreadTimes, Errno> {
        let mut times = ThreadTimes::default();
        for (pid, member) in &tree.members {
            for thread in &member.threads {
                match ThreadTime::open(member, *thread) {
                    Ok(time) if time.last == 0 && member.line.run > 1 && member.threads.len() == 1 => {
                        return Err(Errno::NODATA);
                    }
                    Ok(time) => drop(times.threads.insert((*pid, *thread), time)),
                    Err(Errno::SRCH) => {}
                    // It has ended meanwhile, unless it is the process itself: then there are no such files.
                    Err(Errno::NOENT) if thread != pid || tree.is_over() => {}
                    Err(error) => return Err(error),
                }
            }
        }
        // Whole ticks are cut off twice, for the user's and the system's time.
        tree.forget_the_past(2 * tick);
        Ok(times)
    }

    /// Adds what the threads have run since the last look to the tree's time.
    pub(super) fn poll(&mut self, tree: &mut Tree) {
        for ((pid, _), thread) in &mut self.threads {
            let more = thread.poll();
            if more > 0 {
                tree.time = tree.time.saturating_add(more);
                if let Some(member) = tree.members.get_mut(pid) {
                    member.ran(more);
                }
            }
        }
    }

    /// Lets go of threads that have ended and takes those that were born since; to be called after the tree has looked
    /// at its processes.
    pub(super) fn follow(&mut self, tree: &mut Tree) {
        self.threads.retain(|_, thread| !thread.is_gone);
        for (pid, member) in &tree.members {
            for thread in &member.threads {
                if self.threads.contains_key(&(*pid, *thread)) {
                    continue;
                }
                match ThreadTime::open(member, *thread) {
                    // Its time until now is in that of its process, or will be found there.
                    Ok(time) => drop(self.threads.insert((*pid, *thread), time)),
                    Err(Errno::MFILE | Errno::NFILE) => self.unfollowed = true,
                    Err(_) => {}
                }
            }
        }
    }

    /// Whether threads are counted in whole ticks only, as too many files were open.
    pub(super) fn is_coarse(&self) -> bool {
        self.unfollowed
    }
}

impl ThreadTime {
    fn open(member: &super::member::Member, thread: u32) -> Result<ThreadTime, Errno> {
        let file = member.tasks.file(thread, "schedstat")?;
        let last = read(&file)?.ok_or(Errno::NODATA)?;
        Ok(ThreadTime { file, last, is_gone: false })
    }

    fn poll(&mut self) -> u64 {
        match read(&self.file) {
            Ok(Some(now)) => {
                let more = now.saturating_sub(self.last);
                self.last = self.last.max(now);
                more
            }
            Ok(None) => 0,
            Err(_) => {
                self.is_gone = true;
                0
            }
        }
    }
}

/// The first number of the line: nanoseconds on a CPU.
fn read(file: &KeptFile) -> Result<Option<u64>, Errno> {
    let mut buffer = [0; 64];
    let text = file.read(&mut buffer)?;
    Ok(text.split(u8::is_ascii_whitespace).next().and_then(number))
}
