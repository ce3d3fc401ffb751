//! What GPUs are doing, asked on a thread of its own: a driver answers when it likes.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use jouletree_host::{Now, Roots};
use jouletree_model::sampling::{GpuSample, Mono};

use crate::nvml::{self, Gpu};

/// The time between two questions.
const BETWEEN: Duration = Duration::from_millis(150);
/// So much waits for a session at most.
const MOST_WAITING: usize = 4096;

/// Asks all GPUs of NVIDIA what they do, until it is dropped.
pub(super) struct GpuLog {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// By session: its processes, and what was not taken yet.
    sessions: HashMap<u64, (HashSet<u32>, Vec<GpuSample>)>,
    has_gpus: bool,
}

impl GpuLog {
    pub fn start(roots: &Roots) -> GpuLog {
        let state = Arc::new(Mutex::new(State { has_gpus: true, ..State::default() }));
        let (theirs, roots) = (Arc::downgrade(&state), roots.clone());
        // Without a thread there is no log of GPUs; their energy is metered all the same.
        let _ = thread::Builder::new().name("gpu-log".to_owned()).spawn(move || ask(&roots, &theirs));
        GpuLog { state }
    }

    /// What is new for a session, and the processes that it watches from now on.
    pub fn take(&self, session: u64, processes: Option<impl Iterator<Item = u32>>) -> Vec<GpuSample> {
        let mut state = lock(&self.state);
        if !state.has_gpus {
            return Vec::new();
        }
        let (watched, new) = state.sessions.entry(session).or_default();
        watched.clear();
        watched.extend(processes.into_iter().flatten());
        std::mem::take(new)
    }

    /// A session has ended.
    pub fn forget(&self, session: u64) {
        lock(&self.state).sessions.remove(&session);
    }
}

fn ask(roots: &Roots, state: &Weak<Mutex<State>>) {
    let gpus = nvml::gpus(roots).unwrap_or_default();
    while let Some(state) = state.upgrade() {
        if gpus.is_empty() {
            lock(&state).has_gpus = false;
            return;
        }
        let trees: Vec<(u64, HashSet<u32>)> =
            lock(&state).sessions.iter().map(|(id, (processes, _))| (*id, processes.clone())).collect();
        for gpu in &gpus {
            note(gpu, &trees, &state);
        }
        drop(state);
        thread::sleep(BETWEEN);
    }
}

fn note(gpu: &Gpu, trees: &[(u64, HashSet<u32>)], state: &Mutex<State>) {
    // A GPU that does not answer has no line; its sensor reports the loss.
    let Ok(used) = gpu.use_now() else { return };
    let at = Mono::now();
    for (session, processes) in trees {
        let share = if processes.is_empty() { None } else { gpu.share_of(processes).ok().flatten() };
        let sample = GpuSample { at, gpu: gpu.index(), used, share };
        let mut state = lock(state);
        if let Some((_, new)) = state.sessions.get_mut(session).filter(|(_, new)| new.len() < MOST_WAITING) {
            new.push(sample);
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
