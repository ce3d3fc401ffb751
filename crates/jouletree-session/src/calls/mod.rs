//! Calls of library functions with their energies, from runs and from the published data of FECoM.

mod measured;
pub mod of_fecom;
pub mod of_run;
pub mod rows;
pub mod sites;

pub use measured::{Drawn, Measured, MeasuredCall, RunWhole, WindowRule};
