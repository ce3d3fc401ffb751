//! Input: a trace file as a stream of bytes, unpacked if it is gzip, read piece by piece.
//!
//! A file is never mapped into memory: traces of running trainings grow and vanish while they are read. Inflating
//! runs on a thread of its own, beside parsing.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use flate2::read::MultiGzDecoder;

/// How gzip begins.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How much is read at once: small enough to be parsed while it is still in the processor's cache.
const PIECE: usize = 1 << 18;
/// How many inflated pieces may wait to be parsed.
const PIECES_AHEAD: usize = 16;

/// How many bytes of its file a reader has consumed so far, for showing progress.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Adds to the bytes consumed.
    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes consumed so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A window over a stream: what has been read and not yet consumed.
pub(crate) struct Input<'a> {
    pieces: Pieces<'a>,
    buffer: Vec<u8>,
    /// How much of the buffer has been filled.
    filled: usize,
    /// Where the window begins in the buffer …
    from: usize,
    /// … and in the unpacked stream.
    offset: u64,
    /// Why the stream ended early.
    failure: Option<io::Error>,
}

enum Pieces<'a> {
    Direct(Box<dyn Read + Send + 'a>),
    Inflated(Receiver<io::Result<Vec<u8>>>),
    Ended,
}

impl<'a> Input<'a> {
    /// Opens a file; gzip is recognised by its first bytes.
    pub(crate) fn open(path: &Path, progress: &Progress) -> io::Result<Input<'a>> {
        let mut file = File::open(path)?;
        let mut magic = Vec::new();
        (&mut file).take(2).read_to_end(&mut magic)?;
        let gzip = magic == GZIP;
        let counted = Counted { inner: io::Cursor::new(magic).chain(file), progress: progress.clone() };
        Ok(if gzip { Input::gzip(counted) } else { Input::plain(counted) })
    }

    /// An input of plain bytes.
    pub(crate) fn plain(reader: impl Read + Send + 'a) -> Input<'a> {
        Input::over(Pieces::Direct(Box::new(reader)))
    }

    /// An input of gzip, inflated on a thread of its own.
    pub(crate) fn gzip(reader: impl Read + Send + 'static) -> Input<'a> {
        let (sender, receiver) = sync_channel(PIECES_AHEAD);
        std::thread::spawn(move || {
            let mut inflated = MultiGzDecoder::new(reader);
            loop {
                let mut piece = Vec::with_capacity(PIECE);
                let end = (&mut inflated).take(PIECE as u64).read_to_end(&mut piece);
                let last = !matches!(end, Ok(length) if length > 0);
                // What was inflated before the damage is still good. A closed channel means that the receiver has gone.
                let gone = !piece.is_empty() && sender.send(Ok(piece)).is_err();
                if let Err(error) = end {
                    let _ = sender.send(Err(error));
                }
                if gone || last {
                    return;
                }
            }
        });
        Input::over(Pieces::Inflated(receiver))
    }

    fn over(pieces: Pieces<'a>) -> Input<'a> {
        Input { pieces, buffer: Vec::new(), filled: 0, from: 0, offset: 0, failure: None }
    }

    /// What has been read and not yet consumed.
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.from..self.filled]
    }

    /// The window and all that follows, for those who want everything at once, and why it ended early if it did.
    pub(crate) fn into_rest(mut self) -> (Vec<u8>, Option<io::Error>) {
        if let Pieces::Direct(reader) = &mut self.pieces {
            self.buffer.truncate(self.filled);
            let end = reader.read_to_end(&mut self.buffer);
            self.filled = self.buffer.len();
            self.failure = self.failure.or(end.err());
        } else {
            while self.more() {}
        }
        self.buffer.truncate(self.filled);
        self.buffer.drain(..self.from);
        (self.buffer, self.failure)
    }

    /// Where the window begins in the unpacked stream.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Gives up the first `length` bytes of the window.
    pub(crate) fn consume(&mut self, length: usize) {
        self.from += length;
        self.offset += length as u64;
    }

    /// Widens the window; `false` at the end of the stream.
    pub(crate) fn more(&mut self) -> bool {
        if self.from > 0 {
            self.buffer.copy_within(self.from..self.filled, 0);
            self.filled -= self.from;
            self.from = 0;
        }
        let grown = match &mut self.pieces {
            Pieces::Ended => Ok(0),
            Pieces::Direct(reader) => {
                let wanted = self.filled + PIECE;
                if self.buffer.len() < wanted {
                    self.buffer.resize(wanted, 0);
                }
                read_some(reader, &mut self.buffer[self.filled..])
            }
            Pieces::Inflated(receiver) => match receiver.recv() {
                Ok(piece) => piece.map(|piece| {
                    self.buffer.truncate(self.filled);
                    self.buffer.extend_from_slice(&piece);
                    piece.len()
                }),
                Err(_) => Ok(0),
            },
        };
        let grown = grown.unwrap_or_else(|error| {
            self.failure = Some(error);
            0
        });
        self.filled += grown;
        if grown == 0 {
            self.pieces = Pieces::Ended;
        }
        grown > 0
    }

    /// Why the stream ended early, if it did.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }
}

/// Reads into `buffer` what there is, trying again when a signal interrupts.
fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

struct Counted<R> {
    inner: R,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.progress.add(length as u64);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn drain(mut input: Input<'_>) -> (Vec<u8>, bool) {
        let mut all = Vec::new();
        while input.more() {
            all.extend_from_slice(input.window());
            input.consume(input.window().len());
        }
        (all, input.failure().is_some())
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn text() -> Vec<u8> {
        (0..400_000_u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()).collect()
    }

    #[test]
    fn plain_and_gzip_give_the_same_bytes() {
        let text = text();
        assert_eq!(drain(Input::plain(io::Cursor::new(text.clone()))), (text.clone(), false));
        let members = [packed(&text), packed(b"and a second member")].concat();
        let whole = [text.as_slice(), b"and a second member"].concat();
        assert_eq!(drain(Input::gzip(io::Cursor::new(members))), (whole, false));
    }

    #[test]
    fn a_cut_gzip_gives_what_was_before_the_cut() {
        let text = text();
        let mut cut = packed(&text);
        cut.truncate(cut.len() / 2);
        let (got, failed) = drain(Input::gzip(io::Cursor::new(cut)));
        assert!(failed);
        assert!(got.len() > text.len() / 4 && text.starts_with(&got));
    }
}
