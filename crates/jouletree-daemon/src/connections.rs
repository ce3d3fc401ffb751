//! The connections of a service, counted by their clients.
//!
//! Clients that the kernel identifies, or that have shown the token, keep their connections; those beyond the limits are
//! refused. Strangers never lock out others: at their limit, the one that was quiet for longest is closed.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jouletree_host::Throttle;
use tokio::sync::oneshot;
use tracing::warn;

use crate::config::Limits;

/// How many refused connections are logged in a minute.
const REFUSALS: u32 = 30;

/// Whom a connection is counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// A user of this machine.
    User(u32),
    /// An address, or the network that one machine has for itself.
    Address(IpAddr),
}

impl Party {
    /// The party of an address. A machine usually has 2^64 addresses of IPv6, which count as one.
    pub fn at(address: IpAddr) -> Party {
        match address.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                Party::Address(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into())
            }
            address => Party::Address(address),
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::User(user) => write!(f, "uid {user}"),
            Party::Address(address) => write!(f, "{address}"),
        }
    }
}

/// How clients come to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entrance {
    /// The kernel identifies them.
    Kernel,
    /// They show the token.
    Token,
    /// They never are.
    Open,
}

/// How many connections there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// Of all.
    pub all: usize,
    /// Of one party.
    pub of_party: usize,
}

/// There are as many trusted connections as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// The connections of one service.
#[derive(Debug)]
pub struct Connections {
    entrance: Entrance,
    trusted: Most,
    strangers: Most,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    /// By number; later ones have larger numbers.
    entries: BTreeMap<u64, Entry>,
    next: u64,
    /// Limits the messages about connections that were refused or closed for others.
    refusals: Throttle,
}

impl Default for Open {
    fn default() -> Open {
        Open { entries: BTreeMap::new(), next: 0, refusals: Throttle::new(REFUSALS, Duration::from_secs(60)) }
    }
}

#[derive(Debug)]
struct Entry {
    party: Party,
    is_trusted: bool,
    /// When it last made a call.
    called: Option<Instant>,
    /// Dropped to close the connection.
    _close: oneshot::Sender<()>,
}

impl Connections {
    /// The connections of a socket or, with an entrance of another kind, of an address in the network.
    pub fn new(entrance: Entrance, limits: &Limits) -> Arc<Connections> {
        let trusted = Most { all: limits.connections, of_party: limits.connections_of_user };
        let strangers = match entrance {
            // Programs of one user, and of all users of a machine, have one address.
            Entrance::Open => Most { all: limits.strangers, of_party: limits.strangers },
            _ => Most { all: limits.strangers, of_party: limits.strangers_of_address },
        };
        Arc::new(Connections { entrance, trusted, strangers, open: Mutex::default() })
    }

    /// How clients come to be trusted.
    pub fn entrance(&self) -> Entrance {
        self.entrance
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.lock().entries.len()
    }

    /// A place for a new connection, if there is one, and what says that it was taken away.
    pub fn admit(self: &Arc<Connections>, party: Party) -> Option<(ConnectionSlot, oneshot::Receiver<()>)> {
        let mut open = self.lock();
        let is_trusted = self.entrance == Entrance::Kernel;
        match is_trusted {
            true if !open.has_room(self.trusted, party) => {
                if let Some(suppressed) = open.refusals.pass(Instant::now()) {
                    let connections = open.entries.len();
                    warn!(client = %party, connections, suppressed, "connection refused: too many are open");
                }
                return None;
            }
            true => {}
            false => open.make_room(self.strangers, party),
        }
        let (close, closed) = oneshot::channel();
        let number = open.next;
        open.next += 1;
        open.entries.insert(number, Entry { party, is_trusted, called: None, _close: close });
        Some((ConnectionSlot { number, all: self.clone() }, closed))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn counted(&self, is_trusted: bool) -> impl Iterator<Item = (u64, &Entry)> {
        self.entries
            .iter()
            .filter(move |(_, entry)| entry.is_trusted == is_trusted)
            .map(|(id, entry)| (*id, entry))
    }

    fn has_room(&self, most: Most, party: Party) -> bool {
        let of_party = self.counted(true).filter(|(_, entry)| entry.party == party).count();
        // Root is never locked out by others, so that it can repair things.
        of_party < most.of_party && (self.counted(true).count() < most.all || party == Party::User(0))
    }

    /// Closes the strangers that were quiet for longest, so that one more can be admitted.
    fn make_room(&mut self, most: Most, party: Party) {
        while self.of(party) >= most.of_party.max(1) && self.close_quietest(party) {}
        while self.counted(false).count() >= most.all.max(1) {
            // The party with the most connections loses one.
            let parties = self.counted(false).map(|(_, entry)| entry.party);
            let Some(largest) = parties.max_by_key(|party| self.of(*party)) else { return };
            self.close_quietest(largest);
        }
    }

    /// The strangers of a party.
    fn of(&self, party: Party) -> usize {
        self.counted(false).filter(|(_, entry)| entry.party == party).count()
    }

    fn close_quietest(&mut self, party: Party) -> bool {
        let strangers = self.counted(false).filter(|(_, entry)| entry.party == party);
        // One that never made a call before one that did, and of equals the oldest.
        let quietest = strangers.min_by_key(|(number, entry)| (entry.called, *number)).map(|(number, _)| number);
        let closed = quietest.and_then(|number| self.entries.remove(&number));
        if closed.is_some()
            && let Some(suppressed) = self.refusals.pass(Instant::now())
        {
            warn!(client = %party, suppressed, "connection closed: too many without a token, and this one was idle longest");
        }
        closed.is_some()
    }
}

/// A place among the connections, which is free again when this is dropped.
#[derive(Debug)]
pub struct ConnectionSlot {
    number: u64,
    all: Arc<Connections>,
}

impl ConnectionSlot {
    /// The connections that it is among.
    pub fn all(&self) -> &Arc<Connections> {
        &self.all
    }

