//! What making the machine emitted, and the part of it that falls to a time of use; the SCI score.

use jouletree_model::{Grams, Nanos};

/// Seconds of a year of 365 days, as life spans of servers are counted.
pub const SECONDS_PER_YEAR: f64 = 365.0 * 86_400.0;

/// A machine's share of what its making emitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Embodied {
    /// Of making all of it.
    pub total: Grams,
    /// How many years it is expected to last.
    pub life_years: f64,
    /// The part of it that was in use, from 0 to 1.
    pub share: f64,
}

impl Embodied {
    /// How long servers are expected to last, by Cloud Carbon Footprint.
    pub const LIFE_YEARS: f64 = 4.0;

    /// A server by its parts, as Cloud Carbon Footprint counts: 1000 kg, 150 kg for each GPU, 100 kg for each processor
    /// after the first, and 1.388 kg for each gigabyte of memory above 16.
    pub fn of_server(sockets: u32, gpus: u32, memory_gb: f64) -> Embodied {
        let memory = (memory_gb - 16.0).max(0.0) * 1.388_020_8;
        let further = 100.0 * f64::from(sockets.saturating_sub(1)) + 150.0 * f64::from(gpus);
        Embodied { total: Grams((1000.0 + further + memory) * 1e3), life_years: Embodied::LIFE_YEARS, share: 1.0 }
    }

    /// Grams that fall to a time of use.
    pub fn grams(&self, time: Nanos) -> Grams {
        let seconds = time.0 as f64 * 1e-9;
        Grams(self.total.0 * self.share * seconds / (self.life_years * SECONDS_PER_YEAR))
    }
}

/// Software carbon intensity (ISO/IEC 21031): operational and embodied carbon for one unit of use; none without units.
pub fn sci(operational: Grams, embodied: Grams, units: f64) -> Option<Grams> {
    (units > 0.0).then(|| Grams((operational.0 + embodied.0) / units))
}
