//! Windows: a program asks its recorder how many joules a stretch of its own time took, and is answered at once.
//!
//! [`SocketFolder`] is a socket that the program finds through its environment, [`Windows`] what the recorder brings its batches
//! to. A thread talks to programs by a protocol of lines ([`protocol`], docs/windows.md). Whatever programs send, the
//! recording goes on.

mod connection;
mod lines;
mod protocol;
mod rest;
mod serve;
mod service;
mod socket_folder;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use jouletree_meter::station::Feed;
use jouletree_model::Nanos;
use jouletree_model::sampling::Batch;

use connection::Connection;
pub use rest::Resting;
use service::WindowService;
use socket_folder::SocketFolder;

/// The environment variable that says where its recorder listens.
pub const SOCKET: &str = "JOULETREE_SOCKET";

/// A socket that is not served yet.
pub struct WindowSocket {
    place: SocketFolder,
    listener: UnixListener,
    resting: Option<Box<Resting>>,
}

impl WindowSocket {
    /// Makes a socket at a place of its own.
    pub fn make() -> io::Result<WindowSocket> {
        let (place, listener) = SocketFolder::make()?;
        Ok(WindowSocket { place, listener, resting: None })
    }

    /// Notifies clients when the machine is stable.
    pub fn judge_rest(&mut self, resting: Resting) {
        self.resting = Some(Box::new(resting));
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}

/// Answers programs about windows of a recording. It ends with everything answered when this is dropped.
pub struct Windows {
    service: Arc<WindowService>,
    thread: Option<JoinHandle<()>>,
    _place: Option<SocketFolder>,
}

impl Windows {
    /// Answers clients at a socket.
    pub fn at(socket: WindowSocket, feed: &dyn Feed, period: Nanos) -> io::Result<Windows> {
        let WindowSocket { place, listener, resting } = socket;
        let service = WindowService::new(feed, period, resting.map(|resting| *resting))?;
        Windows::start(service, Some(listener), Vec::new(), Some(place))
    }

    /// Answers the program that writes to this one's standard input and reads its standard output.
    pub fn at_standard_streams(feed: &dyn Feed, period: Nanos) -> io::Result<Windows> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let service = WindowService::new(feed, period, None)?;
        Windows::start(service, None, vec![Connection::of_pipes(0, input, output)], None)
    }

    fn start(
        service: WindowService,
        listener: Option<UnixListener>,
        connections: Vec<Connection>,
        place: Option<SocketFolder>,
    ) -> io::Result<Windows> {
        let service = Arc::new(service);
        let thread = serve::start(service.clone(), listener, connections)?;
        Ok(Windows { service, thread: Some(thread), _place: place })
    }

    /// Takes what happened since the batch before.
    pub fn take(&self, batch: &Batch) {
        self.service.take(batch);
    }

    /// Whether all clients are gone.
    pub fn are_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        self.service.finish();
        if let Some(thread) = self.thread.take() {
            // It ends within half a second. If it panicked, programs got no answers, which is no harm to them.
            let _ = thread.join();
        }
    }
}
