//! Grams, litres and money: the impact of the energy of a run, with the source of every figure.

mod args;
mod emissions;
mod side;
mod view;

pub use args::{CarbonArgs, WHERE, emissions_csv};
pub use emissions::{EmissionsArgs, run as run_emissions, written as written_row};
pub use jouletree_carbon::amounts::{grams, kilowatt_hours, litres, significant};
pub use jouletree_report::carbon::{cost, of_run};
pub use side::write as write_side_file;
pub use view::{CarbonCommand, EXAMPLES, run};
