//! The energy of a socket, split by who used it. Nothing is lost: ours, others', idle and unknown make what was measured,
//! in every interval.
//!
//! The part of idle CPUs is idle energy. That is a rule and no measurement: the static power of a busy machine is charged
//! to the processes that keep it busy. It needs no knowledge of the machine.

use jouletree_model::Joules;
use jouletree_model::sampling::{Mono, ShareSample};

/// What a meter counted between two instants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Increment {
    /// The first instant.
    pub from: Mono,
    /// The last.
    pub to: Mono,
    /// The energy meanwhile.
    pub energy: Joules,
}

/// The parts of an energy.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Split {
    /// The tree's.
    pub ours: Joules,
    /// That of other processes, the monitor included.
    pub others: Joules,
    /// The monitor's part of the others'.
    pub own: Joules,
    /// Idle energy: that of idle CPUs.
    pub idle: Joules,
    /// That of times of which no share is known.
    pub unknown: Joules,
}

impl Split {
    /// All of it.
    pub fn total(&self) -> Joules {
        self.ours + self.others + self.idle + self.unknown
    }

    /// Adds the parts of another energy.
    pub fn add(&mut self, more: Split) {
        self.ours += more.ours;
        self.others += more.others;
        self.own += more.own;
        self.idle += more.idle;
        self.unknown += more.unknown;
    }

    /// What is left of it without a part of it; rounding leaves nothing negative.
    pub(crate) fn without(&self, part: Split) -> Split {
        let rest = |all: Joules, part: Joules| Joules((all.0 - part.0).max(0.0));
        Split {
            ours: rest(self.ours, part.ours),
            others: rest(self.others, part.others),
            own: rest(self.own, part.own),
            idle: rest(self.idle, part.idle),
            unknown: rest(self.unknown, part.unknown),
        }
    }
}

/// Cuts each increment of one socket's energy by the shares of that socket, both in order of time.
///
/// Energy is taken as even inside an increment, and a share inside its window.
pub fn split(increments: &[Increment], shares: &[ShareSample], socket: u32) -> Vec<Split> {
    let mut parts = Vec::with_capacity(increments.len());
    let mut first = 0;
    for increment in increments {
        while shares.get(first).is_some_and(|share| share.at <= increment.from) {
            first += 1;
        }
        let ahead = shares.get(first..).unwrap_or_default();
        let during = ahead.iter().take_while(|share| share.from < increment.to);
        parts.push(split_one(increment, during.filter(|share| share.socket == socket)));
    }
    parts
}

fn split_one<'s>(increment: &Increment, shares: impl Iterator<Item = &'s ShareSample>) -> Split {
    let duration = (increment.to - increment.from).0 as f64;
    let mut whole = Split::default();
    if duration <= 0.0 {
        return Split { unknown: increment.energy, ..whole };
    }
    let (mut known, mut covered) = (0.0, increment.from);
    for share in shares {
        // No instant is cut twice, even when windows overlap.
        let overlap = share.at.min(increment.to) - share.from.max(covered);
        if overlap.0 > 0 {
            covered = share.at;
            let part = overlap.0 as f64 / duration;
            known += part;
            whole.add(cut(Joules(increment.energy.0 * part), share));
        }
    }
    if known < 1.0 - 1e-12 {
        whole.unknown = Joules((increment.energy.0 - whole.ours.0 - whole.others.0 - whole.idle.0).max(0.0));
    }
    whole
}

fn cut(energy: Joules, share: &ShareSample) -> Split {
    let busy = share.ours + share.others;
    let idle = if busy > 0.0 { Joules(energy.0 * share.idle) } else { energy };
    let worked = energy - idle;
    let part = |of: f64| if busy > 0.0 { Joules(worked.0 * (of / busy)) } else { Joules::ZERO };
    let ours = part(share.ours);
    Split { ours, others: worked - ours, own: part(share.own), idle, unknown: Joules::ZERO }
}
