//! Over what window GPUs measure their power, and what follows for the numbers.

use jouletree_model::Nanos;
use jouletree_model::sampling::Quality;
use nvml_wrapper::enums::device::DeviceArchitecture;

use super::gpu::Quantity;

/// Over what time a value of power is the mean, as far as that is known: the driver averages over a second since Ampere,
/// except on its largest chip; that one and Hopper measure for 25 ms of each 100 ms (Yang et al., SC 2024).
pub(super) fn window(quantity: Quantity, architecture: Option<DeviceArchitecture>, name: &str) -> Option<Nanos> {
    use DeviceArchitecture::{Ada, Ampere, Hopper};
    let is_ga100 = ["A100", "A800", "A30"].iter().any(|chip| name.split([' ', '-']).any(|word| word == *chip));
    match (quantity, architecture?) {
        (Quantity::Energy, _) => None,
        (_, Ampere) if is_ga100 => Some(Nanos(25_000_000)),
        (Quantity::Instant, Hopper) => Some(Nanos(25_000_000)),
        (Quantity::Usage, Ampere | Ada | Hopper) => Some(Nanos(1_000_000_000)),
        _ => None,
    }
}

/// What a window means for the readings.
pub(super) fn quality(quantity: Quantity, period: Nanos, window: Option<Nanos>) -> Quality {
    if quantity == Quantity::Energy {
        return Quality::default();
    }
    // A mean shows the middle of its window; a window that is not known is hardly longer than the period.
    let lag = Nanos(window.unwrap_or(period).0 / 2);
    let coverage = window.map(|window| (window.seconds() / period.seconds()).min(1.0));
    Quality { lag, coverage, bounds: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_the_family_and_the_way_of_reading() {
        use DeviceArchitecture::{Ampere, Hopper, Pascal};
        let ms = |time: i64| Some(Nanos(time * 1_000_000));
        for (quantity, architecture, name, expected) in [
            (Quantity::Energy, Some(Ampere), "NVIDIA A100-SXM4-80GB", None),
            (Quantity::Instant, Some(Ampere), "NVIDIA A100-SXM4-80GB", ms(25)),
            (Quantity::Usage, Some(Ampere), "NVIDIA A100-PCIE-40GB", ms(25)),
            (Quantity::Usage, Some(Ampere), "NVIDIA RTX A6000", ms(1000)),
            (Quantity::Instant, Some(Ampere), "NVIDIA RTX A6000", None),
            (Quantity::Instant, Some(Hopper), "NVIDIA H100 PCIe", ms(25)),
            (Quantity::Usage, Some(Hopper), "NVIDIA H100 PCIe", ms(1000)),
            (Quantity::Usage, Some(Pascal), "Quadro P5000", None),
            (Quantity::Usage, None, "some", None),
        ] {
            assert_eq!(window(quantity, architecture, name), expected, "{quantity:?} of {name}");
        }
    }

    #[test]
    fn what_is_known_of_the_window_becomes_lag_and_coverage() {
        let quarter = quality(Quantity::Instant, Nanos(100_000_000), Some(Nanos(25_000_000)));
        assert_eq!(quarter, Quality { lag: Nanos(12_500_000), coverage: Some(0.25), bounds: None });
        let mean = quality(Quantity::Usage, Nanos(100_000_000), Some(Nanos(1_000_000_000)));
        assert_eq!(mean, Quality { lag: Nanos(500_000_000), coverage: Some(1.0), bounds: None });
        let unknown = quality(Quantity::Usage, Nanos(20_000_000), None);
        assert_eq!(unknown, Quality { lag: Nanos(10_000_000), coverage: None, bounds: None });
    }
}
