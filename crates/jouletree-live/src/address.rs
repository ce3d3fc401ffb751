//! Where an endpoint listens: on this machine only, unless another address is written out.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// An address to listen at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress(pub SocketAddr);

/// An address that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no address; write a port (:9108) to be reached from this machine, or an address and a port \
     (192.0.2.7:9108, [::]:9108)"
)]
pub struct AddressError(String);

impl ListenAddress {
    /// Whether only programs of this machine can reach it.
    pub fn is_closed(self) -> bool {
        self.0.ip().is_loopback()
    }
}

impl FromStr for ListenAddress {
    type Err = AddressError;

    /// Reads `:9108` and `9108`, which are of the loopback interface, `127.0.0.1:9108`, `[::1]:9108`, `localhost:9108`.
    fn from_str(text: &str) -> Result<ListenAddress, AddressError> {
        let text = text.trim();
        let port = text.strip_prefix("localhost").filter(|rest| rest.starts_with(':')).unwrap_or(text);
        let port = port.strip_prefix(':').unwrap_or(port);
        // `parse` alone would take `+9108`.
        if !port.is_empty() && port.bytes().all(|letter| letter.is_ascii_digit()) {
            let port = port.parse().map_err(|_| AddressError(text.to_owned()))?;
            return Ok(ListenAddress(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)));
        }
        text.parse().map(ListenAddress).map_err(|_| AddressError(text.to_owned()))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_closed_and_an_address_is_what_it_says() {
        for (text, address, is_closed) in [
            (":9108", "127.0.0.1:9108", true),
            ("9108", "127.0.0.1:9108", true),
            ("localhost:0", "127.0.0.1:0", true),
            ("[::1]:9108", "[::1]:9108", true),
            ("0.0.0.0:9108", "0.0.0.0:9108", false),
            ("[::]:1", "[::]:1", false),
            ("192.0.2.7:65535", "192.0.2.7:65535", false),
        ] {
            let read: ListenAddress = text.parse().unwrap();
            assert_eq!((read.to_string().as_str(), read.is_closed()), (address, is_closed), "{text}");
        }
        for text in ["", ":", ":65536", "+9108", "-1", "example.org:9108", "127.0.0.1", "::1:9108x", "a b"] {
            let error = text.parse::<ListenAddress>().unwrap_err().to_string();
            assert!(error.contains(":9108"), "{text}: {error}");
        }
    }
}
