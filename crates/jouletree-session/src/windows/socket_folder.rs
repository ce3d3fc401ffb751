//! Where the socket is: in a folder of its own that no other user may enter, gone when its recorder is.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::private_folder::{PrivateFolder, SOCKET};

/// The longest path that a socket can have.
const LONGEST: usize = 107;

/// A socket in its folder. Both are removed when this is dropped.
pub struct SocketFolder {
    socket: PathBuf,
    _folder: PrivateFolder,
}

impl SocketFolder {
    /// Makes a folder and a socket in it, which listens.
    pub fn make() -> io::Result<(SocketFolder, UnixListener)> {
        let folder = PrivateFolder::make(LONGEST - SOCKET.len() - 1)?;
        let place = SocketFolder { socket: folder.path().join(SOCKET), _folder: folder };
        let listener = UnixListener::bind(&place.socket)?;
        listener.set_nonblocking(true)?;
        Ok((place, listener))
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.socket
    }
}
