//! Words that several sensors need when they say what would help.
//!
//! A remedy is a sentence; its lines that begin with four spaces are commands or the content of files, to be copied as
//! they are.

use std::io;

/// All that this program is ever in need of, in one command: `setcap` forgets what was given before.
pub(crate) const SETCAP: &str =
    "sudo setcap cap_dac_read_search,cap_perfmon,cap_sys_nice+ep \"$(command -v jouletree)\"";

pub(crate) const MORE_FILES: &str = "raise the limit of open files:\n    ulimit -n 65536";

/// Whether the system, or this process, has too many files open.
pub(crate) fn too_many_files(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE].iter().any(|limit| error.raw_os_error() == Some(limit.raw_os_error()))
}

/// Whether a processor, by the text of `/proc/cpuinfo`, is that of a virtual machine.
pub(crate) fn is_guest(processor: &str) -> bool {
    processor.lines().any(|line| line.starts_with("flags") && line.split(' ').any(|flag| flag == "hypervisor"))
}
