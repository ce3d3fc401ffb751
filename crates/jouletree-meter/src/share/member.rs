//! One process of a tree, and the CPU time that is known of it.

use std::path::Path;

use jouletree_host::ProcessLine;
use rustix::io::Errno;

use super::kept::{KeptFile, NumberedDirectory};

/// Looks after which time that a child took with it is no longer expected to turn up at its parent.
const MOST_MISSED: u8 = 3;

/// A process that is followed.
#[derive(Debug)]
pub(super) struct Member {
    stat: KeptFile,
    pub(super) tasks: NumberedDirectory,
    pub(super) line: ProcessLine,
    /// The line of the look that is under way; `None` when the process is gone.
    next: Option<ProcessLine>,
    /// The time it has run, as far as it is known: never more than the truth by more than a step of its source.
    run: u64,
    /// Time of children that is known already and that this process will show once more when it asks for their end.
    expected: u64,
    waited: u8,
    /// Its threads at the last look.
    pub(super) threads: Vec<u32>,
    /// Those of them that were seen with children.
    pub(super) forkers: Vec<u32>,
    pub(super) turn: usize,
}

impl Member {
    pub(super) fn open(proc: &Path, pid: u32) -> Result<Member, Errno> {
        let folder = proc.join(pid.to_string());
        let stat = KeptFile::open(folder.join("stat"))?;
        let tasks = NumberedDirectory::open(folder.join("task"))?;
        let line = stat.read(&mut [0; ProcessLine::ROOM]).map(ProcessLine::parse)?.ok_or(Errno::SRCH)?;
        // Two opens by one number: the second may have opened another process.
        if line.pid != pid {
            return Err(Errno::SRCH);
        }
        Ok(Member {
            stat,
            tasks,
            line,
            next: Some(line),
            run: 0,
            expected: 0,
            waited: 0,
            threads: Vec::new(),
            forkers: Vec::new(),
            turn: 0,
        })
    }

    /// What it ran before it was watched is not counted; `slack` more is left out, too, for a source that is finer.
    pub(super) fn forget_the_past(&mut self, tick: u64, slack: u64) {
        self.run = self.line.run.saturating_mul(tick).saturating_add(slack);
    }

    /// The time that a process brings along that was born while its tree was watched.
    pub(super) fn count_from_birth(&mut self, tick: u64) -> u64 {
        self.run = self.line.run.saturating_mul(tick);
        self.run.saturating_add(self.line.reaped.saturating_mul(tick))
    }

    /// Looks at it. A line that cannot be understood changes nothing; an empty one, or the line of another process
    /// with the same number, means that it is gone.
    pub(super) fn look(&mut self) {
        let mut buffer = [0; ProcessLine::ROOM];
        self.next = match self.stat.read(&mut buffer) {
            Ok([]) | Err(_) => None,
            Ok(text) => match ProcessLine::parse(text) {
                Some(line) if line.began != self.line.began || line.pid != self.line.pid => None,
                line => line.or(Some(self.line)),
            },
        };
    }

    /// Looks whether it is still there: a child that its parent has buried meanwhile must not be counted twice.
    pub(super) fn look_again(&mut self) {
        if matches!(self.stat.read(&mut [0; 64]), Ok([]) | Err(_)) {
            self.next = None;
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.next.is_none()
    }

    /// What its parent will show once more.
    pub(super) fn estate(&self, tick: u64) -> u64 {
        self.run.saturating_add(self.line.reaped.saturating_mul(tick)).saturating_add(self.expected)
    }

    pub(super) fn expect(&mut self, time: u64) {
        self.expected = self.expected.saturating_add(time);
        self.waited = 0;
    }

    /// Ends the look: the time that it and the children that it buried have run beyond what was known.
    pub(super) fn advance(&mut self, tick: u64) -> u64 {
        let Some(next) = self.next else { return 0 };
        let run = next.run.saturating_mul(tick).saturating_sub(self.run);
        self.run += run;
        let buried = next.reaped.saturating_sub(self.line.reaped).saturating_mul(tick);
        let known = buried.min(self.expected);
        self.expected -= known;
        self.waited = if self.expected == 0 { 0 } else { self.waited + 1 };
        if self.waited > MOST_MISSED {
            // A process that does not care for its children's ends never shows their time.
            (self.expected, self.waited) = (0, 0);
        }
        self.line = ProcessLine { reaped: next.reaped.max(self.line.reaped), ..next };
        run.saturating_add(buried - known)
    }

    /// Takes note of time that a finer source knows of.
    pub(super) fn ran(&mut self, more: u64) {
        self.run = self.run.saturating_add(more);
    }
}
