//! The power of GPUs as NVML shows it, read on a thread of its own: a driver may block.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jouletree_host::Roots;
use jouletree_meter::nvml;

use super::clock::now;
use crate::wire::smaragdine as wire;

/// The time between two readings: GPUs show a new power less often.
const BETWEEN: Duration = Duration::from_millis(10);

/// Reads the power of all GPUs while there is a [`PowerReader`], until it is dropped.
#[derive(Debug)]
pub(super) struct GpuPower {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    wanted_by: usize,
    is_over: bool,
    latest: Option<wire::NvmlSample>,
}

/// Has the power of GPUs read until it is dropped.
#[derive(Debug)]
pub(super) struct PowerReader {
    shared: Arc<Shared>,
    /// The time of the sample that was taken last.
    taken: u64,
}

impl GpuPower {
    /// Reads nothing yet.
    pub(super) fn start(roots: &Roots) -> GpuPower {
        let shared = Arc::new(Shared::default());
        let (theirs, roots) = (shared.clone(), roots.clone());
        // Without a thread there is no power of GPUs, and the rest is recorded all the same.
        let _ = thread::Builder::new().name("gpu-power".to_owned()).spawn(move || read(&roots, &theirs));
        GpuPower { shared }
    }

    /// From now on power is read for one more.
    pub(super) fn reader(&self) -> PowerReader {
        let mut state = self.shared.lock();
        state.wanted_by += 1;
        // Earlier readings belong to other recordings.
        let taken = now();
        drop(state);
        self.shared.news.notify_all();
        PowerReader { shared: self.shared.clone(), taken }
    }
}

impl Drop for GpuPower {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.news.notify_all();
    }
}

impl PowerReader {
    /// What was read since this was last asked, if anything.
    pub(super) fn take(&mut self) -> Option<wire::NvmlSample> {
        let latest = self.shared.lock().latest.clone().filter(|latest| latest.timestamp > self.taken)?;
        self.taken = latest.timestamp;
        Some(latest)
    }
}

impl Drop for PowerReader {
    fn drop(&mut self) {
        self.shared.lock().wanted_by -= 1;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a reader; `false` when there will be none.
    fn wait(&self) -> bool {
        let is_idle = |state: &mut State| state.wanted_by == 0 && !state.is_over;
        let state = self.news.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        !state.is_over
    }
}

fn read(roots: &Roots, shared: &Shared) {
    if !shared.wait() {
        return;
    }
    let gpus = nvml::gpus(roots).unwrap_or_default();
    let buses: Vec<String> = gpus.iter().map(|gpu| gpu.pci_bus().unwrap_or_default()).collect();
    while !gpus.is_empty() && shared.wait() {
        let timestamp = now();
        // A GPU that does not answer has no reading.
        let reading = gpus.iter().zip(&buses).filter_map(|(gpu, bus)| {
            let power = u32::try_from(gpu.power_milliwatts().ok()?).ok()?;
            Some(wire::NvmlReading { bus_id: bus.clone(), power_usage: Some(power), index: gpu.index() })
        });
        let sample = wire::NvmlSample { timestamp, reading: reading.collect() };
        if !sample.reading.is_empty() {
            shared.lock().latest = Some(sample);
        }
        thread::sleep(BETWEEN);
    }
}
