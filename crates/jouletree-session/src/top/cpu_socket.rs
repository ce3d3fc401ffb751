//! The energy of a socket, cut by who used it.
//!
//! Shares come later than the energy they cut, so energy waits for them: ours, others', idle, unknown and waiting make
//! what was counted, always. What waits for longer than the timeout is unknown.

use std::collections::VecDeque;

use jouletree_model::sampling::{Mono, ShareSample};
use jouletree_model::{Joules, Nanos, Watts};
use jouletree_series::share::{AwaitingShares, Increment, ShareBook, SharesLate, Split, split};

/// One socket.
#[derive(Debug)]
pub struct CpuSocket {
    number: u32,
    timeout: Nanos,
    waiting: AwaitingShares<Increment>,
    shares: ShareBook,
    sum: Split,
    /// What was cut last, as far as it is shown as power now.
    recent: VecDeque<(Increment, Split)>,
    now: Nanos,
    /// Ours since it was last asked for.
    to_hand_out: Joules,
}

/// The power of each part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Powers {
    /// The tree's, or that of all listed processes.
    pub ours: Watts,
    /// That of all others, the monitor included.
    pub others: Watts,
    /// The monitor's part of the others'.
    pub own: Watts,
    /// Idle.
    pub idle: Watts,
    /// Of unknown users.
    pub unknown: Watts,
}

impl CpuSocket {
    /// A socket whose energy waits for its share for no longer than `timeout`, and whose power is shown over `now`.
    pub fn new(number: u32, now: Nanos, timeout: Nanos) -> CpuSocket {
        CpuSocket {
            number,
            timeout,
            now,
            waiting: AwaitingShares::new(timeout, SharesLate::EachExpires),
            shares: ShareBook::default(),
            sum: Split::default(),
            recent: VecDeque::new(),
            to_hand_out: Joules::ZERO,
        }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Takes energy, in the order of time.
    pub fn used(&mut self, increment: Increment) {
        self.waiting.extend([increment]);
    }

    /// Takes a share of this socket, in the order of time.
    pub fn share(&mut self, share: ShareSample) {
        self.shares.note(&ShareSample { socket: self.number, ..share });
    }

    /// Cuts what can be cut by now.
    pub fn settle(&mut self, now: Mono) {
        let settled = self.waiting.settled(self.shares.heard(self.number), now);
        self.cut(settled);
    }

    /// Cuts all that waits, because nothing more will come.
    pub fn finish(&mut self) {
        let rest = self.waiting.take_all();
        self.cut(rest);
    }

    /// All energy that was cut so far, by who used it.
    pub fn sum(&self) -> Split {
        self.sum
    }

    /// What waits for a share.
    pub fn waiting(&self) -> Joules {
        self.waiting.iter().map(|increment| increment.energy).sum()
    }

    /// The power of each part over the last second or so; `None` when nothing was cut lately.
    pub fn powers(&self, now: Mono) -> Option<Powers> {
        let (last, _) = self.recent.back()?;
        if now - last.to > self.timeout + self.now {
            return None;
        }
        let time: Nanos =
            self.recent.iter().fold(Nanos(0), |sum, (increment, _)| sum + (increment.to - increment.from));
        let power =
            |part: fn(&Split) -> Joules| self.recent.iter().map(|(_, split)| part(split)).sum::<Joules>() / time;
        (time > Nanos(0)).then(|| Powers {
            ours: power(|split| split.ours),
            others: power(|split| split.others),
            own: power(|split| split.own),
            idle: power(|split| split.idle),
            unknown: power(|split| split.unknown),
        })
    }

    /// What was ours since the last time that this was asked.
    pub fn hand_out(&mut self) -> Joules {
        std::mem::take(&mut self.to_hand_out)
    }

    fn cut(&mut self, increments: Vec<Increment>) {
        let parts = split(&increments, self.shares.of(self.number), self.number);
        for (increment, part) in increments.into_iter().zip(parts) {
            self.to_hand_out += part.ours;
            self.sum.add(part);
            self.recent.push_back((increment, part));
        }
        let Some(last) = self.recent.back().map(|(increment, _)| increment.to) else { return };
        while self.recent.front().is_some_and(|(first, _)| last - first.to >= self.now) {
            self.recent.pop_front();
        }
        // A share is needed until energy after it was cut.
        self.shares.forget_before(self.waiting.iter().next().map_or(last, |first| first.from.min(last)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn used(from: i64, to: i64, energy: f64) -> Increment {
        Increment { from: Mono(from), to: Mono(to), energy: Joules(energy) }
    }

    fn share(from: i64, at: i64, ours: f64, others: f64) -> ShareSample {
        let idle = 1.0 - ours - others;
        ShareSample { from: Mono(from), at: Mono(at), socket: 0, ours, others, idle, own: 0.01 }
    }

    fn socket() -> CpuSocket {
        CpuSocket::new(0, Nanos(SECOND), Nanos(2 * SECOND))
    }

    #[test]
    fn energy_waits_for_its_share_and_none_is_lost() {
        let mut socket = socket();
        let tenth = SECOND / 10;
        let mut whole = 0.0;
        for at in 0..50 {
            socket.used(used(at * tenth, (at + 1) * tenth, 1.0 + at as f64));
            whole += 1.0 + at as f64;
            // Shares come three tenths late, and lie across the increments.
            if at >= 3 {
                let from = (at - 3) * tenth + tenth / 3;
                socket.share(share(from, from + tenth, 0.5, 0.25));
            }
            socket.settle(Mono((at + 1) * tenth));
            let sum = socket.sum().total() + socket.waiting();
            assert!((sum.0 - whole).abs() < 1e-9, "{sum} {whole}");
            assert!(socket.shares.of(0).len() < 10 && socket.waiting.iter().count() < 10);
        }
        assert!(socket.waiting().0 > 0.0);
        socket.finish();
        let Split { ours, others, idle, unknown, .. } = socket.sum();
        assert!((ours.0 + others.0 + idle.0 + unknown.0 - whole).abs() < 1e-9);
        assert!((ours.0 / others.0 - 2.0).abs() < 1e-9 && (idle.0 / others.0 - 1.0).abs() < 1e-9);
        assert!((socket.hand_out().0 - ours.0).abs() < 1e-9);
        assert_eq!(socket.hand_out(), Joules::ZERO);
    }

    #[test]
    fn what_waits_too_long_is_unknown() {
        let mut socket = socket();
        socket.used(used(0, SECOND, 10.0));
        socket.settle(Mono(2 * SECOND));
        assert_eq!((socket.waiting(), socket.powers(Mono(2 * SECOND))), (Joules(10.0), None));
        socket.settle(Mono(3 * SECOND));
        assert_eq!((socket.waiting(), socket.sum().unknown), (Joules::ZERO, Joules(10.0)));
    }

    #[test]
    fn powers_are_those_of_the_last_second() {
        let mut socket = socket();
        for (second, ours) in [(0, 0.0), (1, 0.0), (2, 0.5)] {
            socket.used(used(second * SECOND, (second + 1) * SECOND, 40.0));
            socket.share(share(second * SECOND, (second + 1) * SECOND, ours, 0.25));
        }
        socket.settle(Mono(3 * SECOND));
        let powers = socket.powers(Mono(3 * SECOND)).unwrap();
        assert_eq!((powers.ours, powers.others, powers.idle), (Watts(20.0), Watts(10.0), Watts(10.0)));
        assert!((powers.own.0 - 0.4).abs() < 1e-9);
        assert_eq!(socket.powers(Mono(9 * SECOND)), None);
    }
}
