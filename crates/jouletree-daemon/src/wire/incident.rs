//! Incidents and anchors on the wire.

use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Incident, Mono, What};

use super::v1::incident::What as Sent;
use super::{WireError, v1};

/// An anchor as it is sent.
pub fn anchor(anchor: &Anchor) -> v1::Anchor {
    v1::Anchor { mono_ns: anchor.mono.0, wall_ns: anchor.wall.0, boot_ns: anchor.boot.0 }
}

/// The anchor that was sent.
pub fn anchor_from(anchor: &v1::Anchor) -> Anchor {
    Anchor { mono: Mono(anchor.mono_ns), wall: Nanos(anchor.wall_ns), boot: Nanos(anchor.boot_ns) }
}

/// An incident as it is sent.
pub fn incident(incident: &Incident) -> v1::Incident {
    let what = match &incident.what {
        What::Lost(why) => Sent::Lost(why.clone()),
        What::Recovered => Sent::Recovered(v1::Nothing {}),
        What::Still(time) => Sent::StillNs(time.0),
        What::Moves => Sent::Moves(v1::Nothing {}),
        What::Late { missed, worst } => Sent::Late(v1::Late { missed: *missed, worst_ns: worst.0 }),
        What::ClockStep(by) => Sent::ClockStepNs(by.0),
        What::Suspend(time) => Sent::SuspendNs(time.0),
        What::Ended => Sent::Ended(v1::Nothing {}),
    };
    v1::Incident { at_ns: incident.at.0, sensor: incident.sensor.map(u32::from), what: Some(what) }
}

/// The incident that was sent.
pub fn incident_from(incident: v1::Incident) -> Result<Incident, WireError> {
    let sensor = incident.sensor.map(u16::try_from).transpose();
    let what = match incident.what.ok_or(WireError::Value("incident"))? {
        Sent::Lost(why) => What::Lost(why),
        Sent::Recovered(_) => What::Recovered,
        Sent::StillNs(time) => What::Still(Nanos(time)),
        Sent::Moves(_) => What::Moves,
        Sent::Late(late) => What::Late { missed: late.missed, worst: Nanos(late.worst_ns) },
        Sent::ClockStepNs(by) => What::ClockStep(Nanos(by)),
        Sent::SuspendNs(time) => What::Suspend(Nanos(time)),
        Sent::Ended(_) => What::Ended,
    };
    let sensor = sensor.map_err(|_| WireError::Value("number of a sensor"))?;
    Ok(Incident { at: Mono(incident.at_ns), sensor, what })
}
