//! RAPL and its kin through the kernel's powercap tree: counters of energy, one to a zone.
//!
//! What a zone meters follows from its `name` and never by its number, which differs from machine to machine:
//!
//! | name | device | domain |
//! |---|---|---|
//! | `package-N` | cpu:N | the whole |
//! | `package-N-die-M` | cpu:N | the whole, all dies added up; a die that mirrors another is counted once |
//! | `core`, `uncore` below a package | that cpu | `core`, `uncore`: parts of the package |
//! | `dram` below a package | dram:N | the whole |
//! | `psys` | cpu:0 | `psys` |
//!
//! `psys` meters the whole platform where the board wires it up, and nonsense where not. It is another total, not a
//! part; but what has a domain is never added to anything, and that is what must hold for it, so it is kept as a domain
//! of the first socket.
//!
//! On AMD the zone `core` shows one core of the socket and not all of them; its domain is `one-core`.
//!
//! A counter that is shown twice is used once: `intel-rapl-mmio` shows packages again, and is used where
//! `intel-rapl` does not show them or cannot be used. A zone's `enabled` is about limits of power and not about its
//! counter, so it is not looked at.

mod group;
mod mirror;
mod sensor;
mod trouble;
mod zone;
mod zone_counter;
mod zone_target;

use std::fs;

use jouletree_host::Roots;

pub(crate) use group::most_watts;

use crate::{Found, Unusable, once};

/// Every counter of energy in the powercap tree, usable or not, each of them once.
///
/// Whether a counter moves is not looked at: that is what [`crate::Probe`] is for.
pub fn discover(roots: &Roots) -> Vec<Found> {
    let processor = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let zones = zone::zones(&roots.sys.join("class/powercap"));
    once(group::founds(zones, zone_target::Vendor::of(&processor)))
}

/// Why [`discover`] finds nothing here, and what could be done about it.
pub fn why_none(roots: &Roots) -> Unusable {
    let processor = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    trouble::nothing_here(&roots.sys.join("class/powercap"), &processor)
}
