//! The Unix socket: there with the right owner and mode from its first instant, and gone when the daemon is.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// How many connections may wait to be accepted.
const WAITING: i32 = 128;

/// The mode of the socket's folder.
const FOLDER_MODE: u32 = 0o755;

/// Where the socket is and who may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketPlace {
    /// Its path.
    pub path: PathBuf,
    /// Its mode.
    pub mode: u32,
    /// The group that may use it, by name or number; otherwise `jouletree` where there is such a group, and the
    /// daemon's own where not.
    pub group: Option<String>,
}

/// The default group.
const GROUP: &str = "jouletree";

impl SocketPlace {
    /// Where clients look for it.
    pub const PATH: &str = "/run/jouletree/daemon.sock";
}

impl Default for SocketPlace {
    fn default() -> SocketPlace {
        SocketPlace { path: SocketPlace::PATH.into(), mode: 0o660, group: None }
    }
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another daemon serves.
    #[error("another daemon serves {0}; stop it first, or choose another path with --socket")]
    Taken(PathBuf),
    /// What is there is not a socket.
    #[error("{0} is there and is no socket; move it away, or choose another path with --socket")]
    NoSocket(PathBuf),
    /// There is no such group.
    #[error("there is no group `{0}` in /etc/group; create it with: groupadd --system {0}; or give its number")]
    NoGroup(String),
    /// The system refuses.
    #[error("{0}: {1}; run the daemon as root, or choose another path with --socket")]
    System(PathBuf, #[source] io::Error),
}

/// A socket that others can connect to. It is removed when this is dropped.
#[derive(Debug)]
pub struct DaemonSocket {
    path: PathBuf,
    /// What distinguishes the socket from a later one of the same name.
    file: (u64, u64),
    /// Held as long as the daemon serves, and kept when it ends: removing it would let two daemons hold it.
    _lock: File,
}

impl DaemonSocket {
    /// Makes the socket, in a folder that is made if it is missing. One that is left from a daemon that has ended is
    /// replaced.
    pub fn bind(place: &SocketPlace) -> Result<(DaemonSocket, UnixListener), SocketError> {
        let path = &place.path;
        let system = |error: io::Error| SocketError::System(path.clone(), error);
        let group = place.group()?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        open_folder(folder).map_err(system)?;
        let lock = lock(path)?;
        match fs::symlink_metadata(path) {
            Ok(there) if !there.file_type().is_socket() => return Err(SocketError::NoSocket(path.clone())),
            Ok(_) if UnixStream::connect(path).is_ok() => return Err(SocketError::Taken(path.clone())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(system(error)),
        }
        // Made under another name, and listening only when owner and mode are right.
        let new = with_suffix(path, ".new");
        let _ = fs::remove_file(&new);
        let listener = listen(&new, place.mode, group).map_err(system)?;
        let there = fs::symlink_metadata(&new).map_err(system)?;
        fs::rename(&new, path).map_err(system)?;
        Ok((DaemonSocket { path: path.clone(), file: (there.dev(), there.ino()), _lock: lock }, listener))
    }
}

impl Drop for DaemonSocket {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|there| (there.dev(), there.ino()) == self.file);
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl SocketPlace {
    fn group(&self) -> Result<Option<u32>, SocketError> {
        let groups = fs::read_to_string("/etc/group").unwrap_or_default();
        match &self.group {
            None => Ok(group_in(&groups, GROUP)),
            Some(name) => match name.parse().ok().or_else(|| group_in(&groups, name)) {
                Some(group) => Ok(Some(group)),
                None => Err(SocketError::NoGroup(name.clone())),
            },
        }
    }
}

/// Makes the folder of the socket, whatever the umask is: clients have to get through it. One that was there keeps its
/// mode, unless it is the daemon's own.
fn open_folder(folder: &Path) -> io::Result<()> {
    let is_usual = Path::new(SocketPlace::PATH).parent() == Some(folder);
    if !folder.exists() {
        if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
            open_folder(above)?;
        }
        match fs::DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Ok(()) => return fs::set_permissions(folder, fs::Permissions::from_mode(FOLDER_MODE)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let there = fs::metadata(folder)?;
    let is_ours = there.uid() == rustix::process::geteuid().as_raw();
    if is_usual && is_ours && there.mode() & FOLDER_MODE != FOLDER_MODE {
        fs::set_permissions(folder, fs::Permissions::from_mode(there.mode() & 0o7777 | FOLDER_MODE))?;
    }
    Ok(())
}

fn listen(path: &Path, mode: u32, group: Option<u32>) -> io::Result<UnixListener> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    chown(path, None, group)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    rustix::net::listen(&socket, WAITING)?;
    let listener = UnixListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Two daemons that start at once must not both find no other daemon.
fn lock(path: &Path) -> Result<File, SocketError> {
    let name = with_suffix(path, ".lock");
    let system = |error| SocketError::System(name.clone(), error);
    let file = File::options().create(true).truncate(false).write(true).open(&name).map_err(system)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(SocketError::Taken(path.to_owned())),
        Err(error) => Err(system(error.into())),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn group_in(groups: &str, name: &str) -> Option<u32> {
    let mut lines = groups.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folder: &tempfile::TempDir) -> SocketPlace {
        SocketPlace { path: folder.path().join("run/d.sock"), mode: 0o660, group: None }
    }

    #[test]
    fn is_there_with_its_mode_and_goes_with_its_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        let (socket, _listener) = DaemonSocket::bind(&place).unwrap();
        let mode = fs::metadata(&place.path).unwrap().mode();
        assert_eq!(mode & 0o777, 0o660);
        assert_eq!(fs::metadata(folder.path().join("run")).unwrap().mode() & 0o777, 0o755);
        assert!(matches!(DaemonSocket::bind(&place), Err(SocketError::Taken(_))));
        assert!(UnixStream::connect(&place.path).is_ok(), "the other was not disturbed");
        drop(socket);
        assert!(!place.path.exists());
    }

    #[test]
    fn a_stale_socket_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        fs::create_dir(folder.path().join("run")).unwrap();
        drop(UnixListener::bind(&place.path).unwrap());
        assert!(place.path.exists());
        let (socket, _listener) = DaemonSocket::bind(&place).unwrap();
        assert!(UnixStream::connect(&place.path).is_ok());
        drop(socket);
        let _foreign = UnixListener::bind(&place.path).unwrap();
        assert!(matches!(DaemonSocket::bind(&place), Err(SocketError::Taken(_))));
        fs::remove_file(&place.path).unwrap();
        fs::write(&place.path, "precious").unwrap();
        assert!(matches!(DaemonSocket::bind(&place), Err(SocketError::NoSocket(_))));
        assert_eq!(fs::read(&place.path).unwrap(), b"precious");
    }

    #[test]
    fn groups_are_known_by_name_and_number() {
        let groups = "root:x:0:\njouletreex:x:7:\njouletree:x:42:a,b\nbroken\n";
        assert_eq!(group_in(groups, "jouletree"), Some(42));
        assert_eq!(group_in(groups, "tree"), None);
        assert_eq!(group_in(groups, "broken"), None);
        let folder = tempfile::tempdir().unwrap();
        let missing = SocketPlace { group: Some("no such group".to_owned()), ..place(&folder) };
        assert!(matches!(DaemonSocket::bind(&missing), Err(SocketError::NoGroup(_))));
    }
}
