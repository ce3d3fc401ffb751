//! Rows of energy and time: samples, shares, anchors.

use arrow_array::ArrayRef;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_schema::DataType::{self, Float64, Int64, UInt16, UInt32, UInt64};
use jouletree_model::sampling::{Anchor, Flags, Mono, Sample, ShareSample};
use jouletree_model::{EnergySeries, Nanos};

use super::row::{Columns, Row, column, is_part};

/// How far the parts of a share may be from one by rounding.
const ROUNDING: f64 = 1e-6;

/// Whether a clock can say this; distances between such instants fit into a [`Nanos`].
pub(crate) fn is_instant(nanos: i64) -> bool {
    nanos.unsigned_abs() <= EnergySeries::HORIZON.0.unsigned_abs()
}

impl Row for Sample {
    const NAME: &'static str = "samples";
    const COLUMNS: &'static [(&'static str, DataType, bool)] = &[
        ("sensor", UInt16, false),
        ("flags", UInt16, false),
        ("mono_ns", Int64, false),
        ("count", UInt64, false),
    ];

    fn columns(rows: &[Sample]) -> Vec<ArrayRef> {
        vec![
            column::<UInt16Type, _>(rows, |row| row.sensor),
            column::<UInt16Type, _>(rows, |row| row.flags.0),
            column::<Int64Type, _>(rows, |row| row.at.0),
            column::<UInt64Type, _>(rows, |row| row.count),
        ]
    }

    fn rows(columns: &Columns<'_>) -> Option<Vec<Sample>> {
        let (sensors, flags) = (columns.numbers::<UInt16Type>(0)?, columns.numbers::<UInt16Type>(1)?);
        let (times, counts) = (columns.numbers::<Int64Type>(2)?, columns.numbers::<UInt64Type>(3)?);
        let row = |row: usize| Sample {
            sensor: sensors[row],
            flags: Flags(flags[row]),
            at: Mono(times[row]),
            count: counts[row],
        };
        Some((0..columns.len()).map(row).filter(|sample| is_instant(sample.at.0)).collect())
    }
}

impl Row for ShareSample {
    const NAME: &'static str = "shares";
    const COLUMNS: &'static [(&'static str, DataType, bool)] = &[
        ("from_mono_ns", Int64, false),
        ("mono_ns", Int64, false),
        ("socket", UInt32, false),
        ("ours", Float64, false),
        ("others", Float64, false),
        ("idle", Float64, false),
        ("own", Float64, false),
    ];

    fn columns(rows: &[ShareSample]) -> Vec<ArrayRef> {
        vec![
            column::<Int64Type, _>(rows, |row| row.from.0),
            column::<Int64Type, _>(rows, |row| row.at.0),
            column::<UInt32Type, _>(rows, |row| row.socket),
            column::<Float64Type, _>(rows, |row| row.ours),
            column::<Float64Type, _>(rows, |row| row.others),
            column::<Float64Type, _>(rows, |row| row.idle),
            column::<Float64Type, _>(rows, |row| row.own),
        ]
    }

    fn rows(columns: &Columns<'_>) -> Option<Vec<ShareSample>> {
        let (from, at) = (columns.numbers::<Int64Type>(0)?, columns.numbers::<Int64Type>(1)?);
        let sockets = columns.numbers::<UInt32Type>(2)?;
        let part = |column| columns.numbers::<Float64Type>(column);
        let (ours, others, idle, own) = (part(3)?, part(4)?, part(5)?, part(6)?);
        let row = |row: usize| ShareSample {
            from: Mono(from[row]),
            at: Mono(at[row]),
            socket: sockets[row],
            ours: ours[row],
            others: others[row],
            idle: idle[row],
            own: own[row],
        };
        let can_be = |share: &ShareSample| {
            let parts = [share.ours, share.others, share.idle, share.own];
            is_instant(share.from.0)
                && is_instant(share.at.0)
                && parts.into_iter().all(is_part)
                && (share.ours + share.others + share.idle - 1.0).abs() <= ROUNDING
        };
        Some((0..columns.len()).map(row).filter(can_be).collect())
    }
}

impl Row for Anchor {
    const NAME: &'static str = "anchors";
    const COLUMNS: &'static [(&'static str, DataType, bool)] =
        &[("mono_ns", Int64, false), ("wall_ns", Int64, false), ("boot_ns", Int64, false)];

    fn columns(rows: &[Anchor]) -> Vec<ArrayRef> {
        vec![
            column::<Int64Type, _>(rows, |row| row.mono.0),
            column::<Int64Type, _>(rows, |row| row.wall.0),
            column::<Int64Type, _>(rows, |row| row.boot.0),
        ]
    }

    fn rows(columns: &Columns<'_>) -> Option<Vec<Anchor>> {
        let (mono, wall) = (columns.numbers::<Int64Type>(0)?, columns.numbers::<Int64Type>(1)?);
        let boot = columns.numbers::<Int64Type>(2)?;
        let row = |row: usize| Anchor { mono: Mono(mono[row]), wall: Nanos(wall[row]), boot: Nanos(boot[row]) };
        let can_be = |anchor: &Anchor| is_instant(anchor.mono.0) && is_instant(anchor.wall.0);
        Some((0..columns.len()).map(row).filter(can_be).collect())
    }
}
