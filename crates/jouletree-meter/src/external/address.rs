//! Where the lines of a meter come from.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The place of an external meter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeterAddress {
    /// A file that grows, a named pipe, a serial line or a Unix socket: what it is, is seen when it is opened.
    File(PathBuf),
    /// A server that sends lines to every client, as `host:port`.
    Tcp(String),
}

impl FromStr for MeterAddress {
    type Err = Infallible;

    /// `host:port` without a slash is a socket, `tcp:host:port` is one, too, and everything else is a file.
    fn from_str(text: &str) -> Result<MeterAddress, Infallible> {
        if let Some(address) = text.strip_prefix("tcp:") {
            return Ok(MeterAddress::Tcp(address.trim_start_matches('/').to_owned()));
        }
        let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty() && !host.contains('/'));
        Ok(match port {
            Some((_, port)) if port.parse::<u16>().is_ok() => MeterAddress::Tcp(text.to_owned()),
            _ => MeterAddress::File(text.into()),
        })
    }
}

impl fmt::Display for MeterAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeterAddress::File(path) => write!(f, "{}", path.display()),
            MeterAddress::Tcp(address) => f.write_str(address),
        }
    }
}

impl MeterAddress {
    /// What to do when it cannot be opened.
    pub(super) fn remedy(&self) -> &'static str {
        match self {
            MeterAddress::File(_) => "start the meter's logger first, and see that you may read what it writes",
            MeterAddress::Tcp(_) => {
                "start what sends the meter's lines first, and see that it listens at this address"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_told_from_files() {
        for (text, place) in [
            ("meter.lab:9000", MeterAddress::Tcp("meter.lab:9000".to_owned())),
            ("[::1]:9000", MeterAddress::Tcp("[::1]:9000".to_owned())),
            ("tcp://meter:9000", MeterAddress::Tcp("meter:9000".to_owned())),
            ("/run/meter:9000", MeterAddress::File("/run/meter:9000".into())),
            ("power.csv", MeterAddress::File("power.csv".into())),
            ("a:b", MeterAddress::File("a:b".into())),
        ] {
            assert_eq!(text.parse::<MeterAddress>().unwrap(), place);
        }
    }
}
