//! Grams, litres and money: the impact of the energy of a run, with the source of every figure.

mod args;
mod emissions;
mod view;

pub use args::{CarbonArgs, WHERE};
pub use emissions::{EmissionsArgs, run as run_emissions};
pub use jouletree_carbon::amounts::{grams, kilowatt_hours, litres, significant};
pub use jouletree_report::carbon::{cost, of_run};
pub use view::{CarbonCommand, EXAMPLES, run};
