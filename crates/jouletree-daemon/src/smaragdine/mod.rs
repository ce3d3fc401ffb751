//! The published Smaragdine protocol, so that its clients work with this daemon: Start, Stop, Read.
//!
//! Recordings are kept apart by the process that they are about. What was recorded is kept, encoded, until the same
//! process is started again or for [`KEPT`]: an answer that gets lost can be asked for again. The protocol has no
//! passwords and no users, so everybody who reaches the address is a stranger, and periods have the floor of strangers
//! unless whoever started the daemon says otherwise. It cannot say how a number came to be either, so estimates are
//! left out: energy is measured or absent.

mod energy;
mod ledger;
mod machine;
mod recording;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use jouletree_meter::Roots;
use jouletree_meter::sampler::Options;
use jouletree_meter::station::Station;
use jouletree_model::Nanos;
use tonic::{Request, Response, Status};

use crate::policy::FLOOR;
use crate::serve::{LARGEST_REQUEST, ServeError};
use crate::wire::smaragdine as wire;
use crate::wire::smaragdine::sampler_server::{Sampler, SamplerServer};
use ledger::Ledger;
use recording::Recording;

/// How long a recording is kept that nobody starts anew.
pub const KEPT: Duration = Duration::from_secs(600);
/// The period where a client does not say, in milliseconds.
const PERIOD: u64 = 4;
/// So many processes are recorded or kept at once.
const MOST: usize = 32;

/// How the Smaragdine protocol is served. It has no authentication: whoever reaches the address may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmaragdineConfig {
    /// Where.
    pub address: SocketAddr,
    /// Whether the address may be one that other machines can reach.
    pub insecure: bool,
    /// Whether periods shorter than the floor of strangers are granted to everybody.
    pub fast: bool,
}

impl SmaragdineConfig {
    pub(crate) fn checked_address(&self) -> Result<SocketAddr, ServeError> {
        match self.insecure || self.address.ip().is_loopback() {
            true => Ok(self.address),
            false => Err(ServeError::Insecure(self.address)),
        }
    }
}

/// The service. It must be made inside of a runtime.
pub(crate) fn service(station: Station, roots: Roots, fast: bool) -> SamplerServer<SamplerService> {
    let recordings = Arc::new(Recordings::default());
    tokio::spawn(tidy(Arc::downgrade(&recordings)));
    let service = SamplerService { station, roots, fast, recordings, ledger: Ledger::default() };
    SamplerServer::new(service).max_decoding_message_size(LARGEST_REQUEST).max_encoding_message_size(usize::MAX)
}

/// Recordings by process; `None` is the machine.
type Recordings = Mutex<HashMap<Option<u32>, Recording>>;

#[derive(Debug)]
pub(crate) struct SamplerService {
    station: Station,
    roots: Roots,
    fast: bool,
    recordings: Arc<Recordings>,
    ledger: Ledger,
}

#[tonic::async_trait]
impl Sampler for SamplerService {
    async fn start(&self, request: Request<wire::StartRequest>) -> Result<Response<wire::StartResponse>, Status> {
        let request = request.into_inner();
        let pid = process(request.pid)?;
        let period = granted(request.period, self.fast);
        // Twice is once, as published.
        if self.lock().get(&pid).is_some_and(Recording::is_running) {
            return Ok(Response::new(wire::StartResponse {}));
        }
        let (station, roots, ledger) = (self.station.clone(), self.roots.clone(), self.ledger.clone());
        let recording =
            tokio::task::spawn_blocking(move || Recording::start(&station, roots, pid, period, ledger)).await;
        let recording = recording.map_err(|_| Status::internal("the recording could not begin"))??;
        let mut recordings = self.lock();
        if !recordings.contains_key(&pid) && recordings.len() >= MOST {
            return Err(Status::resource_exhausted(format!(
                "{MOST} processes are recorded or kept already; try again in {} minutes",
                KEPT.as_secs() / 60
            )));
        }
        recordings.insert(pid, recording);
        Ok(Response::new(wire::StartResponse {}))
    }

