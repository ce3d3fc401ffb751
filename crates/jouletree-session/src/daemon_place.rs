//! Where a daemon is: at a socket of this machine, or elsewhere in the network.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use jouletree_daemon::Token;
use jouletree_daemon::client::Address;

/// Where a daemon is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonPlace {
    /// At a socket.
    Socket(PathBuf),
    /// At `host:port`.
    Network(String),
}

/// What opens a daemon that is elsewhere.
#[derive(Debug, Clone, Default)]
pub struct NetworkKeys {
    /// Its token, in a file that only its owner can read.
    pub token_file: Option<PathBuf>,
    /// Its certificate, or that of the authority that signed it, a PEM file.
    pub tls_ca: Option<PathBuf>,
}

impl From<OsString> for DaemonPlace {
    /// `https://node7:7443` and `node7:7443` are in the network, everything else is a path.
    fn from(text: OsString) -> DaemonPlace {
        let network = text.to_str().and_then(|text| {
            let bare = text.strip_prefix("https://");
            let address = bare.unwrap_or(text).trim_end_matches('/');
            let (host, port) = address.rsplit_once(':')?;
            let is_address = !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok();
            is_address.then(|| address.to_owned())
        });
        network.map_or_else(|| DaemonPlace::Socket(text.into()), DaemonPlace::Network)
    }
}

impl NetworkKeys {
    /// The address of a daemon, with what opens it.
    pub fn address(&self, place: &DaemonPlace) -> Result<Address> {
        let address = match place {
            DaemonPlace::Socket(path) => return Ok(Address::Unix(path.clone())),
            DaemonPlace::Network(address) => address.clone(),
        };
        let (Some(token), Some(certificate)) = (&self.token_file, &self.tls_ca) else {
            bail!(
                "the daemon at {address} is opened by its token and known by its certificate; give both with --token-file \
                 and --tls-ca"
            );
        };
        Ok(Address::Tls { address, certificate: certificate.clone(), token: Token::read(token)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        let place = |text: &str| DaemonPlace::from(OsString::from(text));
        for text in ["node7:7443", "https://node7:7443", "https://node7:7443/"] {
            assert_eq!(place(text), DaemonPlace::Network("node7:7443".to_owned()), "{text}");
        }
        assert_eq!(place("[::1]:7443"), DaemonPlace::Network("[::1]:7443".to_owned()));
        for text in ["/run/jouletree/daemon.sock", "daemon.sock", "./node7:7443", "/run/a:7443", "node7:", ":7443"]
        {
            assert_eq!(place(text), DaemonPlace::Socket(text.into()), "{text}");
        }
    }

    #[test]
    fn a_daemon_elsewhere_needs_its_token_and_its_certificate() {
        let place = DaemonPlace::Network("node7:7443".to_owned());
        let error = NetworkKeys::default().address(&place).unwrap_err().to_string();
        assert!(error.contains("--token-file") && error.contains("--tls-ca"), "{error}");
        let socket = DaemonPlace::Socket("/run/x".into());
        assert!(matches!(NetworkKeys::default().address(&socket), Ok(Address::Unix(_))));
    }
}
