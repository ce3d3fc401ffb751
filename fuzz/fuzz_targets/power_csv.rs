//! Power files, and the energy that follows from them by every rule.
#![no_main]

use jouletree_account::{Rule, energy_series};
use jouletree_model::Nanos;
use jouletree_run::read_power_csv;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(file) = read_power_csv("fuzz", data) else { return };
    for record in &file.records {
        for rule in [Rule::Recency, Rule::Counter] {
            for hold in [Nanos(0), Nanos(1_000_000)] {
                let Ok(series) = energy_series(record, rule, hold, "fuzz", &mut Vec::new()) else { continue };
                let total = series.total().0;
                assert!(total.is_finite() && total >= 0.0, "{total} J from {record:?}");
                assert!(series.spans().all(|span| span.power.0 >= 0.0), "negative power from {record:?}");
            }
        }
    }
});
