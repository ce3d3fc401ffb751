//! The life of a run and live sessions: meters are found and read, a program is launched and recorded, asks about windows
//! of its own time, and leaves traces that are gathered. Nothing here knows command lines or tables.

pub mod accounting;
pub mod cache;
pub mod called;
pub mod calls;
pub mod daemon_place;
pub mod diagnosis;
pub mod finish;
pub mod gather;
pub mod launch;
mod left_running;
pub mod machine_outputs;
pub mod meters;
pub mod noted;
mod notice;
pub mod outputs;
pub mod package;
pub mod private_folder;
pub mod reader;
pub mod recording;
pub mod signals;
pub mod timings;
pub mod top;
pub mod trusted;
pub mod unfollowed;
pub mod windows;
