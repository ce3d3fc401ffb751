//! `jouletree record`: the power of a command, of a process or of the machine, in a run folder.
//!
//! Nothing that goes wrong with recording harms the command: it runs to its end, and its exit status is passed on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use jouletree_meter::station::{Feed, Next, Watch};
use jouletree_run::{JournalWriter, RecordingHeader, RunFolder};

use crate::cli::RecordArgs;
use crate::launch::{self, Environment, Launched};
use crate::reader::Granted;
use crate::windows::{self, Windows};
use crate::{print_warnings, recorded, signals};

/// How long a batch is waited for before the command is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long the last batches may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// Runs the command.
pub fn run(arguments: &RecordArgs) -> Result<ExitCode> {
    let output = arguments.output.clone().unwrap_or_else(|| default_output(arguments));
    let reader = arguments.reader.open()?;
    // A program that cannot ask is recorded all the same.
    let socket = windows::Socket::make().map_err(|error| eprintln!("warning: there are no windows: {error}")).ok();
    let environment = socket.iter().map(|socket| (windows::SOCKET, socket.path().into())).collect();
    let mut subject = Subject::start(arguments, &environment)?;
    let watch = Watch { pid: subject.pid(), period: arguments.period, grid: None };
    let Granted { feed, period, why_longer } = reader.watch(watch)?;
    if let Some(why) = why_longer {
        eprintln!("warning: meters are read every {period}: {why}");
    }
    let command = arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let header = RecordingHeader::new(&arguments.reader.roots(), command, subject.pid(), &feed.sensors());
    let header = header.with_period(period).with_share_source(feed.ending().share_source);
    let journal = JournalWriter::create(&output, &header)?;
    say(arguments, || format!("recording to {}", output.display()));
    subject.go()?;
    let windows = socket.and_then(|socket| Windows::at(socket, feed.as_ref(), period).ok());
    let mut recording = Recording { feed, journal, windows, trouble: None };
    let mut status = recording.follow(&mut subject, arguments.duration)?;
    let recorded = recording.finish(status).map(|run| tell(arguments, &run));
    // A command outlives a recording of limited duration.
    if status.is_none() {
        status = subject.outlive()?;
    }
    let code = status.map_or(0, launch::code);
    match recorded {
        // How the command failed matters more than how its recording did.
        Err(error) if code != 0 => {
            eprintln!("error: {error:#}");
            Ok(ExitCode::from(code))
        }
        recorded => recorded.map(|()| ExitCode::from(code)),
    }
}

/// What is recorded.
enum Subject {
    Command(Box<Launched>),
    /// A process that runs already, or none.
    Joined {
        pid: Option<u32>,
        signals: std::sync::mpsc::Receiver<rustix::process::Signal>,
    },
}

impl Subject {
    fn start(arguments: &RecordArgs, environment: &Environment) -> Result<Subject> {
        if arguments.command.is_empty() {
            return Ok(Subject::Joined { pid: arguments.pid, signals: signals::listen_to_all()? });
        }
        Ok(Subject::Command(Box::new(Launched::hold(&arguments.command, environment)?)))
    }

    fn pid(&self) -> Option<u32> {
        match self {
            Subject::Command(launched) => Some(launched.pid()),
            Subject::Joined { pid, .. } => *pid,
        }
    }

    fn go(&mut self) -> Result<()> {
        match self {
            Subject::Command(launched) => launched.go(),
            Subject::Joined { .. } => Ok(()),
        }
    }

    /// Whether it has ended, and how a command did.
    fn ended(&mut self, feed: &dyn Feed) -> Result<Option<Option<ExitStatus>>> {
        match self {
            Subject::Command(launched) => Ok(launched.ended()?.map(Some)),
            Subject::Joined { pid, signals } => {
                let is_over = pid.is_some() && feed.is_over();
                Ok((is_over || signals.try_recv().is_ok()).then_some(None))
            }
        }
    }

    /// Waits for a command to end, without recording it.
    fn outlive(&mut self) -> Result<Option<ExitStatus>> {
        let Subject::Command(launched) = self else { return Ok(None) };
        loop {
            if let Some(status) = launched.ended()? {
                return Ok(Some(status));
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// What is being recorded, and where to.
struct Recording {
    feed: Box<dyn Feed>,
    journal: JournalWriter,
    windows: Option<Windows>,
    /// Why nothing more is recorded.
    trouble: Option<anyhow::Error>,
}

impl Recording {
    /// Records until the subject ends, the time is over or recording fails.
    fn follow(&mut self, subject: &mut Subject, duration: Option<Duration>) -> Result<Option<ExitStatus>> {
        let begun = Instant::now();
        loop {
            if let Some(status) = subject.ended(self.feed.as_ref())? {
                return Ok(status);
            }
            if duration.is_some_and(|duration| begun.elapsed() >= duration) {
                return Ok(None);
            }
            if !self.take(LOOK) {
                let trouble = self.trouble.get_or_insert_with(|| anyhow!("the meters stopped before their time"));
                eprintln!("warning: recording ends here, the command goes on: {trouble:#}");
                return subject.outlive();
            }
        }
    }

    /// Takes a batch, if there is one in time; says whether there may be more.
    fn take(&mut self, wait: Duration) -> bool {
        if self.trouble.is_some() {
            return false;
        }
        let taken = match self.feed.next(wait) {
            Ok(Next::Batch(batch)) => {
                self.windows.iter().for_each(|windows| windows.take(&batch));
                self.journal.append(&batch).map(|()| true).map_err(Into::into)
            }
            Ok(Next::NothingYet) => Ok(true),
            Ok(Next::Ended) => Ok(false),
            Err(error) => Err(error.into()),
        };
        taken.unwrap_or_else(|error| {
            self.windows = None;
            self.trouble = Some(error);
            false
        })
    }

    /// Takes what is left and makes a run of it.
    fn finish(mut self, status: Option<ExitStatus>) -> Result<RunFolder> {
        self.feed.stop();
        let patience = Instant::now() + FAREWELL;
        while self.take(LOOK) {
            if Instant::now() >= patience {
                self.trouble = Some(anyhow!("the meters do not answer any more"));
                break;
            }
        }
        drop(self.windows);
        let run = self.journal.finish(&self.feed.ending(), status.map(Into::into))?;
        match self.trouble {
            Some(error) => Err(error.context(format!("the recording in {} is not whole", run.path().display()))),
            None => Ok(run),
        }
    }
}

/// Says what was recorded.
fn tell(arguments: &RecordArgs, run: &RunFolder) {
    if let (Some(recording), false) = (&run.manifest().recording, arguments.quiet) {
        eprint!("{}", recorded::report(recording));
        eprintln!("kept in {}", run.path().display());
    }
    print_warnings(&recorded::warnings(run));
}

fn say(arguments: &RecordArgs, text: impl FnOnce() -> String) {
    if !arguments.quiet {
        eprintln!("jouletree: {}", text());
    }
}

/// A folder of its own for each recording.
fn default_output(arguments: &RecordArgs) -> PathBuf {
    let program: Option<&OsString> = arguments.command.first();
    let name = program.and_then(|program| Path::new(program).file_stem()).map_or_else(
        || arguments.pid.map_or_else(|| "machine".to_owned(), |pid| format!("process-{pid}")),
        |stem| stem.to_string_lossy().into_owned(),
    );
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    PathBuf::from(format!("jouletree-{name}-{now}"))
}
