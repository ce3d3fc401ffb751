//! Where bytes come from, cut into lines. Nothing here waits for more than a tenth of a second.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::MeterAddress;

/// How long a read may wait.
const WAIT: Duration = Duration::from_millis(100);

/// How often a file is looked at for more.
const LOOK: Duration = Duration::from_millis(20);

/// Timeout of one system call.
const CONNECT: Duration = Duration::from_secs(2);

/// No meter writes longer lines.
const LONGEST: usize = 4096;

/// An open place.
pub(super) enum Stream {
    /// A file that grows, and that may be replaced by another of the same name.
    Tail {
        file: File,
        path: PathBuf,
        position: u64,
    },
    /// A named pipe or a serial line.
    Pipe(File),
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// What came of reading.
pub(super) enum Step {
    Some,
    None,
    End,
}

impl Stream {
    /// Opens a place; a file's first line is given as well, since it may be a header, and what follows is skipped.
    pub(super) fn open(place: &MeterAddress) -> io::Result<(Stream, Option<String>)> {
        let path = match place {
            MeterAddress::Tcp(address) => return Ok((Stream::Tcp(connect(address)?), None)),
            MeterAddress::File(path) => path,
        };
        let kind = std::fs::metadata(path)?.file_type();
        if kind.is_socket() {
            let socket = UnixStream::connect(path)?;
            socket.set_read_timeout(Some(WAIT))?;
            return Ok((Stream::Unix(socket), None));
        }
        if kind.is_file() {
            return Stream::at_end_of(path);
        }
        if kind.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        // Without this, opening a pipe waits for a writer.
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
        Ok((Stream::Pipe(OpenOptions::new().read(true).custom_flags(flags).open(path)?), None))
    }

    /// A file from after its last whole line on.
    fn at_end_of(path: &Path) -> io::Result<(Stream, Option<String>)> {
        let mut file = File::open(path)?;
        let mut first = Vec::new();
        file.by_ref().take(LONGEST as u64).read_to_end(&mut first)?;
        first.truncate(first.iter().position(|byte| *byte == b'\n').unwrap_or(0));
        let length = file.metadata()?.len();
        let start = length.saturating_sub(LONGEST as u64);
        file.seek(SeekFrom::Start(start))?;
        let mut end = Vec::new();
        file.by_ref().take(length - start).read_to_end(&mut end)?;
        let whole = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        // A line without an end that fills the whole stretch is none.
        let position = if whole == 0 && start > 0 { length } else { start + whole as u64 };
        file.seek(SeekFrom::Start(position))?;
        let header = String::from_utf8(first).ok().filter(|line| !line.is_empty());
        Ok((Stream::Tail { file, path: path.to_owned(), position }, header))
    }

    /// Reads what is there, and waits a little when nothing is.
    pub(super) fn read(&mut self, lines: &mut Lines) -> io::Result<Step> {
        let read = match self {
            Stream::Tail { file, path, position } => {
                let read = lines.fill(file)?;
                *position += read as u64;
                if read == 0 {
                    thread::sleep(LOOK);
                    if was_replaced(file, path, *position) {
                        *file = File::open(path)?;
                        *position = 0;
                        *lines = Lines::default();
                    }
                    return Ok(Step::None);
                }
                return Ok(Step::Some);
            }
            Stream::Pipe(file) => {
                let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(WAIT.subsec_nanos()) };
                poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&wait))?;
                let read = lines.fill(file);
                if matches!(read, Ok(0)) {
                    // No writer has it open now; one may come later.
                    thread::sleep(LOOK);
                    return Ok(Step::None);
                }
                read
            }
            Stream::Unix(socket) => lines.fill(socket),
            Stream::Tcp(socket) => lines.fill(socket),
        };
        match read {
            Ok(0) => Ok(Step::End),
            Ok(_) => Ok(Step::Some),
            Err(error) if is_nothing_yet(&error) => Ok(Step::None),
            Err(error) => Err(error),
        }
    }
}

fn is_nothing_yet(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut refusal = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(socket) => {
                socket.set_read_timeout(Some(WAIT))?;
                return Ok(socket);
            }
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

/// Whether a file of this name is another one by now, or was cut.
fn was_replaced(file: &File, path: &Path, position: u64) -> bool {
    match (std::fs::metadata(path), file.metadata()) {
        (Ok(named), Ok(open)) => named.ino() != open.ino() || named.len() < position,
        _ => false,
    }
}

/// Bytes that wait for the end of their line.
#[derive(Default)]
pub(super) struct Lines {
    waiting: Vec<u8>,
    /// Whether the line that is being read is too long to be one.
    is_overlong: bool,
}

impl Lines {
    fn fill(&mut self, source: &mut impl Read) -> io::Result<usize> {
        let mut bytes = [0; 8192];
        let read = source.read(&mut bytes)?;
        self.waiting.extend_from_slice(&bytes[..read]);
        Ok(read)
    }

    /// Hands over all whole lines, and keeps the rest.
    pub(super) fn each(&mut self, mut take: impl FnMut(&[u8])) {
        let mut start = 0;
        while let Some(length) = self.waiting[start..].iter().position(|byte| *byte == b'\n') {
            let line = &self.waiting[start..start + length];
            // What is left of a line that was too long is not a line.
            take(if std::mem::take(&mut self.is_overlong) { b"(too long)" } else { line });
            start += length + 1;
        }
        self.waiting.drain(..start);
        if self.waiting.len() > LONGEST {
            self.waiting.clear();
            self.is_overlong = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_handed_over_whole() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let long = format!("{}\nlast\n", "9".repeat(20_000));
        for mut part in [&b"on"[..], b"e\ntwo\nth", b"ree\n", long.as_bytes()] {
            while lines.fill(&mut part).unwrap() > 0 {
                lines.each(|line| seen.push(String::from_utf8_lossy(line).into_owned()));
            }
        }
        assert_eq!(seen, ["one", "two", "three", "(too long)", "last"]);
        assert!(lines.waiting.is_empty());
    }
}
