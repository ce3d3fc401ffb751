//! From joules to grams of CO2, litres of water and money, with the source of every figure.
//!
//! The way of the data: [`settings`] say where and how, [`Location::find`] checks that, [`chain`] finds the carbon intensity
//! of the electricity there, and [`Impact::of`] applies it to an energy. Tables that ship with jouletree are in `data/`,
//! each with its year and origin. What other trackers write is in [`formats`], and their models of processors and memory,
//! for comparison, in [`models`].

pub mod amounts;
pub mod chain;
pub mod compare;
mod context;
pub mod electricity_maps;
mod embodied;
mod equivalents;
pub mod estimate;
pub mod formats;
mod hardware;
mod impact;
mod intensity;
mod location;
pub mod memory;
pub mod models;
pub mod settings;
mod suggest;
pub mod tables;
mod tariff;
mod training;

pub use context::{Context, ContextError, EmbodiedWanted};
pub use embodied::{Embodied, SECONDS_PER_YEAR, sci};
pub use equivalents::{Equivalents, Factors};
pub use hardware::{Hardware, HardwareError, accelerator};
pub use impact::{Facility, FacilityError, Impact};
pub use intensity::{Intensity, Origin};
pub use location::{Cloud, Location, PlaceError};
pub use tariff::{Tariff, TariffError};
pub use training::{Epoch, Forecast, forecast, forecast_intensity};
