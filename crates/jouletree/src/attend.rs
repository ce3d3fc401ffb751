//! `jouletree attend`: meters a process that runs already and answers it about windows of its time, without keeping
//! anything. jouletree's Python package starts it for programs that were not started by jouletree.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use jouletree_meter::station::{Feed, Next, Watch};
use jouletree_model::Nanos;
use jouletree_model::sampling::Batch;

use crate::reader::Granted;
use crate::reader_args::ReaderArgs;
use crate::signals;
use crate::windows::Windows;

/// How long a batch is waited for before the process is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How long shares are waited for before windows are answered without.
const FIRST_BATCH_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Args)]
pub struct AttendArgs {
    /// The process that is metered with its descendants
    #[arg(long, value_name = "PID")]
    pid: u32,
    /// Milliseconds from one reading of the meters to the next, from 1 to 1000
    #[arg(long, value_name = "MS", default_value = "4", value_parser = crate::cli::period)]
    period: Nanos,
    #[command(flatten)]
    reader: ReaderArgs,
}

/// Attends until the process has ended, all clients are gone, or it is asked to end.
pub fn run(arguments: &AttendArgs) -> Result<ExitCode> {
    let signals = signals::listen_to_all()?;
    let reader = arguments.reader.open()?;
    let watch = Watch { pid: Some(arguments.pid), period: arguments.period, grid: None };
    let Granted { mut feed, period, .. } = reader.watch(watch)?;
    let before = until_shares(feed.as_mut())?;
    let windows = Windows::at_standard_streams(feed.as_ref(), period).context("the system gives no thread")?;
    before.iter().for_each(|batch| windows.take(batch));
    while !feed.is_over() && !windows.are_over() && signals.try_recv().is_err() {
        match feed.next(LOOK)? {
            Next::Batch(batch) => windows.take(&batch),
            Next::NothingYet => {}
            Next::Ended => break,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits until it is known what the process does: the first window would otherwise be of an unknown share.
fn until_shares(feed: &mut dyn Feed) -> Result<Vec<Batch>> {
    let (mut batches, deadline) = (Vec::new(), Instant::now() + FIRST_BATCH_TIMEOUT);
    while Instant::now() < deadline && !batches.iter().any(|batch: &Batch| !batch.shares.is_empty()) {
        if let Next::Batch(batch) = feed.next(LOOK)? {
            batches.push(batch);
        }
    }
    Ok(batches)
}
