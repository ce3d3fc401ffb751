//! What formats that show time have in common: where time begins, which devices there are, and the check that the charges
//! of events sum up to the footprint.

use jouletree_model::{Device, Footprint, Joules, OpId, TimeRange, Trace};
use jouletree_run::MeteredSeries;

use super::rows::{Row, rows};
use super::{Content, ExportError};

/// A device with the lanes that run on it and the power it draws.
pub(super) struct Track<'a> {
    pub device: &'a Device,
    /// The indices of its lanes in the trace.
    pub lanes: Vec<usize>,
    /// The rows in which its lanes are shown.
    pub rows: Vec<Row>,
    pub power: Option<&'a MeteredSeries>,
}

/// A track for each device with lanes or power, those of the trace first.
pub(super) fn tracks<'a>(trace: &'a Trace, power: &'a [MeteredSeries]) -> Vec<Track<'a>> {
    let wholes = || power.iter().filter(|metered| metered.is_whole());
    let mut tracks: Vec<Track<'a>> = (trace.devices.iter().enumerate())
        .map(|(number, device)| {
            let lanes = trace.lanes.iter().enumerate().filter(|(_, lane)| lane.device() == number);
            let lanes: Vec<usize> = lanes.map(|(lane, _)| lane).collect();
            let rows = rows(trace, &lanes);
            Track { device, lanes, rows, power: wholes().find(|metered| metered.device == *device) }
        })
        .collect();
    for metered in wholes() {
        if !tracks.iter().any(|track| *track.device == metered.device) {
            let (lanes, rows) = (Vec::new(), Vec::new());
            tracks.push(Track { device: &metered.device, lanes, rows, power: Some(metered) });
        }
    }
    tracks
}

/// The time that is shown. A timeline counts from its start: viewers keep times in floating-point numbers, which have no room
/// for the nanoseconds since 1970.
pub(super) fn whole(content: &Content<'_>) -> Result<TimeRange, ExportError> {
    let power = content.power.iter().filter_map(|metered| metered.series.extent());
    let notes = content.trace.program.spans.iter().filter(|span| !span.range.is_empty()).map(|span| span.range);
    let known = content.trace.extent().into_iter().chain(power).chain(notes);
    known.reduce(TimeRange::union).ok_or(ExportError::Nothing)
}

/// What events were charged with, operation by operation.
pub(super) struct Books {
    charged: Vec<f64>,
}

impl Books {
    pub(super) fn new(trace: &Trace) -> Books {
        Books { charged: vec![0.0; trace.ops.len()] }
    }

    #[inline]
    pub(super) fn charge(&mut self, op: OpId, energy: Joules) {
        if let Some(sum) = self.charged.get_mut(op.index()) {
            *sum += energy.0;
        }
    }

    /// Fails unless events and footprint agree about every operation.
    pub(super) fn check(&self, footprint: &Footprint) -> Result<(), ExportError> {
        let mut booked = vec![0.0; self.charged.len()];
        // Events outside of recorded steps are charged, too.
        let in_parts = footprint.charges.iter().map(|charge| &charge.charged);
        let in_all: &[_] = if footprint.parts.is_empty() { &footprint.energies } else { &[] };
        for charged in in_all.iter().chain(in_parts) {
            if let Some(sum) = booked.get_mut(charged.op.index()) {
                *sum += charged.energy.0;
            }
        }
        let total: f64 = booked.iter().sum();
        for ((_, op), (events, booked)) in footprint.ops.iter().zip(self.charged.iter().zip(&booked)) {
            // What is far below the whole is the difference of large sums.
            if (events - booked).abs() > 1e-6 * booked + 1e-12 * total {
                let (events, footprint) = (Joules(*events), Joules(*booked));
                return Err(ExportError::Unequal { op: op.path.to_string(), events, footprint });
            }
        }
        Ok(())
    }
}
