//! Running the user's command: it is started but held back until it is watched, so that nothing it does is missed.
//!
//! What is started is this program, which stops itself and, once it may go on, becomes the command: the number of the
//! process stays the same. Signals that end this program are passed on, and then waited for: the command decides.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use jouletree_model::survived;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};

use crate::notice::notice;
use crate::signals::{self, Listener};

/// The hidden verb by which this program starts a command.
pub const VERB: &str = "launch";

/// Shells say so when there is no such command.
const NOT_FOUND: u8 = 127;

/// Variables that are added to a command's environment.
pub type Environment = BTreeMap<&'static str, OsString>;

/// A command of the user's that was started.
pub struct Launched {
    child: Child,
    signals: Listener,
    is_held: bool,
}

impl Launched {
    /// Starts a command that does nothing until [`Launched::go`], with these variables added to its environment.
    pub fn hold(command: &[OsString], environment: &Environment) -> Result<Launched> {
        Launched::start(command, environment, Stdio::inherit(), Stdio::inherit)
    }

    /// The same with nothing to read: the keys of the terminal belong to another program.
    pub fn hold_apart(command: &[OsString], output: impl Fn() -> Stdio) -> Result<Launched> {
        Launched::start(command, &Environment::new(), Stdio::null(), output)
    }

    fn start(
        command: &[OsString],
        environment: &Environment,
        input: Stdio,
        output: impl Fn() -> Stdio,
    ) -> Result<Launched> {
        let Some(program) = command.first() else { bail!("there is no command; give one after `--`") };
        check(program)?;
        let this = env::current_exe().context("cannot find the file of this program")?;
        let signals = signals::listen()?;
        let mut starter = Command::new(this);
        starter.arg(VERB).arg("--").args(command).envs(environment).stdin(input).stdout(output()).stderr(output());
        let child = starter.spawn().with_context(|| format!("cannot start `{}`", program.display()))?;
        let launched = Launched { child, signals, is_held: true };
        // It stops itself, or has ended because it could not; either is seen.
        let seen = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(launched.process()?), seen).context("cannot wait for the command")?;
        Ok(launched)
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it run.
    pub fn go(&mut self) -> Result<()> {
        self.is_held = false;
        kill_process(self.process()?, Signal::CONT).context("cannot let the command run")
    }

    /// How it ended, if it has; passes signals on meanwhile.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let signals: Vec<Signal> = self.signals.try_iter().collect();
        for signal in signals {
            // One that has just ended needs none.
            let _ = kill_process(self.process()?, signal);
        }
        self.child.try_wait().context("cannot wait for the command")
    }

    /// Does something as soon as it ends, on another thread.
    pub fn when_ended(&self, then: impl FnOnce() + Send + 'static) -> Result<()> {
        let process = self.process()?;
        thread::Builder::new().name("waiter".to_owned()).spawn(move || {
            // An error means that it has ended and was already waited for.
            let _ = waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            then();
        })?;
        Ok(())
    }

    fn process(&self) -> Result<Pid> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        pid.context("the system gave the command no number")
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        // On early failure the held child is killed; a running command is left to the user.
        if self.is_held {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The other side: stops, and then becomes the command. Returns only if that fails.
pub fn become_command(command: &[OsString]) -> u8 {
    let Some((program, arguments)) = command.split_first() else { return NOT_FOUND };
    if let Err(error) = kill_process(getpid(), Signal::STOP) {
        notice(format_args!("error: cannot wait for the meters: {error}"));
        return 1;
    }
    let error = Command::new(program).args(arguments).exec();
    notice(format_args!("error: cannot run `{}`: {error}", program.display()));
    NOT_FOUND
}

/// What a shell would say of how a command ended.
pub fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Does something with a command that has ended; a defect of this program is an error like others, and leaves the command
/// its exit status.
pub fn attempted(work: impl FnOnce() -> Result<()>) -> Result<()> {
    survived(work)
        .unwrap_or_else(|| Err(anyhow!("jouletree failed before the recording was finished; please report it")))
}

/// The exit code of a program that ran a command: the command's own, also where its recording failed, unless `strict`.
/// Without a command a failure is an error.
pub fn passed_on(status: Option<ExitStatus>, done: Result<()>, strict: bool) -> Result<ExitCode> {
    let code = status.map_or(0, code);
    match done {
        Err(error) if status.is_none() || (strict && code == 0) => Err(error),
        Err(error) => {
            notice(format_args!("warning: {error:#}"));
            Ok(ExitCode::from(code))
        }
        Ok(()) => Ok(ExitCode::from(code)),
    }
}

/// Whether there is such a program, so that nothing is recorded of one that there is not.
fn check(program: &OsStr) -> Result<()> {
    let name = program.display();
    let path = Path::new(program);
    if program.as_encoded_bytes().contains(&b'/') {
        return match path.metadata() {
            Ok(data) if data.is_dir() => bail!("`{name}` is a folder, not a program"),
            Ok(data) if !is_program(&data) => {
                bail!("`{name}` is not executable; make it so with chmod +x, or name the program that runs it")
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("there is no program `{name}`; check its path")
            }
            Err(error) => Err(error).with_context(|| format!("cannot look at the program `{name}`")),
        };
    }
    let places = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&places).any(|place| place.join(path).metadata().is_ok_and(|data| is_program(&data))) {
        true => Ok(()),
        false => bail!("there is no program `{name}`; check its name, or give its path"),
    }
}

fn is_program(data: &Metadata) -> bool {
    data.is_file() && data.permissions().mode() & 0o111 != 0
}
