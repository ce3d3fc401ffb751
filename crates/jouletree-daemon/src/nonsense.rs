//! Everything that reads bytes from a connection, fed with any bytes: for fuzzing. None of it may panic.

use jouletree_meter::sampler::Options;
use jouletree_model::Nanos;
use prost::Message;

use crate::policy::{Foreign, Peer, Target, grant};
use crate::wire::v1::watch_request::Request;
use crate::wire::{self, v1};

/// Reads bytes as each request and each answer.
pub fn read_everything(bytes: &[u8]) {
    if let Ok(v1::WatchRequest { request: Some(Request::Start(start)) }) = v1::WatchRequest::decode(bytes) {
        let period = Nanos(start.period_ns);
        if Options::check_period(period).is_ok() {
            let _ = grant(Peer::Remote, Target::Machine, period, Foreign::Floor);
        }
    }
    let _ = v1::StopRequest::decode(bytes);
    let _ = v1::StatusRequest::decode(bytes);
    if let Ok(batch) = wire::unpack(0, 0, bytes) {
        // What can be read can be written, and means the same.
        let again = wire::unpack(0, 0, &wire::pack(&batch));
        assert_eq!(again.map(|again| format!("{again:?}")), Ok(format!("{batch:?}")));
    }
    if let Ok(v1::WatchEvent { event: Some(v1::watch_event::Event::Ended(ended)) }) = v1::WatchEvent::decode(bytes)
    {
        let _ = wire::ending_from(ended);
    }
    if let Ok(status) = v1::StatusResponse::decode(bytes) {
        status.sensors.into_iter().for_each(|sensor| drop(wire::sensor_from(sensor)));
    }
    crate::smaragdine::read_requests(bytes);
}
