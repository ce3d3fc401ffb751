//! What GPUs do at an instant, and which part of it belongs to a process tree.

use super::Mono;

/// A GPU at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuSample {
    /// When.
    pub at: Mono,
    /// The number of the GPU.
    pub gpu: u32,
    /// What it is doing.
    pub used: GpuUse,
    /// The part of it that belongs to the process tree, where that is known.
    pub share: Option<GpuShare>,
}

/// The use of a GPU at an instant; `None` where the driver does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GpuUse {
    /// The part of the last moments in which anything ran on it, from 0 to 1.
    pub busy: Option<f64>,
    /// The part of the last moments in which its memory was read or written, from 0 to 1.
    pub memory_busy: Option<f64>,
    /// Its memory that is in use, in bytes.
    pub memory_used: Option<u64>,
    /// All its memory, in bytes.
    pub memory_total: Option<u64>,
    /// The clock of its processors, in MHz.
    pub sm_clock: Option<u32>,
    /// The clock of its memory, in MHz.
    pub memory_clock: Option<u32>,
    /// Its temperature in degrees Celsius.
    pub temperature: Option<u32>,
}

/// What part of a GPU's activity belongs to some processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuShare {
    /// From 0 to 1.
    pub share: f64,
    /// How it is known.
    pub basis: ShareBasis,
}

/// How a [`GpuShare`] is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareBasis {
    /// No other process has work on the GPU.
    Alone,
    /// From the time that each process kept the GPU's processors busy, whatever it did with them: **low confidence**.
    /// A process that fills the GPU counts no more than one that uses a corner of it for as long.
    Utilisation,
}
