//! Where the machine's files are: configuration, so that containers and tests can point elsewhere.

use std::path::PathBuf;

/// The places that sensors are looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// The system's device tree.
    pub sys: PathBuf,
    /// The processes.
    pub proc: PathBuf,
    /// NVIDIA's management library, when it is not where the loader finds it.
    pub nvml: Option<PathBuf>,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots { sys: "/sys".into(), proc: "/proc".into(), nvml: None }
    }
}
