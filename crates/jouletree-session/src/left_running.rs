//! Processes that a command leaves behind: recording ends with the command, and what they use after that is in no figure.

use std::path::Path;
use std::time::{Duration, Instant};

use jouletree_host::began;

/// Helpers of a program may end a moment after it.
const GRACE: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(20);
/// So many are named.
const MOST_NAMED: usize = 5;

/// What there is to say about those of these processes that go on running.
pub fn described(proc: &Path, processes: &[u32]) -> Option<String> {
    let until = Instant::now() + GRACE;
    loop {
        let left: Vec<u32> = processes.iter().copied().filter(|pid| runs(proc, *pid)).collect();
        if left.is_empty() {
            return None;
        }
        if Instant::now() >= until {
            return Some(remark(proc, &left));
        }
        std::thread::sleep(LOOK);
    }
}

fn runs(proc: &Path, pid: u32) -> bool {
    began(proc, pid).is_ok_and(|began| began.is_some())
}

fn remark(proc: &Path, left: &[u32]) -> String {
    let name = |pid: &u32| {
        let name = std::fs::read_to_string(proc.join(pid.to_string()).join("comm")).unwrap_or_default();
        format!("{} (pid {pid})", name.trim_end())
    };
    let mut names: Vec<String> = left.iter().take(MOST_NAMED).map(name).collect();
    if left.len() > MOST_NAMED {
        names.push(format!("{} more", left.len() - MOST_NAMED));
    }
    let (count, verb) =
        if left.len() == 1 { ("1 process", "runs") } else { (&*format!("{} processes", left.len()), "run") };
    format!(
        "{count} of the command still {verb} and what they use from now on is not counted: {}; have the command wait for them (`wait` in a shell)",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_run_are_named_and_those_that_ended_are_not() {
        let proc = Path::new("/proc");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let remark = described(proc, &[child.id()]).unwrap();
        assert!(remark.starts_with("1 process of the command still runs"), "{remark}");
        assert!(remark.contains(&format!("sleep (pid {})", child.id())), "{remark}");
        child.kill().unwrap();
        // It has ended and is not reaped yet.
        while runs(proc, child.id()) {
            std::thread::sleep(LOOK);
        }
        assert_eq!(described(proc, &[child.id()]), None);
        child.wait().unwrap();
        assert_eq!(described(proc, &[]), None);
        let many: Vec<u32> = (1..=9).collect();
        assert!(super::remark(Path::new("/nonexistent"), &many).contains("9 processes of the command still run"));
        assert!(super::remark(Path::new("/nonexistent"), &many).contains("4 more"));
    }
}
