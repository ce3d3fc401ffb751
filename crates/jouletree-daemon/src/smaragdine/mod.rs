//! The published Smaragdine protocol, so that its clients work with this daemon: Start, Stop, Read.
//!
//! Its clients name a process when they start a recording, and often none when they stop and read it: that means what
//! the connection started last ([`recordings`]). What was recorded is kept, encoded, until the same process is started
//! again or for some time: an answer that gets lost can be asked for again. The protocol has no passwords and no users,
//! so every client is a stranger, and periods have the floor of strangers unless the daemon was started with
//! `--smaragdine-fast`; recordings of one user of this machine are not shown to another ([`owner`]). It cannot say
//! how a number came to be either, so estimates are left out: energy is measured or absent.

mod book;
mod clock;
mod energy;
mod gpu_power;
mod ledger;
mod machine;
mod owner;
mod recording;
mod recordings;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use jouletree_host::Roots;
use jouletree_meter::sampler::Options;
use jouletree_meter::station::Station;
use jouletree_model::{DeviceClass, Nanos};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Request, Response, Status};
use tracing::info;

use crate::config::Limits;
use crate::connection::Caller;
use crate::policy::FLOOR;
use crate::serve::{LARGEST_REQUEST, ServeError};
use crate::wire::smaragdine as wire;
use crate::wire::smaragdine::sampler_server::{Sampler, SamplerServer};
use gpu_power::GpuPower;
use ledger::Ledger;
use owner::Owner;
use recording::{Means, SmaragdineRecording};
use recordings::{Client, Full, Recordings};

/// The period where a client does not say, in milliseconds.
const PERIOD: u64 = 4;
/// Clients of gRPC refuse answers of more than 4 MiB by default. A few bytes go around the data.
const LARGEST_ANSWER: usize = (4 << 20) - 64;
/// The header of a request by which a client says how large an answer it takes, in bytes.
const TAKES: &str = "jouletree-largest-answer";
/// The header of an answer that says one of how many samples there are in it.
const ONE_OF: &str = "jouletree-one-of";

/// How the Smaragdine protocol is served. It has no authentication: any client that reaches the address may use it.
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
pub(crate) fn service(
    station: Station,
    roots: Roots,
    fast: bool,
    limits: &Limits,
) -> SamplerServer<SamplerService> {
    let recordings = Arc::new(Mutex::new(Recordings::default()));
    let times = (limits.recording_kept_for, limits.recording_unattended_for);
    tokio::spawn(tidy(Arc::downgrade(&recordings), times));
    let (gpus, ledger) = (OnceLock::new(), Ledger::default());
    let service = SamplerService { station, roots, fast, recordings, gpus, ledger };
    SamplerServer::new(service).max_decoding_message_size(LARGEST_REQUEST).max_encoding_message_size(usize::MAX)
}

#[derive(Debug)]
pub(crate) struct SamplerService {
    station: Station,
    roots: Roots,
    fast: bool,
    recordings: Arc<Mutex<Recordings>>,
    gpus: OnceLock<GpuPower>,
    ledger: Ledger,
}

#[tonic::async_trait]
impl Sampler for SamplerService {
    async fn start(&self, request: Request<wire::StartRequest>) -> Result<Response<wire::StartResponse>, Status> {
        let client = self.client(&request).await?;
        let request = request.into_inner();
        let pid = process(request.pid)?;
        let period = granted(request.period, self.fast);
        // Twice is once, as published.
        if self.lock().is_running(&client, pid) {
            return Ok(Response::new(wire::StartResponse {}));
        }
        let full = |Full(count)| {
            Status::resource_exhausted(format!("{count} processes are being recorded already; stop some of them"))
        };
        self.lock().make_room(&client, pid).map_err(full)?;
        let means = self.means();
        let recording = tokio::task::spawn_blocking(move || SmaragdineRecording::start(means, pid, period)).await;
        let recording = recording.map_err(|_| Status::internal("the recording could not begin"))??;
        let mut recordings = self.lock();
        recordings.make_room(&client, pid).map_err(full)?;
        recordings.add(&client, pid, recording);
        info!(owner = ?client.owner, pid, %period, "Smaragdine recording started");
        Ok(Response::new(wire::StartResponse {}))
    }

