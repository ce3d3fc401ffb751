//! Whether a daemon samples for this user.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;

use jouletree_daemon::SocketPlace;

use super::DaemonRow;

/// Where the daemon listens by default.
const SOCKET: &str = SocketPlace::PATH;

/// Knocks at its door, and leaves again.
pub(super) fn looked_at() -> DaemonRow {
    let (reason, remedy) = match UnixStream::connect(SOCKET) {
        Ok(_) => return DaemonRow { socket: SOCKET, reachable: true, reason: None, remedy: None },
        Err(error) => match error.kind() {
            ErrorKind::NotFound => ("it does not run".to_owned(), None),
            ErrorKind::PermissionDenied => (
                "it runs, and you are not of its group".to_owned(),
                Some("join the group, and log in again:\n    sudo usermod -aG jouletree \"$USER\""),
            ),
            ErrorKind::ConnectionRefused => (
                "its socket exists, but no daemon listens".to_owned(),
                Some("start it again:\n    sudo systemctl restart jouletree"),
            ),
            _ => (error.to_string(), None),
        },
    };
    DaemonRow { socket: SOCKET, reachable: false, reason: Some(reason), remedy: remedy.map(str::to_owned) }
}
