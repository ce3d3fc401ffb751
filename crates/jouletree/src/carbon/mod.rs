//! Grams, litres and money: what the energy of a run stands for, with the source of every figure.

mod amounts;
mod args;
mod cost;
mod emissions;
mod memory;
pub mod of_run;
mod processor;
mod side;
mod view;

pub use amounts::{grams, kilowatt_hours, litres, significant};
pub use args::{CarbonArgs, WHERE, emissions_csv};
pub use cost::cost;
pub use emissions::{EmissionsArgs, run as run_emissions, written as written_row};
pub use processor::model_settings;
pub use side::write as write_side_file;
pub use view::{CarbonCommand, EXAMPLES, run};
