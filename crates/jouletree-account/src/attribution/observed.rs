//! What a policy sees before it charges: the lanes and the power of one device.

use jouletree_model::{Device, Event, Joules, Kind, Lane, Nanos, OpId, OpTable, PowerSpan, TimeRange};

use crate::self_time::SelfTime;

/// How many segments of a lane are cut at a time.
const CHUNK: usize = 1024;

/// What ran on a device, and what it used meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The device.
    pub device: &'a Device,
    /// How its energy came to be known.
    pub kind: Kind,
    /// The lanes whose operations are charged with its energy. Events of a lane may nest; the innermost is active.
    pub lanes: &'a [&'a Lane],
    /// Its power, in order of time; between two spans nothing may be known. A span is as long as the meter's reading, or the
    /// part of it inside one stage.
    pub spans: &'a [PowerSpan],
    /// When operations were recorded, in order; what ran at other times is not known.
    pub recorded: &'a [TimeRange],
    /// What is known of the operations: paths, types, passes.
    pub ops: &'a OpTable,
    /// What the `op` of an event in the lanes refers to.
    pub(crate) numbers: Numbers<'a>,
}

/// How events number operations. By default the `op` of an event is that of the operation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Numbers<'a> {
    /// Where a device has a numbering of its own: the number each of its operations has in the lanes of all devices.
    pub(crate) own: Option<&'a [OpId]>,
    /// Where lanes are cut at the parts of the program's time: the part and the operation of each number.
    pub(crate) keys: Option<&'a [(usize, OpId)]>,
}

/// A piece of time in which neither power nor the active operations change.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The index of its span in [`Observed::spans`].
    pub span: usize,
    /// When.
    pub range: TimeRange,
    /// What the device used.
    pub energy: Joules,
    /// The lanes that are active, each with the `op` of its active event; empty while the device was idle.
    pub active: &'a [(usize, OpId)],
}

impl<'a> Observed<'a> {
    /// All that ran on `lanes` and was used in `spans`: measured, and recorded throughout.
    pub fn new(
        device: &'a Device,
        lanes: &'a [&'a Lane],
        spans: &'a [PowerSpan],
        ops: &'a OpTable,
    ) -> Observed<'a> {
        let (kind, recorded, numbers) = (Kind::Measured, [TimeRange::ALL].as_slice(), Numbers::default());
        Observed { device, kind, lanes, spans, recorded, ops, numbers }
    }

    /// The operation that the `op` of an event in [`Observed::lanes`] refers to.
    pub fn operation(&self, op: OpId) -> OpId {
        let Numbers { own, keys } = self.numbers;
        let op = own.and_then(|own| own.get(op.index()).copied()).unwrap_or(op);
        keys.and_then(|keys| keys.get(op.index())).map_or(op, |(_, op)| *op)
    }

    /// Visits every piece of time with known power, in order. This is the pass of observation; it keeps nothing but the
    /// segments at hand.
    pub fn each_piece(&self, mut visit: impl FnMut(Piece<'_>)) {
        let mut first = 0;
        for stretch in self.spans.chunk_by(|a, b| a.range.end == b.range.start) {
            self.walk(stretch, first, &mut visit);
            first += stretch.len();
        }
    }

    /// Visits the pieces of spans that follow each other without a gap, the first of which has this index.
    fn walk(&self, spans: &[PowerSpan], first: usize, visit: &mut impl FnMut(Piece<'_>)) {
        let (Some(start), Some(last)) = (spans.first(), spans.last()) else { return };
        let range = TimeRange { start: start.range.start, end: last.range.end };
        let mut lanes: Vec<Segments<'_>> = self.lanes.iter().map(|lane| Segments::new(lane, range)).collect();
        let mut active = Vec::with_capacity(lanes.len());
        for (index, span) in (first..).zip(spans) {
            let mut at = span.range.start;
            while at < span.range.end {
                active.clear();
                let mut until = span.range.end;
                for (number, lane) in lanes.iter_mut().enumerate() {
                    match lane.at(at) {
                        Some(segment) if segment.start <= at => {
                            active.push((number, segment.op));
                            until = until.min(segment.end);
                        }
                        Some(segment) => until = until.min(segment.start),
                        None => {}
                    }
                }
                let range = TimeRange { start: at, end: until };
                visit(Piece { span: index, range, energy: span.power * range.duration(), active: &active });
                at = until;
            }
        }
    }
}

/// The segments of a lane, a chunk at a time.
struct Segments<'a> {
    source: SelfTime<'a>,
    chunk: Vec<Event>,
    place: usize,
    is_exhausted: bool,
}

impl<'a> Segments<'a> {
    fn new(lane: &'a Lane, range: TimeRange) -> Segments<'a> {
        Segments { source: SelfTime::new(lane, range), chunk: Vec::new(), place: 0, is_exhausted: false }
    }

    /// The segment that is active at an instant, or the next one; instants never go back.
    fn at(&mut self, instant: Nanos) -> Option<Event> {
        loop {
            while let Some(segment) = self.chunk.get(self.place) {
                if segment.end > instant {
                    return Some(*segment);
                }
                self.place += 1;
            }
            if self.is_exhausted {
                return None;
            }
            self.chunk.clear();
            self.place = 0;
            let begun = self.source.cut(CHUNK, &mut self.chunk);
            self.is_exhausted = begun.is_empty() && self.chunk.is_empty();
        }
    }
}
