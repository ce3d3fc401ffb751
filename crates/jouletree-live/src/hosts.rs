//! The names by which an endpoint may be asked. A web page whose name was made to point at this machine (DNS rebinding)
//! asks by that name, and would otherwise read the answers as its own.

use std::net::IpAddr;

use crate::address::ListenAddress;

/// The names that an endpoint answers to.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<String>,
    /// Whether all names are answered to.
    are_all: bool,
}

impl Hosts {
    /// The names that were given, `localhost` and the name of this machine. An endpoint that other machines can reach is
    /// called by names that it does not know: without any that were given it answers to all.
    pub(crate) fn new(at: ListenAddress, given: &[String]) -> Hosts {
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let names = given.iter().cloned().chain(["localhost".to_owned(), machine]);
        Hosts {
            names: names.filter(|name| !name.is_empty()).collect(),
            are_all: given.is_empty() && !at.is_closed(),
        }
    }

    /// Whether it answers to a host, with or without a port. Any address is allowed: no web page has one of ours as its name.
    pub(crate) fn has(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        // A name may be written as complete.
        let name = name.strip_suffix('.').unwrap_or(name);
        self.are_all
            || name.parse::<IpAddr>().is_ok()
            || self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_and_addresses_are_answered_to() {
        let given = ["gpu7.example.org".to_owned()];
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        for at in [":9108", "192.0.2.7:9108"] {
            let hosts = Hosts::new(at.parse().unwrap(), &given);
            for host in
                ["localhost", "LOCALHOST:9108", "127.0.0.1:9108", "192.0.2.7:9108", "[::1]:9108", "[2001:db8::1]"]
            {
                assert!(hosts.has(host), "{at} {host}");
            }
            assert!(hosts.has("GPU7.example.org:9108") && hosts.has("gpu7.example.org.") && hosts.has(&machine));
            for host in
                ["", "attacker.example", "localhost.attacker.example:9108", "gpu7", "127.0.0.1.attacker.example"]
            {
                assert!(!hosts.has(host), "{at} {host}");
            }
        }
        assert!(!Hosts::new(":9108".parse().unwrap(), &[]).has("gpu7.example.org"));
        assert!(Hosts::new("0.0.0.0:9108".parse().unwrap(), &[]).has("gpu7.example.org"));
    }
}
