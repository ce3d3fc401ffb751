//! One line about a process or a thread, as the kernel writes it in `stat`.

use std::io;
use std::path::Path;

use rustix::io::Errno;

/// What `stat` says of a process, as far as it is needed here. Times are in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLine {
    /// Its number.
    pub pid: u32,
    /// The number of its parent.
    pub parent: u32,
    /// It has ended, and its parent has not waited for it yet.
    pub is_zombie: bool,
    /// The time that it has run itself: all its threads, those that have ended too.
    pub run: u64,
    /// The time that its children had run, with theirs, when it asked for their end.
    pub reaped: u64,
    /// How many threads it has.
    pub threads: u32,
    /// When it began, in ticks since the machine did. A number that is used again has another.
    pub began: u64,
    /// The CPU on which it was last.
    pub cpu: Option<u32>,
}

impl ProcessLine {
    /// Room for the longest such line.
    pub const ROOM: usize = 1024;

    /// Reads the line; `None` when it is none. The name may hold anything, even blanks and brackets.
    pub fn parse(text: &[u8]) -> Option<ProcessLine> {
        let open = text.iter().position(|byte| *byte == b'(')?;
        let close = text.iter().rposition(|byte| *byte == b')')?;
        let pid = number(text.get(..open)?.trim_ascii())?;
        // Counted as in the manual, where the state is field 3.
        let mut fields = text.get(close + 1..)?.trim_ascii().split(|byte| *byte == b' ');
        let state = fields.next()?;
        let parent = number(fields.next()?)?;
        let mut times = fields.by_ref().skip(9).take(4).map(number::<i64>);
        let mut time = || u64::try_from(times.next()??).ok();
        let run = time()?.checked_add(time()?)?;
        let reaped = time()?.checked_add(time()?)?;
        let threads = number(fields.nth(2)?)?;
        let began = number(fields.nth(1)?)?;
        let cpu = fields.nth(16).and_then(number);
        Some(ProcessLine {
            pid,
            parent,
            is_zombie: matches!(state, b"Z" | b"X"),
            run,
            reaped,
            threads,
            began,
            cpu,
        })
    }
}

/// A decimal number and nothing else.
pub fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// When a process began, in ticks since the machine did; `None` when there is none, or when it has ended. A number that
/// is used again has another beginning. Fails where the system refuses, as without file descriptors.
pub fn began(proc: &Path, pid: u32) -> io::Result<Option<u64>> {
    let text = match std::fs::read(proc.join(pid.to_string()).join("stat")) {
        Ok(text) => text,
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let line = ProcessLine::parse(&text).filter(|line| line.pid == pid && !line.is_zombie);
    Ok(line.map(|line| line.began))
}

/// Whether the files of a process cannot be read because there is no such process.
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "4242 (a) b (c) R 7 4242 4242 0 -1 4194304 1 2 3 4 100 20 30 4 20 0 9 0 1234567 8 9 \
                        18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0 0\n";

    #[test]
    fn a_name_may_hold_anything() {
        let expected = ProcessLine {
            pid: 4242,
            parent: 7,
            is_zombie: false,
            run: 120,
            reaped: 34,
            threads: 9,
            began: 1_234_567,
            cpu: Some(5),
        };
        assert_eq!(ProcessLine::parse(LINE.as_bytes()), Some(expected));
        assert!(ProcessLine::parse(LINE.replace(" R ", " Z ").as_bytes()).unwrap().is_zombie);
    }

    #[test]
    fn the_line_of_this_process_is_understood() {
        let line = std::fs::read("/proc/self/stat").unwrap();
        let line = ProcessLine::parse(&line).unwrap();
        assert_eq!(line.pid, std::process::id());
        assert!(line.threads >= 1 && line.cpu.is_some() && line.began > 0);
    }

    #[test]
    fn nonsense_is_no_process() {
        for text in ["", "1", "1 (", "1 (x)", "1 )x( R 1", "x (x) R 1 2", &LINE[..60], &LINE.replace("100", "1e2")]
        {
            assert_eq!(ProcessLine::parse(text.as_bytes()), None, "{text:?}");
        }
        // Cut anywhere, it is none or the same, never another and never a panic.
        let whole = ProcessLine::parse(LINE.as_bytes()).unwrap();
        for end in 0..LINE.len() {
            if let Some(part) = ProcessLine::parse(&LINE.as_bytes()[..end]) {
                assert_eq!((part.pid, part.run, part.reaped), (whole.pid, whole.run, whole.reaped));
            }
        }
    }
}
