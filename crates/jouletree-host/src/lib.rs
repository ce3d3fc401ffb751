//! This machine: its clocks, where its files are, files that are written whole, and when its processes began.
//!
//! The little that reading a run folder and reading sensors have in common; it knows neither.

mod clock;
mod process;
mod roots;
mod throttle;
pub mod whole;

pub use clock::{Now, process_time};
pub use process::{ProcessLine, began, is_gone, number};
pub use roots::Roots;
pub use throttle::Throttle;
