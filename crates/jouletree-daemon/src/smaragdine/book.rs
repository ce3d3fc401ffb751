//! What a recording has written: samples, encoded as they came, within bounds.
//!
//! Messages that follow each other are one message, so each sample is a message of its own. At the limit every
//! second sample is left out, from the beginning on and from then on: energy is an accumulated count,
//! so nothing is lost but detail. The first and the last sample of each kind are always kept.

use bytes::Bytes;
use prost::Message;

use super::ledger::Account;
use crate::wire::smaragdine as wire;

/// One recording takes no more: ten minutes of a process of 64 threads at 10 ms, before samples are left out.
const MOST_BYTES: usize = 96 << 20;

/// What a sample is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rapl,
    Cpu,
    Process,
    Nvml,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Rapl, Kind::Cpu, Kind::Process, Kind::Nvml];
}

/// A sample among the bytes.
#[derive(Debug, Clone, Copy)]
struct Piece {
    kind: Kind,
    bytes: usize,
}

/// The samples of one kind.
#[derive(Debug, Default)]
struct Line {
    /// All there were.
    count: u64,
    /// The newest, where it was not written.
    last: Option<Vec<u8>>,
}

/// A recording while it is written.
#[derive(Debug)]
pub(super) struct Book {
    data: Vec<u8>,
    pieces: Vec<Piece>,
    lines: [Line; 4],
    /// One of so many samples of each kind is kept.
    stride: u64,
    most_bytes: usize,
    account: Account,
}

impl Book {
    pub(super) fn open(account: Account) -> Book {
        let (data, pieces, lines) = Default::default();
        Book { data, pieces, lines, stride: 1, most_bytes: MOST_BYTES, account }
    }

    /// Writes a sample.
    pub(super) fn write(&mut self, kind: Kind, sample: &wire::DataSet) {
        let encoded = sample.encode_to_vec();
        let Some(line) = self.lines.get_mut(kind as usize) else { return };
        let number = line.count;
        line.count += 1;
        line.last = None;
        while number.is_multiple_of(self.stride) {
            if self.has_room(encoded.len()) {
                return self.push(kind, &encoded);
            }
            if !self.thin() {
                break;
            }
        }
        if let Some(line) = self.lines.get_mut(kind as usize) {
            line.last = Some(encoded);
        }
    }

    /// All that was written.
    pub(super) fn close(mut self) -> Written {
        for kind in Kind::ALL {
            if let Some(last) = self.lines.get_mut(kind as usize).and_then(|line| line.last.take()) {
                // Four samples at most, even beyond the limit.
                self.push(kind, &last);
            }
        }
        Written { data: self.data.into(), pieces: self.pieces, stride: self.stride, _account: self.account }
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        let needed = bytes + size_of::<Piece>();
        self.data.len() + self.pieces.len() * size_of::<Piece>() + needed <= self.most_bytes
            && self.account.draw(needed)
    }

    fn push(&mut self, kind: Kind, encoded: &[u8]) {
        self.data.extend_from_slice(encoded);
        self.pieces.push(Piece { kind, bytes: encoded.len() });
    }

    /// Leaves out every second sample of each kind; whether that freed any memory.
    fn thin(&mut self) -> bool {
        let before = self.data.len();
        let mut seen = [0_u64; 4];
        let mut data = Vec::with_capacity(before / 2);
        let (mut from, mut pieces) = (0, Vec::with_capacity(self.pieces.len() / 2));
        for piece in &self.pieces {
            let bytes = self.data.get(from..from + piece.bytes).unwrap_or_default();
            from += piece.bytes;
            let Some(place) = seen.get_mut(piece.kind as usize) else { continue };
            if place.is_multiple_of(2) {
                data.extend_from_slice(bytes);
                pieces.push(*piece);
            }
            *place += 1;
        }
        let freed = before - data.len() + (self.pieces.len() - pieces.len()) * size_of::<Piece>();
        if freed > 0 {
            self.account.give_back(freed);
            (self.data, self.pieces, self.stride) = (data, pieces, self.stride.saturating_mul(2));
        }
        freed > 0
    }
}

/// A recording that is done.
#[derive(Debug)]
pub(super) struct Written {
    data: Bytes,
    pieces: Vec<Piece>,
    stride: u64,
    _account: Account,
}

impl Written {
    /// As much of it as a message of so many bytes holds, and one of how many samples that is. Of every kind the first
    /// and the last sample are among them, and those between are equally far apart.
    pub(super) fn within(&self, most_bytes: usize) -> (Bytes, u64) {
        if self.data.len() <= most_bytes {
            return (self.data.clone(), self.stride);
        }
        let mut factor = (self.data.len() / most_bytes.max(1)).max(2);
        let longest = Kind::ALL.map(|kind| self.count(kind)).into_iter().max().unwrap_or(0);
        while self.size(factor) > most_bytes && factor < longest {
            factor += (factor / 8).max(1);
        }
        let mut data = Vec::with_capacity(self.size(factor).min(most_bytes));
        for (bytes, _) in self.kept(factor) {
            // Two samples of a hundred thousand threads: what does not fit is left out.
            if data.len() + bytes.len() <= most_bytes {
                data.extend_from_slice(bytes);
            }
        }
        (data.into(), self.stride.saturating_mul(factor as u64))
    }

