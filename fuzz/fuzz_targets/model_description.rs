//! Models that are described, tables of costs, and what theory makes of both.
#![no_main]

use jouletree_predict::operators::{Format, described};
use jouletree_predict::theory::{Bits, Costs, estimate};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let costs = Costs::from_toml(text).unwrap_or_default();
    for format in [Format::Toml, Format::Json] {
        let Ok(operators) = described(text, format) else { continue };
        for bits in [Bits::Eight, Bits::Sixteen, Bits::ThirtyTwo] {
            let total = estimate("fuzz", &operators, bits, &costs).total;
            assert!(total.once().0 >= 0.0 && total.naive().0 >= 0.0, "{total:?}");
        }
    }
});
