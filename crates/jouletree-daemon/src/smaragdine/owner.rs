//! Whose a recording is. The protocol has no users, so the kernel is asked: it knows whose socket is at the other end of
//! a connection of this machine. Elsewhere the address has to do.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use crate::connection::Line;

/// The client that began a recording, and may stop and read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    address: Option<IpAddr>,
    /// The user of this machine, where it is one.
    user: Option<u32>,
}

/// A connection that is set up is in the list. One that is set up or ends meanwhile may hide another from a single look.
const LOOKS: u32 = 3;

impl Owner {
    /// The client of a connection. It reads the list of all connections, once for each connection.
    pub(super) fn of(line: &Line, proc: &Path) -> io::Result<Owner> {
        let Some((theirs, ours)) = line.ends else { return Ok(Owner { address: None, user: None }) };
        let address = theirs.ip().to_canonical();
        let user = match line.user.get() {
            Some(user) => *user,
            None => {
                let is_here = address.is_loopback() || address == ours.ip().to_canonical();
                let user = if is_here { user_of(proc, theirs, ours)? } else { None };
                *line.user.get_or_init(|| user)
            }
        };
        Ok(Owner { address: Some(address), user })
    }
}

/// The user whose socket is at `theirs` and connected with `ours`; `None` where the kernel does not list it.
fn user_of(proc: &Path, theirs: SocketAddr, ours: SocketAddr) -> io::Result<Option<u32>> {
    for _ in 0..LOOKS {
        for name in ["net/tcp", "net/tcp6"] {
            let text = match fs::read_to_string(proc.join(name)) {
                Ok(text) => text,
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(user) = text.lines().find_map(|line| user_in(line, theirs, ours)) {
                return Ok(Some(user));
            }
        }
    }
    Ok(None)
}

/// The user of a line of the kernel's list, if it is about this connection.
fn user_in(line: &str, theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let is = |text: &str, end: SocketAddr| address(text) == Some((end.ip().to_canonical(), end.port()));
    (is(words.next()?, theirs) && is(words.next()?, ours)).then(|| words.nth(4)?.parse().ok())?
}

/// `0100007F:1F90`: addresses are words in the order of the machine's bytes.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let word = |from: usize| {
        let digits = address.get(from * 8..from * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (place, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(place)?);
            }
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_knows_the_user_at_the_other_end() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                eprintln!("SKIP: this machine has no {address}");
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (theirs, ours) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            let found = user_of(Path::new("/proc"), theirs, ours).unwrap();
            assert_eq!(found, Some(rustix::process::geteuid().as_raw()));
            let other = SocketAddr::new(theirs.ip(), theirs.port() ^ 1);
            assert_eq!(user_of(Path::new("/proc"), other, ours).unwrap(), None);
        }
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["127.0.0.1:1", "127.0.0.1:2"].map(|end| end.parse().unwrap());
        assert_eq!(user_of(folder.path(), one, two).unwrap(), None, "a machine without the list");
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn lines_are_understood_or_left() {
        let line =
            "   1: 0100007F:C383 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 7 1";
        let [theirs, ours] = ["127.0.0.1:50051", "127.0.0.1:8080"].map(|end| end.parse().unwrap());
        assert_eq!(user_in(line, theirs, ours), Some(1000));
        assert_eq!(user_in(line, ours, theirs), None);
        // A client of IPv4 at a socket of IPv6.
        let mapped = "[::ffff:127.0.0.1]:50051".parse().unwrap();
        assert_eq!(user_in(line, mapped, ours), Some(1000));
        for end in 0..line.len() {
            let _ = user_in(&line[..end], theirs, ours);
        }
        for text in ["", ":", "0100007F", "0100007é:1F90", "0100007F:1F9000", "0100007F0:1F90"] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