    async fn stop(&self, request: Request<wire::StopRequest>) -> Result<Response<wire::StopResponse>, Status> {
        let pid = process(request.into_inner().pid)?;
        let end = self.lock().get(&pid).map(Recording::stop);
        if let Some(mut end) = end {
            // What happened until now is there when this answers; a recording that died has said all it can.
            let _ = end.changed().await;
        }
        Ok(Response::new(wire::StopResponse {}))
    }

    async fn read(&self, request: Request<wire::ReadRequest>) -> Result<Response<wire::ReadResponse>, Status> {
        let pid = process(request.into_inner().pid)?;
        let recordings = self.lock();
        let Some(recording) = recordings.get(&pid) else {
            return Err(Status::not_found("nothing was recorded for this process; call Start and Stop first"));
        };
        let (data, left_out) = recording.data();
        let mut response = Response::new(wire::ReadResponse { data: Some(data) });
        if left_out > 0
            && let Ok(count) = left_out.to_string().parse()
        {
            response.metadata_mut().insert("jouletree-samples-left-out", count);
        }
        Ok(response)
    }
}

impl SamplerService {
    fn lock(&self) -> MutexGuard<'_, HashMap<Option<u32>, Recording>> {
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn process(pid: Option<u64>) -> Result<Option<u32>, Status> {
    let wrong = |_| Status::invalid_argument("there is no process of such a number");
    pid.map(u32::try_from).transpose().map_err(wrong)
}

fn granted(milliseconds: Option<u64>, fast: bool) -> Nanos {
    let wanted = i64::try_from(milliseconds.unwrap_or(PERIOD)).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    let floor = if fast { Options::SHORTEST } else { FLOOR };
    Nanos(wanted).clamp(floor, Options::LONGEST)
}

/// Forgets what nobody has asked for.
async fn tidy(recordings: Weak<Recordings>) {
    let mut minute = tokio::time::interval(Duration::from_secs(60));
    loop {
        minute.tick().await;
        let Some(recordings) = recordings.upgrade() else { return };
        let mut recordings = recordings.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.retain(|_, recording| !recording.is_older_than(KEPT));
    }
}

/// Reads requests as this service does: whatever they are, they are understood or refused.
pub(crate) fn read_requests(bytes: &[u8]) {
    use prost::Message;
    if let Ok(start) = wire::StartRequest::decode(bytes) {
        let _ = (process(start.pid), granted(start.period, true), granted(start.period, false));
    }
    if let Ok(stop) = wire::StopRequest::decode(bytes) {
        let _ = process(stop.pid);
    }
    if let Ok(read) = wire::ReadRequest::decode(bytes) {
        let _ = process(read.pid);
    }
    let _ = wire::DataSet::decode(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_have_a_floor() {
        assert_eq!(granted(None, false), FLOOR);
        assert_eq!(granted(None, true), Nanos(4_000_000));
        assert_eq!(granted(Some(0), true), Nanos(1_000_000));
        assert_eq!(granted(Some(50), false), Nanos(50_000_000));
        assert_eq!(granted(Some(u64::MAX), false), Nanos(1_000_000_000));
        assert_eq!(process(Some(7)).unwrap(), Some(7));
        assert!(process(Some(1 << 32)).is_err());
    }

    #[test]
    fn other_machines_are_kept_out_unless_they_are_asked_in() {
        let config = |address: &str, insecure| SmaragdineConfig {
            address: address.parse().unwrap(),
            insecure,
            fast: false,
        };
        assert!(config("[::1]:50051", false).checked_address().is_ok());
        assert!(config("127.0.0.2:50051", false).checked_address().is_ok());
        assert!(matches!(config("0.0.0.0:50051", false).checked_address(), Err(ServeError::Insecure(_))));
        assert!(config("[::]:50051", true).checked_address().is_ok());
    }
}
