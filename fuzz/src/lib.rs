//! What must hold whatever a reader made of its input: accounting does not panic and loses no energy.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jouletree_account::{Metered, Semantics, Tef, account, t2a, t2e, tensor_edges};
use jouletree_model::{EnergySeries, Footprint, Joules, Kind, Nanos, TimeRange, Trace};
use jouletree_trace::{ReadOptions, read_trace_bytes};

/// How far from the epoch a power series may reach.
const HORIZON: i64 = EnergySeries::HORIZON.0;

/// Reads a trace that begins with `lead`, so that the reader wanted is the one that gets it, and accounts it. Packed
/// input is handed on as it is.
pub fn read_and_account(lead: &[u8], data: &[u8]) {
    let packed = data.starts_with(&[0x1f, 0x8b]);
    let text = if packed { data.to_vec() } else { [lead, data].concat() };
    let options = ReadOptions { census: true, ..ReadOptions::default() };
    let Ok(trace) = read_trace_bytes("fuzz", &text, &options) else { return };
    for semantics in [Semantics::Exact, Semantics::Paper] {
        check(&trace, semantics);
    }
}

fn check(trace: &Trace, semantics: Semantics) {
    let Some(series) = trace.extent().and_then(series_around) else { return };
    let metered: Vec<Metered<'_>> =
        trace.devices.iter().map(|device| Metered { device, kind: Kind::Estimated, series: &series }).collect();
    let Ok(footprint) = account(trace, &metered, semantics) else { return };
    check_balance(&footprint);
    let tef = Tef::from(&footprint);
    let tree = t2e(&tef, &tensor_edges(&footprint.model));
    assert_close(tree.energy, tef.total(), "the tree");
    assert_close(t2a(&tef).total(), tef.total(), "the summary");
}

fn check_balance(footprint: &Footprint) {
    for balance in &footprint.devices {
        let measured = balance.total.expect("every device has power");
        assert_close(Joules(balance.attributed.0 + balance.unattributed.0), measured, "the balance");
    }
    for charged in &footprint.energies {
        assert!(charged.energy.0 >= 0.0 && charged.energy.0.is_finite(), "{charged:?}");
        assert!(charged.busy >= Nanos(0), "{charged:?}");
    }
}

fn assert_close(found: Joules, wanted: Joules, what: &str) {
    let off = (found.0 - wanted.0).abs();
    assert!(off <= 1e-9 * wanted.0.abs().max(1e-9), "{what}: {found:?} is not {wanted:?}");
}

/// Power that changes, and is unknown for a while, over the time of a trace and a little more.
fn series_around(extent: TimeRange) -> Option<EnergySeries> {
    const POINTS: i64 = 9;
    let start = extent.start.0.clamp(-HORIZON, HORIZON).saturating_sub(7).max(-HORIZON);
    let end = extent.end.0.clamp(-HORIZON, HORIZON).saturating_add(7).min(HORIZON);
    let stride = (end - start) / POINTS;
    let mut series = EnergySeries::default();
    let mut energy = 0.0;
    for point in 0..=POINTS {
        let time = Nanos(if point == POINTS { end } else { start + stride * point });
        series.push(time, Joules(energy), point == 4).ok()?;
        energy += ((point * 7) % 5) as f64;
    }
    Some(series)
}

/// Between files that are one input.
const CUT: &[u8] = b"\n====\n";

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("jouletree-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for inputs");
    folder
});

/// Readers that open files themselves get theirs in a folder: the input, cut at lines of `====`, under these names.
pub fn in_folder(names: &[&str], data: &[u8]) -> &'static Path {
    let mut rest = data;
    for name in names {
        let end = rest.windows(CUT.len()).position(|window| window == CUT);
        let (content, after) = match end {
            Some(end) => (&rest[..end], &rest[end + CUT.len()..]),
            None => (rest, &[][..]),
        };
        std::fs::write(FOLDER.join(name), content).expect("a file for the input");
        rest = after;
    }
    &FOLDER
}
