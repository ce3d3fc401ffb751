//! Playing a script: what a call answers now, and how long it takes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nvml_wrapper_sys::bindings as nvml;
use rustix::time::{ClockId, clock_gettime};

use crate::{Gpu, Script};

/// NVML's number of an error.
pub(crate) type Code = nvml::nvmlReturn_t;

/// A script that is being played.
pub(crate) struct Player {
    script: Script,
    start: i64,
}

/// The script that is played and how often it was begun: `nvmlInit` and `nvmlShutdown` count.
static PLAYING: Mutex<Option<(Arc<Player>, usize)>> = Mutex::new(None);

/// Begins, or begins once more.
pub(crate) fn init() -> Result<(), Code> {
    let mut playing = PLAYING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, count)) = playing.as_mut() {
        *count += 1;
        return Ok(());
    }
    let script = load().map_err(|problem| {
        eprintln!("fake-nvml: {problem}");
        nvml::nvmlReturn_enum_NVML_ERROR_UNKNOWN
    })?;
    if let Some(error) = script.init_error {
        return Err(error);
    }
    let start = script.start_mono_ns.unwrap_or_else(monotonic);
    *playing = Some((Arc::new(Player { script, start }), 1));
    Ok(())
}

/// Ends, when it is the last.
pub(crate) fn shutdown() -> Result<(), Code> {
    let mut playing = PLAYING.lock().unwrap_or_else(PoisonError::into_inner);
    match playing.take() {
        Some((player, count)) if count > 1 => *playing = Some((player, count - 1)),
        Some(_) => {}
        None => return Err(nvml::nvmlReturn_enum_NVML_ERROR_UNINITIALIZED),
    }
    Ok(())
}

/// The script that is played.
pub(crate) fn player() -> Result<Arc<Player>, Code> {
    let playing = PLAYING.lock().unwrap_or_else(PoisonError::into_inner);
    let player = playing.as_ref().map(|(player, _)| player.clone());
    player.ok_or(nvml::nvmlReturn_enum_NVML_ERROR_UNINITIALIZED)
}

impl Player {
    /// How many GPUs there are now.
    pub(crate) fn count(&self) -> usize {
        let now = self.now();
        self.script.gpu.iter().take_while(|gpu| gpu.gone_at_s.is_none_or(|gone| now < gone)).count()
    }

    /// A GPU and the time; waits as long as the GPU hangs, and says when it is lost.
    pub(crate) fn gpu(&self, index: usize) -> Result<(&Gpu, f64), Code> {
        let gpu = self.script.gpu.get(index).ok_or(nvml::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT)?;
        while let Some(wait) = gpu.hang.iter().find_map(|hang| {
            let end = hang.for_ms.map_or(f64::INFINITY, |length| hang.at_s + length / 1e3);
            let now = self.now();
            (now >= hang.at_s && now < end).then_some(end - now)
        }) {
            std::thread::sleep(Duration::from_secs_f64(wait.clamp(0.0, 3600.0)));
        }
        let now = self.now();
        if index >= self.count() {
            return Err(nvml::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT);
        }
        if gpu.lost_at_s.is_some_and(|lost| now >= lost) {
            return Err(nvml::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST);
        }
        Ok((gpu, now))
    }

    fn now(&self) -> f64 {
        (monotonic() - self.start) as f64 * 1e-9
    }
}

fn monotonic() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The script that `FAKE_NVML_SCRIPT` names, else the one beside this library.
fn load() -> Result<Script, String> {
    let path = std::env::var_os("FAKE_NVML_SCRIPT").map(PathBuf::from).or_else(beside_this_library);
    let path = path.ok_or("no script: set FAKE_NVML_SCRIPT to a file")?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// `<this library>.toml`; the system's table of mapped files says where this library is.
fn beside_this_library() -> Option<PathBuf> {
    let here = beside_this_library as fn() -> Option<PathBuf> as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let bound = |text: &str| usize::from_str_radix(text, 16).ok();
        range.is_some_and(|(start, end)| bound(start) <= Some(here) && Some(here) < bound(end))
    })?;
    let path = &line[line.find('/')?..];
    Some(PathBuf::from(format!("{path}.toml")))
}
