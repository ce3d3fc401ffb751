//! The command that is watched. Its output would spoil the screen, so it goes to a file, which is named at the end.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::launch::{self, Launched};
use crate::notice::notice;

/// How often a command is looked at that is not watched any more.
const UNWATCHED_LOOK: Duration = Duration::from_millis(20);
/// So many names are tried for the file.
const NAMES: u32 = 100;

/// A command and its output.
pub struct Command {
    launched: Launched,
    words: String,
    log: PathBuf,
}

impl Command {
    /// Starts a command that does nothing until [`Command::go`].
    pub fn hold(words: &[OsString]) -> Result<Command> {
        let (log, file) = log_in(&std::env::temp_dir())?;
        // One that cannot be shared is given up rather than mixed into the screen.
        let output = || file.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
        let launched = Launched::hold_apart(words, output).inspect_err(|_| {
            let _ = fs::remove_file(&log);
        })?;
        let shown: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let shown: String =
            shown.join(" ").chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        Ok(Command { launched, words: shown, log })
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.launched.pid()
    }

    /// The command as it was given.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Lets it run.
    pub fn go(&mut self) -> Result<()> {
        self.launched.go()
    }

    /// Interrupts it, as Ctrl-C would if the terminal were no screen.
    pub fn interrupt(&self) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        // One that has just ended needs no signal.
        let _ = pid.map(|pid| kill_process(pid, Signal::INT));
    }

    /// What to exit with, when it has ended.
    pub fn ended(&mut self) -> Result<Option<u8>> {
        Ok(self.launched.ended()?.map(launch::code))
    }

    /// Waits for its end without watching it; what to exit with.
    pub fn outlive(&mut self) -> Result<u8> {
        loop {
            if let Some(code) = self.ended()? {
                return Ok(code);
            }
            thread::sleep(UNWATCHED_LOOK);
        }
    }

    /// Says where its output is; where there is none, nothing is left behind.
    pub fn tell_where_its_output_is(self) {
        if fs::metadata(&self.log).is_ok_and(|data| data.len() == 0) {
            let _ = fs::remove_file(&self.log);
        } else {
            notice(format_args!("the output of the command is in {}", self.log.display()));
        }
    }
}

/// A new file that only its owner can read.
fn log_in(folder: &Path) -> Result<(PathBuf, File)> {
    let mut last = None;
    for number in 0..NAMES {
        let path = folder.join(format!("jouletree-top-{}-{number}.log", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| std::io::ErrorKind::AlreadyExists.into());
    Err(error).with_context(|| {
        format!(
            "cannot keep the command's output in {}; set TMPDIR to a folder that can be written",
            folder.display()
        )
    })
}
