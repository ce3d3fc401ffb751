//! Recording: a subject is watched, and what is seen goes to the journal of a run folder, until it ends.
//!
//! Nothing that goes wrong with recording harms a command: it runs to its end, and its exit status is passed on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use jouletree_host::Roots;
use jouletree_live::Publisher;
use jouletree_meter::station::{Feed, Next, Watch};
use jouletree_model::sampling::Batch;
use jouletree_model::{Nanos, survived};
use jouletree_run::{JournalWriter, RecordingHeader, RunFolder};

use crate::launch::{Environment, Launched};
use crate::left_running;
use crate::notice::notice;
use crate::outputs::Outputs;
use crate::reader::{Granted, Reader};
use crate::signals::{self, Listener};
use crate::unfollowed::Unfollowed;
use crate::windows::{self, Windows};

/// How long a batch is waited for before the command is looked at. Batches come as often, and at once when it ends.
const LOOK: Duration = Duration::from_millis(100);
/// How often a command is looked at that is not recorded any more.
const UNRECORDED_LOOK: Duration = Duration::from_millis(20);
/// How long the last batches may take.
const LAST_BATCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The environment variable that names this command to the Python package.
const BINARY: &str = "JOULETREE_BINARY";

/// What is recorded.
pub enum Subject {
    /// A command, and where it can ask about windows of its time.
    Command(Box<Launched>, Option<windows::WindowSocket>),
    /// A process that runs already, or none.
    Joined {
        /// The process; `None` for the machine.
        pid: Option<u32>,
        /// What ends the recording.
        signals: Listener,
    },
}

impl Subject {
    /// A command, started and held back, with these variables in its environment.
    pub fn command(command: &[OsString], environment: &Environment) -> Result<Subject> {
        // A program that cannot ask is recorded all the same.
        let socket = windows::WindowSocket::make()
            .map_err(|error| notice(format_args!("warning: windows of this run are not measured: {error}")))
            .ok();
        let mut environment = environment.clone();
        // The Python package finds this command also where it is not on the path; the user's choice comes first.
        if std::env::var_os(BINARY).is_none_or(|named| named.is_empty()) {
            environment.extend(std::env::current_exe().ok().map(|this| (BINARY, this.into())));
        }
        environment.extend(socket.iter().map(|socket| (windows::SOCKET, socket.path().into())));
        Ok(Subject::Command(Box::new(Launched::hold(command, &environment)?), socket))
    }

    /// Notifies the command when the machine is stable, if it asks.
    pub fn judge_rest(&mut self, resting: windows::Resting) {
        if let Subject::Command(_, Some(socket)) = self {
            socket.judge_rest(resting);
        }
    }

    /// A process that runs already, or the machine alone.
    pub fn joined(pid: Option<u32>) -> Result<Subject> {
        Ok(Subject::Joined { pid, signals: signals::listen_to_all()? })
    }

    /// The process that is watched.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Subject::Command(launched, _) => Some(launched.pid()),
            Subject::Joined { pid, .. } => *pid,
        }
    }

    /// Lets a command run.
    pub fn go(&mut self) -> Result<()> {
        match self {
            Subject::Command(launched, _) => launched.go(),
            Subject::Joined { .. } => Ok(()),
        }
    }

    /// Where a command asks, before it is served.
    fn socket(&mut self) -> Option<windows::WindowSocket> {
        match self {
            Subject::Command(_, socket) => socket.take(),
            Subject::Joined { .. } => None,
        }
    }

    /// Whether it has ended, and how a command did.
    fn ended(&mut self, feed: &dyn Feed) -> Result<Option<Option<ExitStatus>>> {
        match self {
            Subject::Command(launched, _) => Ok(launched.ended()?.map(Some)),
            Subject::Joined { pid, signals } => {
                let is_over = pid.is_some() && feed.is_over();
                Ok((is_over || signals.try_recv().is_ok()).then_some(None))
            }
        }
    }

    /// Waits for a command to end, without recording it.
    pub fn outlive(&mut self) -> Result<Option<ExitStatus>> {
        let Subject::Command(launched, _) = self else { return Ok(None) };
        loop {
            if let Some(status) = launched.ended()? {
                return Ok(Some(status));
            }
            std::thread::sleep(UNRECORDED_LOOK);
        }
    }
}

/// What became of a recording.
pub struct FinishedRecording {
    /// The run.
    pub run: RunFolder,
    /// Why its recording ended before its subject did.
    trouble: Option<anyhow::Error>,
}

impl FinishedRecording {
    /// Fails with the reason when the recording is not whole.
    pub fn whole(self) -> Result<()> {
        let about = format!("the recording in {} is not whole", self.run.path().display());
        self.trouble.map_or(Ok(()), |trouble| Err(trouble.context(about)))
    }
}

/// The first batch of a feed.
fn first_batch(feed: &mut dyn Feed) -> Result<Batch> {
    let deadline = Instant::now() + LAST_BATCH_TIMEOUT;
    while Instant::now() < deadline {
        if let Next::Batch(batch) = feed.next(LOOK)? {
            return Ok(batch);
        }
    }
    bail!("the daemon sends nothing; try again later")
}

/// What is being recorded, and where to.
pub struct OngoingRecording {
    feed: Box<dyn Feed>,
    journal: JournalWriter,
    /// Answers the command while it runs.
    windows: Option<Windows>,
    /// Shows what is counted while it goes on.
    publisher: Option<Publisher>,
    /// The process of the command, and those of its tree that live; none where another namespace numbers them.
    command: Option<u32>,
    processes: Vec<u32>,
    is_numbered_alike: bool,
    proc: PathBuf,
    /// Looks for processes whose operations are not recorded.
    unfollowed: Option<Unfollowed>,
    /// Why nothing more is recorded.
    trouble: Option<anyhow::Error>,
}

