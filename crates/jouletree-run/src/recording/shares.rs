//! The shares that hold at some stretch of time: read on as far as needed, forgotten when they are past.

use std::collections::BTreeMap;
use std::path::Path;

use jouletree_meter::Mono;
use jouletree_meter::share::ShareSample;
use jouletree_meter::station::GpuSample;
use jouletree_model::{Nanos, Warning};

use crate::journal::{Row, StreamIn};

/// What a GPU tells about processes is about its last second.
const GPU_LOOKS_BACK: Nanos = Nanos(1_000_000_000);

/// The shares of each socket, or of each GPU.
pub(super) struct Shares<R> {
    stream: StreamIn<R>,
    by_number: BTreeMap<u32, Vec<ShareSample>>,
    reached: Option<Mono>,
    /// When each was last heard of.
    heard: BTreeMap<u32, Mono>,
}

/// What tells a share.
pub(super) trait Tells: Row {
    /// The number of the socket or GPU, and the instant.
    fn place(&self) -> (u32, Mono);
    /// The share since `before`, the last time that this one was heard of.
    fn share(&self, before: Option<Mono>) -> Option<ShareSample>;
}

impl<R: Tells> Shares<R> {
    pub(super) fn open(run: &Path) -> Shares<R> {
        let (by_number, heard) = Default::default();
        Shares { stream: StreamIn::open(run), by_number, reached: None, heard }
    }

    /// Reads on until shares are known up to an instant, and forgets those that ended before another.
    pub(super) fn between(&mut self, oldest: Mono, newest: Mono) {
        for shares in self.by_number.values_mut() {
            let past = shares.partition_point(|share| share.at < oldest);
            shares.drain(..past);
        }
        while self.reached.is_none_or(|reached| reached < newest) {
            let Some(rows) = self.stream.next() else { return };
            for row in rows {
                let (number, at) = row.place();
                let before = self.heard.get(&number).copied();
                // Time that does not go on is damage, and no instant is counted twice.
                if before.is_some_and(|before| at <= before) {
                    continue;
                }
                self.heard.insert(number, at);
                self.reached = self.reached.max(Some(at));
                self.by_number.entry(number).or_default().extend(row.share(before));
            }
        }
    }

    pub(super) fn of(&self, number: u32) -> &[ShareSample] {
        self.by_number.get(&number).map_or(&[], Vec::as_slice)
    }

    /// What was lost of them, after all were read.
    pub(super) fn warning(&mut self, run: &Path) -> Option<Warning> {
        while self.stream.next().is_some() {}
        self.stream.warning(run)
    }
}

impl Tells for ShareSample {
    fn place(&self) -> (u32, Mono) {
        (self.socket, self.at)
    }

    fn share(&self, _: Option<Mono>) -> Option<ShareSample> {
        Some(*self)
    }
}

impl Tells for GpuSample {
    fn place(&self) -> (u32, Mono) {
        (self.gpu, self.at)
    }

    /// A GPU does not tell what it uses while nothing runs on it: what is not ours is the others'.
    fn share(&self, before: Option<Mono>) -> Option<ShareSample> {
        let ours = self.share?.share;
        let back = Mono(self.at.0.saturating_sub(GPU_LOOKS_BACK.0));
        let from = before.map_or(back, |before| before.max(back));
        Some(ShareSample { from, at: self.at, socket: self.gpu, ours, others: 1.0 - ours, idle: 0.0, own: 0.0 })
    }
}
