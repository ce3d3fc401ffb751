//! A progress bar for large inputs: on standard error, and only on a terminal.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use jouletree_trace::Progress;

/// Inputs smaller than this are read before anybody wonders.
const LARGE: u64 = 50_000_000;

/// A bar that follows the reading of some files until it is dropped.
pub struct ReadingBar {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ReadingBar {
    /// A bar for these files, or nothing where it would not help.
    pub fn over<'a>(files: impl Iterator<Item = &'a Path>, progress: Vec<Progress>) -> Option<ReadingBar> {
        let total: u64 = files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
        if total < LARGE || !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::new(total);
        if let Ok(style) =
            ProgressStyle::with_template("reading {bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
        {
            bar.set_style(style);
        }
        let done = Arc::new(AtomicBool::new(false));
        let stop = done.clone();
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                bar.set_position(progress.iter().map(Progress::bytes).sum());
                std::thread::sleep(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        });
        Some(ReadingBar { done, thread: Some(thread) })
    }
}

impl Drop for ReadingBar {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A bar that failed to draw is no reason to fail.
            let _ = thread.join();
        }
    }
}

/// A bar that counts pieces of work, on a terminal; elsewhere nothing is shown.
pub fn counted(total: u64, verb: &str) -> ProgressBar {
    if total == 0 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total);
    let template = format!("{verb} {{bar:40}} {{pos}} of {{len}}, {{eta}} left: {{wide_msg}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}