    /// Notes that a call was made.
    pub fn note_call(&self) {
        if let Some(entry) = self.all.lock().entries.get_mut(&self.number) {
            entry.called = Some(Instant::now());
        }
    }

    /// Trusts it from now on.
    pub fn trust(&self) -> Result<(), Full> {
        let mut open = self.all.lock();
        match open.entries.get(&self.number) {
            Some(entry) if entry.is_trusted => return Ok(()),
            Some(entry) if !open.has_room(self.all.trusted, entry.party) => return Err(Full),
            _ => {}
        }
        // One that was just closed hears of it soon.
        let entry = open.entries.get_mut(&self.number);
        entry.into_iter().for_each(|entry| entry.is_trusted = true);
        Ok(())
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.all.lock().entries.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(entrance: Entrance, of_party: usize, all: usize) -> Arc<Connections> {
        let limits = Limits {
            connections: all,
            connections_of_user: of_party,
            strangers: all,
            strangers_of_address: of_party,
            ..Limits::default()
        };
        Connections::new(entrance, &limits)
    }

    fn address(text: &str) -> Party {
        Party::at(text.parse().unwrap())
    }

    type Admitted = (ConnectionSlot, oneshot::Receiver<()>);

    fn is_closed(admitted: &mut Admitted) -> bool {
        admitted.1.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn users_are_counted_and_refused() {
        let all = connections(Entrance::Kernel, 1, 2);
        let first = all.admit(Party::User(7)).unwrap();
        assert!(all.admit(Party::User(7)).is_none(), "one has one place");
        let second = all.admit(Party::User(9)).unwrap();
        assert!(all.admit(Party::User(8)).is_none(), "there are two places");
        assert!(all.admit(Party::User(0)).is_some(), "root is let in");
        drop(first);
        assert!(all.admit(Party::User(7)).is_some());
        drop(second);
        assert_eq!(all.count(), 0);
    }

    #[test]
    fn strangers_do_not_lock_out_others() {
        let all = connections(Entrance::Token, 2, 4);
        let [here, there] = ["127.0.0.1", "192.0.2.7"].map(address);
        let mut owner = all.admit(here).unwrap();
        assert_eq!(owner.0.trust(), Ok(()));
        let mut strangers: Vec<Admitted> = (0..20).map(|_| all.admit(here).unwrap()).collect();
        let open = strangers.iter_mut().filter_map(|stranger| (!is_closed(stranger)).then_some(())).count();
        assert_eq!((open, all.count()), (2, 3));
        assert!(!is_closed(&mut strangers[19]), "the newest has its chance to show the token");
        let mut other = all.admit(there).unwrap();
        assert!(!is_closed(&mut other) && !is_closed(&mut owner));
        assert_eq!(other.0.trust(), Ok(()));
        // Clients with the token have their own limit, and an error beyond it.
        assert_eq!(
            (other.0.trust(), strangers[19].0.trust(), strangers[18].0.trust()),
            (Ok(()), Ok(()), Err(Full))
        );
    }

    #[test]
    fn the_quietest_stranger_of_the_largest_party_is_closed() {
        let all = connections(Entrance::Open, 9, 3);
        let [here, there] = ["127.0.0.1", "192.0.2.7"].map(address);
        let mut three: Vec<Admitted> = [here, here, there].map(|party| all.admit(party).unwrap()).into();
        three[0].0.note_call();
        let _fourth = all.admit(there).unwrap();
        assert_eq!([0, 1, 2].map(|place: usize| is_closed(&mut three[place])), [false, true, false]);
    }

    #[test]
    fn addresses_of_one_machine_are_one_party() {
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:0:1"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("192.0.2.1"), address("192.0.2.2"));
        assert_ne!(address("::1"), address("::2"));
    }
}