    fn size(&self, factor: usize) -> usize {
        self.kept(factor).map(|(bytes, _)| bytes.len()).sum()
    }

    fn count(&self, kind: Kind) -> usize {
        self.pieces.iter().filter(|piece| piece.kind == kind).count()
    }

    /// One of so many samples, counted from the last.
    fn kept(&self, factor: usize) -> impl Iterator<Item = (&[u8], Kind)> {
        let mut left = Kind::ALL.map(|kind| self.count(kind));
        let all = left;
        let mut from = 0;
        self.pieces.iter().filter_map(move |piece| {
            let bytes = self.data.get(from..from + piece.bytes)?;
            from += piece.bytes;
            let (left, all) = (left.get_mut(piece.kind as usize)?, all.get(piece.kind as usize)?);
            *left -= 1;
            (left.is_multiple_of(factor) || *left + 1 == *all).then_some((bytes, piece.kind))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Ledger;
    use super::*;

    fn rapl(timestamp: u64) -> wire::DataSet {
        let reading = wire::RaplReading { socket: 0, package: Some(timestamp * 60), ..Default::default() };
        wire::DataSet {
            rapl: vec![wire::RaplSample { timestamp, reading: vec![reading] }],
            ..wire::DataSet::default()
        }
    }

    fn process(timestamp: u64, tasks: u32) -> wire::DataSet {
        let task = |task_id| wire::TaskReading { task_id, name: Some("python".to_owned()), ..Default::default() };
        wire::DataSet {
            process: vec![wire::ProcessSample { timestamp, reading: (0..tasks).map(task).collect() }],
            ..wire::DataSet::default()
        }
    }

    fn book(samples: u64, tasks: u32, most_bytes: usize) -> Written {
        let mut book = Book { most_bytes, ..Book::open(Ledger::default().open()) };
        for sample in 0..samples {
            book.write(Kind::Process, &process(sample, tasks));
            book.write(Kind::Rapl, &rapl(sample));
        }
        book.close()
    }

    fn times(data: &Bytes) -> [Vec<u64>; 2] {
        let data = wire::DataSet::decode(data.clone()).unwrap();
        let rapl = data.rapl.iter().map(|sample| sample.timestamp).collect();
        [rapl, data.process.iter().map(|sample| sample.timestamp).collect()]
    }

    #[test]
    fn what_fits_is_whole() {
        let (data, stride) = book(1000, 3, MOST_BYTES).within(1 << 20);
        let all: Vec<u64> = (0..1000).collect();
        assert_eq!((times(&data), stride), ([all.clone(), all], 1));
    }

    #[test]
    fn a_message_that_is_too_small_gets_a_coarser_grid_from_the_first_sample_to_the_last() {
        let written = book(1000, 100, MOST_BYTES);
        for most_bytes in [1 << 20, 100_000, 10_000] {
            let (data, stride) = written.within(most_bytes);
            assert!(data.len() <= most_bytes && stride > 1, "{} {stride}", data.len());
            for times in times(&data) {
                assert_eq!((times[0], times[times.len() - 1]), (0, 999));
                assert!(times.windows(2).skip(1).all(|pair| pair[1] - pair[0] == stride), "{times:?}");
            }
        }
        let (data, _) = written.within(3000);
        assert!(data.len() <= 3000, "one sample of the process and all of the energy");
    }

    #[test]
    fn a_recording_without_end_is_bounded_and_keeps_both_its_ends() {
        let written = book(20_000, 50, 100_000);
        assert!(written.data.len() < 110_000, "{}", written.data.len());
        let (data, stride) = written.within(usize::MAX);
        for times in times(&data) {
            assert_eq!((times[0], times[times.len() - 1]), (0, 19_999));
            assert!(
                times.len() > 20 && times[1..times.len() - 1].iter().all(|time| time % stride == 0),
                "{times:?}"
            );
        }
    }

    #[test]
    fn books_share_the_room_of_their_ledger() {
        let ledger = Ledger::default();
        let mut others = ledger.open();
        while others.draw(1 << 20) {}
        let mut book = Book::open(ledger.open());
        book.write(Kind::Rapl, &rapl(1));
        others.give_back(1 << 20);
        for sample in 2..10_000 {
            book.write(Kind::Process, &process(sample, 50));
            book.write(Kind::Rapl, &rapl(sample));
        }
        let [rapl, process] = times(&book.close().within(usize::MAX).0);
        assert_eq!((rapl[rapl.len() - 1], process[process.len() - 1]), (9999, 9999));
        assert!(process.len() > 100, "{}", process.len());
    }
}
