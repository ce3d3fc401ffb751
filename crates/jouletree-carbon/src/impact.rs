//! The impact of an energy: the data centre around it, grams, litres. The computers' own energy is always kept apart.

use jouletree_model::{Grams, Joules};

use crate::Intensity;

/// The data centre around the computers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facility {
    /// All energy of the data centre for each joule of its computers (power usage effectiveness).
    pub pue: f64,
    /// Litres of water for each kilowatt-hour that the data centre uses (water usage effectiveness).
    pub wue: f64,
}

/// A data centre that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum FacilityError {
    /// A data centre uses what its computers use, and more.
    #[error("a PUE of {0} cannot be: a data centre uses at least what its IT equipment uses, so give 1 or more")]
    Pue(f64),
    /// Water is not made.
    #[error("a WUE of {0} litres per kilowatt-hour cannot be; give 0 or more")]
    Wue(f64),
}

impl Default for Facility {
    /// Computers on their own: nothing is known of what is around them.
    fn default() -> Facility {
        Facility { pue: 1.0, wue: 0.0 }
    }
}

impl Facility {
    /// One that can be.
    pub fn new(pue: f64, wue: f64) -> Result<Facility, FacilityError> {
        match (pue, wue) {
            _ if !(1.0..=100.0).contains(&pue) => Err(FacilityError::Pue(pue)),
            _ if !(0.0..=1e6).contains(&wue) => Err(FacilityError::Wue(wue)),
            _ => Ok(Facility { pue, wue }),
        }
    }
}

/// The impact of an energy.
#[derive(Debug, Clone, PartialEq)]
pub struct Impact {
    /// What the computers used.
    pub it_energy: Joules,
    /// What the data centre used for it.
    pub energy: Joules,
    /// CO2 equivalent; none where the intensity is not known.
    pub carbon: Option<Grams>,
    /// Litres of water.
    pub water_l: f64,
}

impl Impact {
    /// Of what computers used.
    pub fn of(it_energy: Joules, facility: Facility, intensity: Option<&Intensity>) -> Impact {
        let energy = Joules(it_energy.0 * facility.pue);
        let kilowatt_hours = energy.kilowatt_hours();
        Impact {
            it_energy,
            energy,
            carbon: intensity.map(|intensity| intensity.grams(kilowatt_hours)),
            water_l: facility.wue * kilowatt_hours.0,
        }
    }
}