    async fn stop(&self, request: Request<wire::StopRequest>) -> Result<Response<wire::StopResponse>, Status> {
        let client = self.client(&request).await?;
        let pid = process(request.into_inner().pid)?;
        let end = self.lock().stop(&client, pid).map(SmaragdineRecording::stop);
        if let Some(mut end) = end {
            info!(owner = ?client.owner, pid, "Smaragdine recording stopped");
            // What happened until now is there when this answers; a recording that died has said all it can.
            let _ = end.changed().await;
        }
        Ok(Response::new(wire::StopResponse {}))
    }

    async fn read(&self, request: Request<wire::ReadRequest>) -> Result<Response<wire::ReadResponse>, Status> {
        let client = self.client(&request).await?;
        let takes = takes(request.metadata().get(TAKES))?;
        let pid = process(request.into_inner().pid)?;
        let written = match self.lock().read(&client, pid) {
            Some(recording) => recording.written(),
            // As published: a Read before any recording gives an empty set.
            None if pid.is_none() => None,
            None => {
                return Err(Status::not_found("nothing was recorded for this process; call Start and Stop first"));
            }
        };
        let fitted = tokio::task::spawn_blocking(move || written.map(|written| written.within(takes))).await;
        let (data, one_of) =
            fitted.map_err(|_| Status::internal("the answer could not be made"))?.unwrap_or_default();
        let mut response = Response::new(wire::ReadResponse { data: Some(data) });
        if one_of > 1
            && let Ok(count) = one_of.to_string().parse()
        {
            response.metadata_mut().insert(ONE_OF, count);
        }
        Ok(response)
    }
}

impl SamplerService {
    fn lock(&self) -> MutexGuard<'_, Recordings> {
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client of a call.
    async fn client<T>(&self, request: &Request<T>) -> Result<Client, Status> {
        let caller = Caller::of(request)?;
        caller.note_call();
        let (line, proc) = (caller.line.clone(), self.roots.proc.clone());
        let owner = tokio::task::spawn_blocking(move || Owner::of(&line, &proc)).await;
        let unknown =
            |error| Status::unavailable(format!("the caller cannot be looked up: {error}; try again later"));
        let owner = owner.map_err(|_| Status::internal("the caller could not be looked up"))?.map_err(unknown)?;
        Ok(Client { owner, line: caller.line })
    }

    fn means(&self) -> Means {
        let has_gpu = self.station.sensors().iter().any(|info| info.device.class() == DeviceClass::Gpu);
        let gpus = has_gpu.then(|| self.gpus.get_or_init(|| GpuPower::start(&self.roots)).reader());
        Means { station: self.station.clone(), roots: self.roots.clone(), gpus, account: self.ledger.open() }
    }
}

/// How large an answer a client takes.
#[allow(clippy::result_large_err, reason = "this is how services refuse")]
fn takes(header: Option<&MetadataValue<Ascii>>) -> Result<usize, Status> {
    let Some(header) = header else { return Ok(LARGEST_ANSWER) };
    let bytes = header.to_str().ok().and_then(|text| text.parse().ok());
    bytes.ok_or_else(|| Status::invalid_argument(format!("`{TAKES}` must be a number of bytes")))
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

/// Ends and forgets what was left alone.
async fn tidy(recordings: Weak<Mutex<Recordings>>, (kept_for, unattended_for): (Duration, Duration)) {
    let mut interval = tokio::time::interval(kept_for.min(unattended_for).min(Duration::from_secs(60)) / 2);
    loop {
        interval.tick().await;
        let Some(recordings) = recordings.upgrade() else { return };
        recordings.lock().unwrap_or_else(PoisonError::into_inner).tidy(kept_for, unattended_for);
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
