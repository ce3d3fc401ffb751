//! The life of a run and live sessions: a program is launched and watched, and asks about windows of its own time.
//! Nothing here knows command lines or tables.

pub mod cache;
pub mod private_folder;
pub mod trusted;
pub mod windows;
