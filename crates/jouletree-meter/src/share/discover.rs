//! How a tree finds those that were born into it.

use jouletree_host::{ProcessLine, number};
use rustix::io::Errno;

use super::member::Member;
use super::tree::{Discovery, Tree};

/// Of a process with more threads than this, not all are asked for their children at every look.
const AT_ONCE: usize = 32;
/// Looks until all threads were asked.
const TURNS: usize = 8;

impl Tree {
    /// Takes note of all threads and takes in all new descendants.
    pub(super) fn discover(&mut self, is_thorough: bool) {
        for member in self.members.values_mut() {
            member.threads.clear();
            // Threads of a process that is just ending: there are none.
            let _ = member.tasks.numbers(&mut member.threads);
        }
        match self.discovery {
            Discovery::Children => self.discover_children(is_thorough),
            Discovery::Parents => while self.discover_by_parents() > 0 {},
        }
    }

    fn discover_children(&mut self, is_thorough: bool) {
        self.found.clear();
        for (pid, member) in &mut self.members {
            children(*pid, member, is_thorough, &mut self.text, &mut self.found);
        }
        while let Some(pid) = self.found.pop() {
            if self.adopt(pid)
                && let Some(member) = self.members.get_mut(&pid)
            {
                children(pid, member, true, &mut self.text, &mut self.found);
            }
        }
    }

    fn discover_by_parents(&mut self) -> usize {
        let mut all = std::mem::take(&mut self.found);
        all.clear();
        let _ = self.everyone.numbers(&mut all);
        let mut adopted = 0;
        for pid in &all {
            if *pid == self.monitor || self.members.contains_key(pid) {
                continue;
            }
            let line = self.everyone.file(*pid, "stat").and_then(|file| {
                let mut buffer = [0; ProcessLine::ROOM];
                file.read(&mut buffer).map(ProcessLine::parse)
            });
            if line.is_ok_and(|line| line.is_some_and(|line| self.members.contains_key(&line.parent))) {
                adopted += usize::from(self.adopt(*pid));
            }
        }
        self.found = all;
        adopted
    }

    /// Takes a process into the tree that is a child of one inside; whether it was new.
    fn adopt(&mut self, pid: u32) -> bool {
        if pid == self.monitor || self.members.contains_key(&pid) {
            return false;
        }
        match Member::open(&self.proc, pid) {
            Ok(mut member) if self.members.contains_key(&member.line.parent) => {
                let _ = member.tasks.numbers(&mut member.threads);
                self.time = self.time.saturating_add(member.count_from_birth(self.tick));
                self.seen += 1;
                self.members.insert(pid, member);
                true
            }
            Err(Errno::MFILE | Errno::NFILE) => {
                self.unfollowed += 1;
                false
            }
            // It is gone again, or the number is another's by now.
            _ => false,
        }
    }
}

/// The children of a process: of all its threads, or of those that are likely to have any and the next few of the others.
fn children(pid: u32, member: &mut Member, is_thorough: bool, text: &mut Vec<u8>, into: &mut Vec<u32>) {
    let Member { tasks, threads, forkers, turn, .. } = member;
    *turn += 1;
    let is_small = threads.len() <= AT_ONCE;
    for (place, thread) in threads.iter().enumerate() {
        let is_likely = *thread == pid || forkers.contains(thread);
        if !(is_thorough || is_small || is_likely || (place + *turn).is_multiple_of(TURNS)) {
            continue;
        }
        if let Ok(file) = tasks.file(*thread, "children")
            && let Ok(list) = file.read_whole(text)
        {
            let before = into.len();
            into.extend(list.split(u8::is_ascii_whitespace).filter_map(number::<u32>));
            if into.len() > before && !is_likely {
                forkers.push(*thread);
            }
        }
    }
    forkers.retain(|thread| threads.contains(thread));
}
