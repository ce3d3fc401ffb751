//! From joules to money at one price.

use jouletree_model::Joules;

/// As many queries as prices are quoted for.
pub const MILLION: f64 = 1e6;

/// What a kilowatt-hour costs, in whatever currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tariff(pub f64);

impl Tariff {
    /// What an energy costs.
    pub fn cost(self, energy: Joules) -> f64 {
        energy.kilowatt_hours().0 * self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3 of IrEne: 161 kWh at 13.19 cents are 21.24 USD.
    #[test]
    fn the_published_example() {
        let energy = Joules(161.0 * Joules::PER_KILOWATT_HOUR);
        assert!((energy.kilowatt_hours().0 - 161.0).abs() < 1e-9);
        assert!((Tariff(0.1319).cost(energy) - 21.24).abs() < 0.005);
    }
}