impl OngoingRecording {
    /// Begins to watch a subject, to write down what is seen, in a new folder, and to show it.
    pub fn begin(
        reader: &Reader,
        roots: &Roots,
        subject: &mut Subject,
        period: Nanos,
        command: &[OsString],
        output: &Path,
        outputs: &Outputs,
    ) -> Result<OngoingRecording> {
        let watch = Watch { pid: subject.pid(), period, grid: None };
        let Granted { mut feed, period, why_longer } = reader.watch(watch)?;
        if let Some(why) = why_longer {
            notice(format_args!("warning: meters are read every {period}: {why}"));
        }
        let command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let header = RecordingHeader::new(roots, command, subject.pid(), &feed.sensors());
        let mut header = header.with_period(period).with_share_source(feed.ending().share_source);
        // Another machine has clocks of its own, which its first batch contains.
        let mut first = None;
        if let Some(name) = reader.remote_name() {
            let batch = first_batch(feed.as_mut())?;
            if let Some(anchor) = batch.anchors.first() {
                header = header.of_another(name, *anchor);
            }
            first = Some(batch);
        }
        let mut journal = JournalWriter::create(output, &header)?;
        let windows = subject.socket().and_then(|socket| Windows::at(socket, feed.as_ref(), period).ok());
        let mut publisher = outputs.begin(feed.as_ref(), period, subject.pid().is_some());
        if let Some(first) = first {
            publisher.iter_mut().for_each(|publisher| publisher.take(&first));
            journal.append(&first)?;
        }
        let command = matches!(subject, Subject::Command(..)).then(|| subject.pid()).flatten();
        Ok(OngoingRecording {
            feed,
            journal,
            windows,
            publisher,
            command,
            processes: Vec::new(),
            is_numbered_alike: false,
            proc: roots.proc.clone(),
            unfollowed: None,
            trouble: None,
        })
    }

    /// Has the processes of the command looked at.
    pub fn look_for(&mut self, unfollowed: Unfollowed) {
        self.unfollowed = Some(unfollowed);
    }

    /// Lets others read the run folder, if they may.
    pub fn share_if(&self, is_shared: bool) {
        if is_shared {
            shared(self.journal.path());
        }
    }

    /// Records until the subject ends, the time is over or recording fails.
    pub fn follow(&mut self, subject: &mut Subject, duration: Option<Duration>) -> Result<Option<ExitStatus>> {
        let begun = Instant::now();
        if let Subject::Command(launched, _) = subject {
            let early_flush = self.feed.early_flush();
            // Without this the end is seen a little later.
            let _ = launched.when_ended(move || early_flush.now());
        }
        loop {
            if let Some(status) = subject.ended(self.feed.as_ref())? {
                return Ok(status);
            }
            if duration.is_some_and(|duration| begun.elapsed() >= duration) {
                return Ok(None);
            }
            // The command is waited for, whatever happens here.
            if !survived(|| self.take(LOOK)).unwrap_or(false) {
                let trouble = self.trouble.get_or_insert_with(|| anyhow!("the meters stopped before their time"));
                notice(format_args!("warning: recording ends here, the command goes on: {trouble:#}"));
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
                self.publisher.iter_mut().for_each(|publisher| publisher.take(&batch));
                self.note(&batch.processes);
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

    /// Notes the processes of the command.
    fn note(&mut self, processes: &[u32]) {
        let Some(command) = self.command else { return };
        self.is_numbered_alike |= processes.contains(&command);
        if self.is_numbered_alike {
            processes.clone_into(&mut self.processes);
            self.unfollowed.iter_mut().for_each(|unfollowed| unfollowed.look(processes));
        }
    }

    /// Takes what is left and makes a run of it.
    pub fn finish(mut self, status: Option<ExitStatus>) -> Result<FinishedRecording> {
        self.feed.stop();
        let deadline = Instant::now() + LAST_BATCH_TIMEOUT;
        while self.take(LOOK) {
            if Instant::now() >= deadline {
                self.trouble = Some(anyhow!("the meters do not answer any more"));
                break;
            }
        }
        drop(self.windows);
        self.publisher.into_iter().for_each(Publisher::finish);
        let mut ending = self.feed.ending();
        if status.is_some() {
            ending.remarks.extend(left_running::described(&self.proc, &self.processes));
        }
        let trouble = self.trouble.map(|error| format!("recording ended before its subject did: {error:#}"));
        ending.remarks.extend(trouble.clone());
        let run = self.journal.finish(&ending, status.map(Into::into))?;
        Ok(FinishedRecording { run, trouble: trouble.map(anyhow::Error::msg) })
    }
}

/// Lets others read a run folder. Where that fails, it stays its owner's.
pub fn shared(path: &Path) {
    if let Err(error) = jouletree_run::share(path) {
        notice(format_args!("warning: {} is not shared: {error}", path.display()));
    }
}

/// A folder of its own for each recording, named after what is recorded and the time.
pub fn default_output(command: &[OsString], pid: Option<u32>) -> PathBuf {
    let name = command.first().and_then(|program| Path::new(program).file_stem()).map_or_else(
        || pid.map_or_else(|| "machine".to_owned(), |pid| format!("process-{pid}")),
        |stem| stem.to_string_lossy().into_owned(),
    );
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    PathBuf::from(format!("jouletree-{name}-{now}"))
}
