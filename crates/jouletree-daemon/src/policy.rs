//! Who may see what, and how finely.
//!
//! Energy at a fine grain shows what a processor computes: secret keys were read from it (the PLATYPUS attacks, 2020).
//! So processes of other users, and the machine as a whole, are shown to others than root no finer than every
//! [`FLOOR`]. Clients from the network own no process.

use std::fmt;

use jouletree_model::Nanos;

/// The shortest period for what is not one's own.
pub const FLOOR: Nanos = Nanos(10_000_000);

/// Who is at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A user of this machine, as the kernel says.
    User(u32),
    /// A client of the network that knows the token.
    Remote,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::User(user) => write!(f, "uid {user}"),
            Peer::Remote => f.write_str("remote"),
        }
    }
}

/// What a client wants to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The machine as a whole.
    Machine,
    /// A process tree, by the owner of its root.
    Process(Owner),
}

/// The owner of a process. One that runs with the rights of another user, if only in part, is not the user's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Who started it.
    pub real: u32,
    /// With whose rights it runs.
    pub effective: u32,
    /// Whose rights it may take back.
    pub saved: u32,
}

/// What is done with those who want to watch processes of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Foreign {
    /// They may, no finer than [`FLOOR`].
    #[default]
    Floor,
    /// They may not.
    Refuse,
}

/// What is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The period.
    pub period: Nanos,
    /// Why it is longer than what was asked for, if it is.
    pub why_longer: Option<String>,
    /// Whether it depends on the process staying the peer's own.
    pub only_own: bool,
    /// What is seen is not the peer's own, and seen no finer than this, however many sessions there are.
    pub floor: Option<Nanos>,
}

/// Why a client may not watch a process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the process belongs to another user, and this daemon does not show such processes (`--foreign refuse`); watch one \
     of your own, or ask as root"
)]
pub struct Refused;

impl Peer {
    /// Whether it may do anything.
    pub fn is_root(self) -> bool {
        self == Peer::User(0)
    }

    /// Whether a process is entirely its own.
    pub fn owns(self, owner: Owner) -> bool {
        let Peer::User(user) = self else { return false };
        [owner.real, owner.effective, owner.saved] == [user; 3]
    }
}

/// What a peer is granted that wants to watch a target at a period.
pub fn grant(peer: Peer, target: Target, period: Nanos, foreign: Foreign) -> Result<Grant, Refused> {
    let whose = match target {
        _ if peer.is_root() => return Ok(Grant { period, why_longer: None, only_own: false, floor: None }),
        Target::Process(owner) if peer.owns(owner) => {
            let only_own = period < FLOOR || foreign == Foreign::Refuse;
            return Ok(Grant { period, why_longer: None, only_own, floor: None });
        }
        Target::Process(_) if foreign == Foreign::Refuse => return Err(Refused),
        Target::Process(_) => "a process of another user",
        Target::Machine => "the machine as a whole",
    };
    let why = || format!("{whose} is shown every {FLOOR} at most: finer energy would show what others compute");
    let why_longer = (period < FLOOR).then(why);
    Ok(Grant { period: period.max(FLOOR), why_longer, only_own: false, floor: Some(FLOOR) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Nanos = Nanos(1_000_000);
    const SLOW: Nanos = Nanos(100_000_000);

    fn owned_by(user: u32) -> Target {
        Target::Process(Owner { real: user, effective: user, saved: user })
    }

    fn period(peer: Peer, target: Target, foreign: Foreign) -> Result<Nanos, Refused> {
        let slow = grant(peer, target, SLOW, foreign)?;
        assert_eq!((slow.period, slow.why_longer), (SLOW, None), "what is slow enough is never changed");
        let fast = grant(peer, target, FAST, foreign)?;
        assert_eq!(fast.why_longer.is_some(), fast.period != FAST);
        Ok(fast.period)
    }

    #[test]
    fn root_sees_everything() {
        for target in [Target::Machine, owned_by(0), owned_by(1000)] {
            assert_eq!(period(Peer::User(0), target, Foreign::Refuse), Ok(FAST));
        }
    }

    #[test]
    fn others_see_their_own_and_the_rest_slowly_or_not() {
        let peer = Peer::User(1000);
        assert_eq!(period(peer, owned_by(1000), Foreign::Refuse), Ok(FAST));
        assert_eq!(period(peer, owned_by(1001), Foreign::Floor), Ok(FLOOR));
        assert_eq!(period(peer, owned_by(1001), Foreign::Refuse), Err(Refused));
        assert_eq!(period(peer, Target::Machine, Foreign::Refuse), Ok(FLOOR));
    }

    #[test]
    fn a_program_with_the_rights_of_another_is_not_ones_own() {
        for owner in [
            Owner { real: 1000, effective: 0, saved: 0 },
            Owner { real: 1000, effective: 1000, saved: 0 },
            Owner { real: 0, effective: 1000, saved: 1000 },
        ] {
            assert_eq!(period(Peer::User(1000), Target::Process(owner), Foreign::Floor), Ok(FLOOR));
        }
    }

    #[test]
    fn the_network_owns_nothing() {
        assert_eq!(period(Peer::Remote, owned_by(0), Foreign::Floor), Ok(FLOOR));
        assert_eq!(period(Peer::Remote, owned_by(0), Foreign::Refuse), Err(Refused));
    }
}
