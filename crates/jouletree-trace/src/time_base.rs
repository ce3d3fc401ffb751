//! When the clock of a file began.
//!
//! A file that says so itself is believed. Else a marker event says it (one that carries the time of day at which it was
//! written), else the user, else the `.meta.json` that our Python package leaves beside the file.

use jouletree_model::{BaseOrigin, Marker, Nanos, TimeBase, Warning};

use crate::options::ReadOptions;
use crate::sidecar::Sidecar;
use crate::source::Source;

/// Times after this instant, of the year 2001, are times of day: no machine runs that long.
const LONG_AGO: Nanos = Nanos(1_000_000_000_000_000_000);

/// How late the event of a marker may begin after its time of day was taken.
pub(crate) const MARKER_DELAY: Nanos = Nanos(200_000);

/// How far a marker may be off a base in the file before a warning.
const SUSPICIOUS: Nanos = Nanos(50_000_000);

/// Finds the time base of a file. `own` is that of the file itself, if it has one; `markers` carry their `at` by the
/// file's own clock and are moved to the base.
pub(crate) fn find_time_base(
    source: &Source,
    options: &ReadOptions,
    own: Option<Nanos>,
    markers: &mut [Marker],
    warnings: &mut Vec<Warning>,
) -> TimeBase {
    let found = own_base(own, options, source, warnings)
        .or_else(|| marker_base(markers))
        .or_else(|| options.base.map(|base| epoch(base, BaseOrigin::Given, Nanos(0))))
        .or_else(|| sidecar_base(source, warnings));
    let base = found.unwrap_or_default();
    for marker in &mut *markers {
        marker.at += base.base();
    }
    if let TimeBase::Epoch { origin: BaseOrigin::File, .. } = base
        && let Some(marker) = markers.iter().find(|marker| !is_near(marker))
    {
        let message = format!(
            "the file's times are {} off its marker, which was written at {} ns since the epoch; the clock was set \
             while the program ran, or the file's time base is wrong",
            Nanos((marker.at - marker.wall).0.saturating_abs()),
            marker.wall.0
        );
        warnings.push(Warning::new(source.name(), message));
    }
    base
}

/// The time base of a file whose times are times of day already, which `first`, one of them, must show.
pub(crate) fn absolute(first: Nanos) -> Option<Nanos> {
    (first > LONG_AGO).then_some(Nanos(0))
}

/// The time of day in the name of a marker, `MARK wall_ns=1794771283310123456`.
pub(crate) fn wall_in_name(name: &str) -> Option<Nanos> {
    let (_, number) = name.split_once("wall_ns=")?;
    let digits = number.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok().map(Nanos)
}

fn is_near(marker: &Marker) -> bool {
    marker.at - marker.wall < SUSPICIOUS && marker.wall - marker.at < SUSPICIOUS
}

fn epoch(base: Nanos, origin: BaseOrigin, within: Nanos) -> TimeBase {
    TimeBase::Epoch { base, origin, within }
}

fn own_base(
    own: Option<Nanos>,
    options: &ReadOptions,
    source: &Source,
    warnings: &mut Vec<Warning>,
) -> Option<TimeBase> {
    let base = own?;
    if options.base.is_some_and(|given| given != base) {
        let message = "--base-ns is not used: the file has its own time base";
        warnings.push(Warning::new(source.name(), message));
    }
    Some(epoch(base, BaseOrigin::File, Nanos(0)))
}

/// A marker's event begins a little after its time of day was taken, so the latest base is the nearest.
fn marker_base(markers: &[Marker]) -> Option<TimeBase> {
    let base = markers.iter().map(|marker| marker.wall - marker.at).max()?;
    Some(epoch(base, BaseOrigin::Marker, MARKER_DELAY))
}

fn sidecar_base(source: &Source, warnings: &mut Vec<Warning>) -> Option<TimeBase> {
    let sidecar = Sidecar::of(source, warnings)?;
    match sidecar {
        Sidecar { start_ns: Some(start), .. } => Some(epoch(Nanos(start), BaseOrigin::Sidecar, Nanos(0))),
        Sidecar { before_start_ns: Some(before), after_start_ns: Some(after), .. } if before <= after => {
            let half = Nanos((after - before) / 2);
            Some(epoch(Nanos(before) + half, BaseOrigin::Sidecar, half))
        }
        _ => {
            let message = "is not used: it needs start_ns, or before_start_ns and after_start_ns";
            warnings.push(Warning::new(sidecar.path(), message));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(wall: i64, at: i64) -> Marker {
        Marker { wall: Nanos(wall), at: Nanos(at) }
    }

    #[test]
    fn the_file_is_believed_first_and_a_marker_before_the_user() {
        let source = Source::memory("t", b"");
        let options = ReadOptions { base: Some(Nanos(70)), ..ReadOptions::default() };
        let mut warnings = Vec::new();
        let mut find =
            |own, markers: &mut [Marker]| find_time_base(&source, &options, own, markers, &mut warnings);
        assert_eq!(find(Some(Nanos(50)), &mut []), epoch(Nanos(50), BaseOrigin::File, Nanos(0)));
        let mut markers = [marker(1000, 10), marker(2000, 1005)];
        assert_eq!(find(None, &mut markers), epoch(Nanos(995), BaseOrigin::Marker, MARKER_DELAY));
        assert_eq!(markers, [marker(1000, 1005), marker(2000, 2000)]);
        assert_eq!(find(None, &mut []), epoch(Nanos(70), BaseOrigin::Given, Nanos(0)));
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }

    #[test]
    fn without_anything_times_are_relative() {
        let source = Source::memory("t", b"");
        let mut warnings = Vec::new();
        let found = find_time_base(&source, &ReadOptions::default(), None, &mut [], &mut warnings);
        assert_eq!((found, warnings), (TimeBase::Relative, Vec::new()));
    }

    #[test]
    fn a_marker_far_from_the_files_own_time_is_told() {
        let source = Source::memory("t", b"");
        let mut warnings = Vec::new();
        let mut markers = [marker(5_000_000_000, 1)];
        find_time_base(&source, &ReadOptions::default(), Some(Nanos(0)), &mut markers, &mut warnings);
        assert!(warnings[0].message.contains("off its marker"), "{warnings:?}");
    }

    #[test]
    fn sidecars_tell_the_base_or_a_bracket_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let read = |sidecar: &str| {
            std::fs::write(folder.path().join("step.meta.json"), sidecar).unwrap();
            let source = Source::file(&folder.path().join("step.xplane.pb.gz"));
            let mut warnings = Vec::new();
            let found = find_time_base(&source, &ReadOptions::default(), None, &mut [], &mut warnings);
            (found, warnings.len())
        };
        assert_eq!(read(r#"{"start_ns": 7}"#), (epoch(Nanos(7), BaseOrigin::Sidecar, Nanos(0)), 0));
        let bracket = r#"{"before_start_ns": 10, "after_start_ns": 30, "note": "…"}"#;
        assert_eq!(read(bracket), (epoch(Nanos(20), BaseOrigin::Sidecar, Nanos(10)), 0));
        assert_eq!(read("{}"), (TimeBase::Relative, 1));
        assert_eq!(read("nonsense"), (TimeBase::Relative, 1));
    }

    #[test]
    fn markers_carry_their_time_in_their_name() {
        assert_eq!(wall_in_name("MARK wall_ns=17 x"), Some(Nanos(17)));
        assert_eq!(wall_in_name("aten::add"), None);
    }
}
