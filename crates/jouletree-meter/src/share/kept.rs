//! Small files of the kernel that hold a line of text: opened once, read by one system call into a buffer that is kept.

use std::fmt::Write as _;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use jouletree_host::number;
use rustix::fs::{CWD, Mode, OFlags, RawDir, SeekFrom, openat, seek};
use rustix::io::{Errno, pread, retry_on_intr};
use rustix::path::Arg;

/// An open file of text. A file of a process that is gone says so for ever, even when another process has its number.
#[derive(Debug)]
pub(crate) struct KeptFile {
    file: OwnedFd,
}

impl KeptFile {
    /// Opens it; never waits, whatever lies there.
    pub(crate) fn open(path: impl Arg) -> Result<KeptFile, Errno> {
        KeptFile::open_at(CWD, path)
    }

    /// Opens it by a path that begins at a directory.
    pub(crate) fn open_at(directory: impl AsFd, path: impl Arg) -> Result<KeptFile, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(KeptFile { file: openat(directory, path, flags, Mode::empty())? })
    }

    /// What it says now, as far as it fits.
    pub(crate) fn read<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
        let length = retry_on_intr(|| pread(&self.file, &mut *buffer, 0))?;
        Ok(buffer.get(..length).unwrap_or_default())
    }

    /// What it says now, all of it: the buffer grows to hold it.
    pub(crate) fn read_whole<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Errno> {
        let length = loop {
            let length = retry_on_intr(|| pread(&self.file, buffer.as_mut_slice(), 0))?;
            if length < buffer.len() {
                break length;
            }
            buffer.resize((buffer.len() * 2).max(4096), 0);
        };
        Ok(&buffer[..length])
    }
}

/// An open directory whose entries are numbers: processes, threads.
#[derive(Debug)]
pub(crate) struct NumberedDirectory {
    directory: OwnedFd,
}

impl NumberedDirectory {
    pub(crate) fn open(path: impl Arg) -> Result<NumberedDirectory, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        Ok(NumberedDirectory { directory: openat(CWD, path, flags, Mode::empty())? })
    }

    /// Adds its numbers to `into`; other names are passed over. Allocates only when there is no room in `into`.
    pub(crate) fn numbers(&self, into: &mut Vec<u32>) -> Result<(), Errno> {
        seek(&self.directory, SeekFrom::Start(0))?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(&self.directory, &mut buffer);
        while let Some(entry) = entries.next() {
            into.extend(number::<u32>(entry?.file_name().to_bytes()));
        }
        Ok(())
    }

    /// A file inside the directory of a number.
    pub(crate) fn file(&self, number: u32, name: &str) -> Result<KeptFile, Errno> {
        let mut path = ShortPath::default();
        write!(path, "{number}/{name}").map_err(|_| Errno::NAMETOOLONG)?;
        KeptFile::open_at(&self.directory, path.as_str())
    }
}

/// A path that is put together on the stack.
#[derive(Default)]
struct ShortPath {
    text: [u8; 32],
    length: usize,
}

impl ShortPath {
    fn as_str(&self) -> &str {
        std::str::from_utf8(self.text.get(..self.length).unwrap_or_default()).unwrap_or_default()
    }
}

impl std::fmt::Write for ShortPath {
    fn write_str(&mut self, more: &str) -> std::fmt::Result {
        let end = self.length + more.len();
        self.text.get_mut(self.length..end).ok_or(std::fmt::Error)?.copy_from_slice(more.as_bytes());
        self.length = end;
        Ok(())
    }
}
