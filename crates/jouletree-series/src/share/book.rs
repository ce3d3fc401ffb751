//! The recent shares of each socket, or of each GPU.

use std::collections::BTreeMap;

use jouletree_model::Nanos;
use jouletree_model::sampling::{GpuSample, Mono, ShareSample};

/// What a GPU reports of processes covers its last second.
const GPU_LOOKS_BACK: Nanos = Nanos(1_000_000_000);

/// The shares of each socket, or of each GPU, by its number.
#[derive(Debug, Clone, Default)]
pub struct ShareBook {
    by_number: BTreeMap<u32, Vec<ShareSample>>,
    heard: BTreeMap<u32, Mono>,
}

/// A sample that reports a share.
pub trait ShareReport {
    /// The number of the socket or GPU, and the instant.
    fn place(&self) -> (u32, Mono);

    /// The share since `before`, the time of its last report.
    fn share(&self, before: Option<Mono>) -> Option<ShareSample>;
}

impl ShareBook {
    /// Takes a sample. One that is not later than the one before is damage: no instant is counted twice.
    pub fn note(&mut self, source: &impl ShareReport) {
        let (number, at) = source.place();
        let before = self.heard.get(&number).copied();
        if before.is_some_and(|before| at <= before) {
            return;
        }
        self.heard.insert(number, at);
        self.by_number.entry(number).or_default().extend(source.share(before));
    }

    /// Forgets shares that ended before an instant.
    pub fn forget_before(&mut self, oldest: Mono) {
        for shares in self.by_number.values_mut() {
            let past = shares.partition_point(|share| share.at < oldest);
            shares.drain(..past);
        }
    }

    /// The shares of a socket or GPU, in the order of time.
    pub fn of(&self, number: u32) -> &[ShareSample] {
        self.by_number.get(&number).map_or(&[], Vec::as_slice)
    }

    /// When it last reported, with a share or without.
    pub fn heard(&self, number: u32) -> Option<Mono> {
        self.heard.get(&number).copied()
    }

    /// When any last reported.
    pub fn reached(&self) -> Option<Mono> {
        self.heard.values().max().copied()
    }
}

impl ShareReport for ShareSample {
    fn place(&self) -> (u32, Mono) {
        (self.socket, self.at)
    }

    fn share(&self, _: Option<Mono>) -> Option<ShareSample> {
        Some(*self)
    }
}

impl ShareReport for GpuSample {
    fn place(&self) -> (u32, Mono) {
        (self.gpu, self.at)
    }

    /// A GPU does not report its idle share: what is not ours is the others'.
    fn share(&self, before: Option<Mono>) -> Option<ShareSample> {
        let ours = self.share?.share;
        let back = Mono(self.at.0.saturating_sub(GPU_LOOKS_BACK.0));
        let from = before.map_or(back, |before| before.max(back));
        Some(ShareSample { from, at: self.at, socket: self.gpu, ours, others: 1.0 - ours, idle: 0.0, own: 0.0 })
    }
}
