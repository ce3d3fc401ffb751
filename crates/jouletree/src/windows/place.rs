//! Where the socket is: in a folder of its own that nobody else may enter, gone when its recorder is.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest path that a socket can have.
const LONGEST: usize = 107;
const ATTEMPTS: u32 = 16;

/// A socket in its folder. Both are removed when this is dropped.
pub struct Place {
    folder: PathBuf,
    socket: PathBuf,
}

impl Place {
    /// Makes a folder and a socket in it, which listens.
    pub fn make() -> io::Result<(Place, UnixListener)> {
        let folders = [std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), Some(std::env::temp_dir())];
        let folders = folders.into_iter().flatten().chain([PathBuf::from("/tmp")]);
        let mut failed = io::Error::other("no folder is short enough for a socket");
        for folder in folders.filter(|folder| folder.is_absolute()) {
            match Place::below(&folder) {
                Ok(made) => return Ok(made),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn below(folder: &Path) -> io::Result<(Place, UnixListener)> {
        for attempt in 0..ATTEMPTS {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
            let name = format!("jouletree-{}-{:08x}", std::process::id(), now.wrapping_add(attempt));
            let folder = folder.join(name);
            let socket = folder.join("windows");
            if socket.as_os_str().len() > LONGEST {
                return Err(io::Error::new(io::ErrorKind::InvalidFilename, "the path is too long for a socket"));
            }
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    let place = Place { folder, socket };
                    let listener = UnixListener::bind(&place.socket)?;
                    listener.set_nonblocking(true)?;
                    return Ok((place, listener));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "every name is taken"))
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is in nobody's way.
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_dir(&self.folder);
    }
}
