//! The owner of a process, as `/proc` shows it, and what distinguishes the process from a later one with the same number.

use std::fs;
use std::io;
use std::path::Path;

use jouletree_host::{began, is_gone};

use crate::policy::Owner;

/// A process that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Whose it is.
    pub owner: Owner,
    pid: u32,
    /// When it began, in ticks since the machine did: a number that is used again has another.
    began: u64,
}

impl Process {
    /// The process with this number; `None` when there is none. Fails where it cannot be read, as without file descriptors.
    pub fn find(proc: &Path, pid: u32) -> io::Result<Option<Process>> {
        // The beginning is looked at before and after, so that both belong to one process.
        let Some(before) = began(proc, pid)? else { return Ok(None) };
        let status = match fs::read(proc.join(pid.to_string()).join("status")) {
            Ok(status) => status,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_same = began(proc, pid)? == Some(before);
        Ok(owner(&status).filter(|_| is_same).map(|owner| Process { owner, pid, began: before }))
    }

    /// Whether this is the same process, even if its owner changed.
    pub fn is(self, other: Process) -> bool {
        (self.pid, self.began) == (other.pid, other.began)
    }
}

fn owner(status: &[u8]) -> Option<Owner> {
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"))?;
    let mut users = std::str::from_utf8(line).ok()?.split_ascii_whitespace().map(str::parse);
    let mut user = || users.next()?.ok();
    Some(Owner { real: user()?, effective: user()?, saved: user()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_its_own() {
        let proc = Path::new("/proc");
        let ours = Process::find(proc, std::process::id()).unwrap().unwrap();
        assert_eq!(ours.owner.real, rustix::process::getuid().as_raw());
        assert_eq!(ours.owner.effective, rustix::process::geteuid().as_raw());
        assert!(ours.is(Process::find(proc, std::process::id()).unwrap().unwrap()));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let theirs = Process::find(proc, child.id()).unwrap().unwrap();
        assert!(!theirs.is(ours));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Process::find(proc, child.id()).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_gone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("7")).unwrap();
        assert_eq!(Process::find(folder.path(), 7).unwrap(), None);
        let stat = folder.path().join("7/stat");
        std::os::unix::fs::symlink(&stat, &stat).unwrap();
        assert!(Process::find(folder.path(), 7).is_err());
    }

    #[test]
    fn a_name_cannot_lie_about_the_owner() {
        let status = b"Name:\tUid:\t0\t0\nUmask:\t0022\nUid:\t1000\t1001\t1002\t1003\n";
        assert_eq!(owner(status), Some(Owner { real: 1000, effective: 1001, saved: 1002 }));
        assert_eq!(owner(b"Uid:\t1000\t1001\n"), None);
    }
}
