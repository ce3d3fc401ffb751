//! Grams of CO2 as things people know. Trackers use different factors; ours are named, and so are theirs.

use jouletree_model::Grams;
use serde::Serialize;

/// Less than a metre, a few seconds or a thousandth of a charge give no idea of it.
const SMALLEST: f64 = 1e-3;

/// By which factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// Grams per kilometre by car.
    pub car_g_per_km: f64,
    /// Grams per hour of television.
    pub tv_g_per_hour: f64,
    /// Grams per charge of a telephone.
    pub phone_g_per_charge: f64,
}

impl Factors {
    /// Kilometres of one mile, as the ML CO2 calculator has it.
    pub const KM_PER_MILE: f64 = 1.609_344;
    /// Ours: a new passenger car of 2023 in the European Union (107.5 g/km, as CarbonTracker has it), an hour of
    /// television (97 g, as CodeCarbon has it), a charge of a telephone (8.22 g by the EPA's calculator, before 2024).
    pub const USUAL: Factors = Factors { car_g_per_km: 107.5, tv_g_per_hour: 97.0, phone_g_per_charge: 8.22 };
    /// Grams per mile by car, by CodeCarbon's board and the ML CO2 calculator.
    pub const CODECARBON_CAR_G_PER_MILE: f64 = 409.0;
    /// See above.
    pub const MLCO2_CAR_G_PER_MILE: f64 = 398.0;
    /// Grams a week of a household in the USA, by CodeCarbon's board.
    pub const CODECARBON_HOUSEHOLD_G_PER_WEEK: f64 = 160_580.0;
    /// Grams per pound of coal, by the ML CO2 calculator.
    pub const MLCO2_G_PER_POUND_OF_COAL: f64 = 905.0;
    /// Grams that a seedling takes up in ten years, by the ML CO2 calculator.
    pub const MLCO2_G_PER_SEEDLING: f64 = 60_000.0;
}

/// The same amount in other words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Equivalents {
    /// Kilometres by car.
    pub car_km: f64,
    /// Hours of television.
    pub tv_hours: f64,
    /// Charges of a telephone.
    pub phone_charges: f64,
}

impl Equivalents {
    /// Of so many grams.
    pub fn of(Grams(grams): Grams, factors: Factors) -> Equivalents {
        Equivalents {
            car_km: grams / factors.car_g_per_km,
            tv_hours: grams / factors.tv_g_per_hour,
            phone_charges: grams / factors.phone_g_per_charge,
        }
    }

    /// Each that gives an idea of it, by itself: how much, of what unit, and by which of our factors.
    pub fn lines(&self) -> impl Iterator<Item = (f64, &'static str, &'static str)> {
        let all = [
            (self.car_km, "km", "by a new car of 2023 in the European Union, 107.5 g/km"),
            (self.tv_hours, "h", "of television, 97 g/h"),
            (self.phone_charges, "charges", "of a telephone, 8.22 g each"),
        ];
        all.into_iter().filter(|(amount, _, _)| *amount >= SMALLEST)
    }
}
