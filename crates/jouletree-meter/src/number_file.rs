//! Files of the kernel that hold one number: opened once, read by one system call, parsed on the stack.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, pread, retry_on_intr};

use crate::ReadError;

/// Room for the largest count with its sign and line end, and for fixed-width files that are padded.
const ROOM: usize = 32;

/// An open file that holds one number.
#[derive(Debug)]
pub(crate) struct NumberFile {
    file: OwnedFd,
}

impl NumberFile {
    /// Opens it; never waits, whatever lies at the path.
    pub(crate) fn open(path: &Path) -> io::Result<NumberFile> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(NumberFile { file: openat(CWD, path, flags, Mode::empty())? })
    }

    /// What it says now.
    #[inline]
    pub(crate) fn read(&self) -> Result<u64, ReadError> {
        let mut buffer = [0; ROOM];
        let text = self.text(&mut buffer)?;
        count(text).ok_or_else(|| garbage(text))
    }

    /// What it says now, where a number below zero is noise around it.
    #[inline]
    pub(crate) fn read_noisy(&self) -> Result<u64, ReadError> {
        let mut buffer = [0; ROOM];
        let text = self.text(&mut buffer)?;
        match text.strip_prefix(b"-") {
            Some(rest) => count(rest).map(|_| 0),
            None => count(text),
        }
        .ok_or_else(|| garbage(text))
    }

    fn text<'b>(&self, buffer: &'b mut [u8; ROOM]) -> Result<&'b [u8], ReadError> {
        let length = retry_on_intr(|| pread(&self.file, &mut buffer[..], 0)).map_err(failure)?;
        Ok(buffer.get(..length).unwrap_or_default())
    }
}

/// A number in decimal, with nothing but blanks and padding after it.
fn count(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits)?;
    if number.is_empty() || !rest.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return None;
    }
    number.iter().try_fold(0_u64, |value, byte| value.checked_mul(10)?.checked_add(u64::from(byte - b'0')))
}

#[cold]
fn garbage(text: &[u8]) -> ReadError {
    ReadError::Garbage(text.trim_ascii().escape_ascii().to_string())
}

#[cold]
fn failure(error: Errno) -> ReadError {
    let error_text = || io::Error::from(error).to_string();
    match error {
        // A module that is unloaded, a card that is unplugged, a file system that went away.
        Errno::NODEV | Errno::NXIO | Errno::NOENT | Errno::STALE | Errno::SRCH => ReadError::Gone(error_text()),
        _ => ReadError::System(error.into()),
    }
}

/// The text of a small file of the kernel, without its line end; `None` when there is none that can be read.
pub(crate) fn line(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_kernel_and_others_write_them() {
        for (text, number) in [
            ("0\n", Some(0)),
            ("262143328850\n", Some(262_143_328_850)),
            ("18446744073709551615\n", Some(u64::MAX)),
            ("42\n\n\n\n", Some(42)),
            ("42\0\0", Some(42)),
            ("18446744073709551616\n", None),
            ("", None),
            ("\n", None),
            ("-1\n", None),
            ("12 13\n", None),
            ("0x10\n", None),
            ("99999999999999999999999999999999", None),
        ] {
            assert_eq!(count(text.as_bytes()), number, "{text:?}");
        }
    }

    #[test]
    fn one_open_file_is_read_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("energy_uj");
        std::fs::write(&path, "123\n").unwrap();
        let file = NumberFile::open(&path).unwrap();
        assert_eq!(file.read().unwrap(), 123);
        std::fs::write(&path, "124\n").unwrap();
        assert_eq!(file.read().unwrap(), 124);
        std::fs::write(&path, "").unwrap();
        assert!(matches!(file.read(), Err(ReadError::Garbage(said)) if said.is_empty()));
        std::fs::write(&path, "what\x07?\n").unwrap();
        assert!(matches!(file.read(), Err(ReadError::Garbage(said)) if said == "what\\x07?"));
        std::fs::write(&path, "-3\n").unwrap();
        assert_eq!(file.read_noisy().unwrap(), 0);
        assert!(file.read().is_err());
    }

    #[test]
    fn failures_of_the_system_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let error = NumberFile::open(folder.path()).unwrap().read().unwrap_err();
        assert!(matches!(&error, ReadError::System(why) if why.kind() == io::ErrorKind::IsADirectory), "{error}");
        for (error, gone) in [
            (Errno::NODEV, true),
            (Errno::NXIO, true),
            (Errno::NOENT, true),
            (Errno::ACCESS, false),
            (Errno::PERM, false),
            (Errno::IO, false),
            (Errno::NODATA, false),
        ] {
            assert_eq!(matches!(failure(error), ReadError::Gone(_)), gone, "{error}");
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_does_not_hang() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(NumberFile::open(&path).unwrap().read().is_err());
    }
}
