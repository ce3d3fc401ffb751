//! Data in FECoM's layouts, and the energies that follow from it by both rules.
#![no_main]

use jouletree_account::calls::fecom::{FecomRule, Stamps, net};
use jouletree_account::calls::{CallMeter, NetRule, quiet, series_of};
use jouletree_model::TimeRange;
use jouletree_run::fecom::{FecomKind, FecomRecord, read_experiment, read_fecom_rows, read_raw_trace};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = read_fecom_rows("fuzz", data, FecomKind::Method);
    if let Ok(records) = read_experiment("fuzz", data, "p", 1, FecomKind::Size) {
        records.iter().for_each(check);
    }
    // Samples, a line of nothing but a dash, times.
    let middle = data.windows(3).position(|window| window == b"\n-\n").unwrap_or(data.len());
    let (csv, times) = (&data[..middle], data.get(middle + 3..).unwrap_or_default());
    if let Ok(records) = read_raw_trace("fuzz", csv, "fuzz", times, "p") {
        records.iter().for_each(check);
    }
});

fn check(record: &FecomRecord) {
    let times = &record.times;
    for sampled in &record.sampled {
        let stamps = Stamps { start: times.start_perf, end: times.end_perf, baseline_before: times.start_perf };
        let fecom = net(sampled, stamps, &FecomRule::default());
        assert_eq!(fecom.samples > 0, fecom.gross.is_some());
        let Ok(series) = series_of(sampled) else { continue };
        let window = TimeRange { start: times.start, end: times.end };
        let since = series.extent().map_or(window.start, |extent| extent.start);
        let rule = NetRule::for_class(sampled.device.class());
        let quiet = quiet(&[], since, window.start, rule.baseline);
        let exact = CallMeter::new(&series, rule).net(window, &quiet, None);
        assert!(exact.standard_error.is_none_or(|error| !(error.0 < 0.0)), "{exact:?}");
    }
}
