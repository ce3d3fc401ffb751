//! What every single event is charged with, told as time goes by.
//!
//! [`account`](crate::account) sums while it sweeps and forgets events; viewers of timelines want to know what each box
//! cost. This goes over the same lanes by the same rule, S(end) − S(start) over the active stretches of an event, one
//! boundary after the other, and keeps nothing but what is open. It is slower than the sweep and no second opinion on
//! it: for each operation the charges of its events sum up to what the footprint says.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashSet;

use jouletree_model::{Device, Event, Joules, Lane, Nanos, PowerSpan, TimeRange, Trace};

use crate::Metered;
use crate::hosting::Hosting;

/// What an event, or one active stretch of it, was charged with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Charge {
    /// The energy of all devices that served it.
    pub energy: Joules,
    /// How long it was active while the power of its own device is known.
    pub busy: Nanos,
    /// Whether the power of any device that served it was known meanwhile.
    pub is_known: bool,
}

/// Who is told about charges. Events of a lane are told as they end, stretches of a lane in order of time.
pub trait ChargeVisitor {
    /// Why it cannot go on.
    type Error;

    /// During `stretch`, `event` was the innermost event of its lane.
    fn stretch(
        &mut self,
        lane: usize,
        event: &Event,
        stretch: TimeRange,
        charge: Charge,
    ) -> Result<(), Self::Error>;

    /// An event ended, and this is what it was charged with in all.
    fn event(&mut self, lane: usize, event: &Event, charge: Charge) -> Result<(), Self::Error>;
}

/// Tells `visitor` what every event of `trace` is charged with, device by device, by [`Semantics::Exact`].
///
/// [`Semantics::Exact`]: crate::Semantics::Exact
pub fn charge_events<V: ChargeVisitor>(
    trace: &Trace,
    power: &[Metered<'_>],
    visitor: &mut V,
) -> Result<(), V::Error> {
    let hosting = Hosting::of(&trace.devices);
    // Devices that serve the same operations share the same lanes, so their powers may be added.
    let mut served: Vec<Vec<&Metered<'_>>> = vec![Vec::new(); trace.devices.len()];
    let mut known = FxHashSet::default();
    for metered in power {
        // Of several series for one device the first counts.
        if let Some(served) = hosting.served_by(metered.device).and_then(|number| served.get_mut(number))
            && known.insert(metered.device)
        {
            served.push(metered);
        }
    }
    let mut lanes: Vec<Vec<OpenLane<'_>>> = trace.devices.iter().map(|_| Vec::new()).collect();
    for (index, lane) in trace.lanes.iter().enumerate() {
        if let Some(lanes) = lanes.get_mut(lane.device()) {
            lanes.push(OpenLane::new(index, lane));
        }
    }
    for ((device, lanes), served) in trace.devices.iter().zip(lanes).zip(served) {
        Charging::new(lanes, Supply::of(&served, device)).run(visitor)?;
    }
    Ok(())
}

/// After how many boundaries sums start from zero again, so that a long run loses no precision.
const WINDOW: u32 = 4096;

/// The lanes of one device on their way through time.
struct Charging<'a> {
    lanes: Vec<OpenLane<'a>>,
    /// When each lane changes next.
    ahead: BinaryHeap<Reverse<(Nanos, usize)>>,
    supply: Supply,
    now: Nanos,
    /// How many lanes are active.
    active: usize,
    sums: Sums,
    boundaries: u32,
}

/// What being active has cost since the window began.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// S(t), in joules.
    price: f64,
    /// For how long the power of the device itself was known.
    own: Nanos,
    /// For how long any power was known.
    any: Nanos,
}

impl Sums {
    fn since(self, earlier: Sums) -> Sums {
        Sums { price: self.price - earlier.price, own: self.own - earlier.own, any: self.any - earlier.any }
    }

    fn and(self, more: Sums) -> Sums {
        Sums { price: self.price + more.price, own: self.own + more.own, any: self.any + more.any }
    }
}

impl From<Sums> for Charge {
    fn from(sums: Sums) -> Charge {
        Charge { energy: Joules(sums.price), busy: sums.own, is_known: sums.any > Nanos(0) }
    }
}

impl<'a> Charging<'a> {
    fn new(lanes: Vec<OpenLane<'a>>, supply: Supply) -> Charging<'a> {
        let starts = lanes.iter().enumerate().filter_map(|(place, lane)| Some(Reverse((lane.change()?, place))));
        let ahead: BinaryHeap<_> = starts.collect();
        let now = ahead.peek().map_or(Nanos(0), |Reverse((first, _))| *first);
        let sums = Sums::default();
        Charging { lanes, ahead, supply, now, active: 0, sums, boundaries: 0 }
    }

    fn run<V: ChargeVisitor>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        while let Some(Reverse((time, place))) = self.ahead.pop() {
            self.advance(time);
            let Some(lane) = self.lanes.get_mut(place) else { continue };
            let was_active = lane.is_active();
            lane.turn(time, self.sums, visitor)?;
            self.active = self.active + usize::from(lane.is_active()) - usize::from(was_active);
            if let Some(change) = lane.change() {
                self.ahead.push(Reverse((change.max(time), place)));
            }
            self.boundaries += 1;
            if self.boundaries == WINDOW {
                self.begin_window();
            }
        }
        Ok(())
    }

    /// Adds up what being active costs until `time`.
    fn advance(&mut self, time: Nanos) {
        while self.now < time {
            let (power, until) = self.supply.at(self.now);
            let end = until.min(time);
            if let (Some(power), true) = (power, self.active > 0) {
                let elapsed = end - self.now;
                self.sums.price += power.watts * 1e-9 * elapsed.0 as f64 / self.active as f64;
                self.sums.any += elapsed;
                if power.is_own {
                    self.sums.own += elapsed;
                }
            }
            self.now = end;
        }
    }

    fn begin_window(&mut self) {
        for lane in &mut self.lanes {
            lane.gather(self.sums);
            lane.began = Sums::default();
        }
        (self.sums, self.boundaries) = (Sums::default(), 0);
    }
}

/// A lane and what is open in it.
struct OpenLane<'a> {
    number: usize,
    events: &'a [Event],
    /// What has begun and not ended, outermost first; only the last is active.
    open: Vec<OpenEvent>,
    /// When the stretch of the active event began, and the sums at that instant.
    at: Nanos,
    began: Sums,
    /// What the stretch gathered in windows before this one.
    earlier: Sums,
}

struct OpenEvent {
    event: Event,
    /// What it gathered in stretches that have ended.
    gathered: Sums,
}

impl<'a> OpenLane<'a> {
    fn new(number: usize, lane: &'a Lane) -> OpenLane<'a> {
        let (open, at, began, earlier) = (Vec::new(), Nanos::MIN, Sums::default(), Sums::default());
        OpenLane { number, events: lane.events(), open, at, began, earlier }
    }

    fn is_active(&self) -> bool {
        !self.open.is_empty()
    }

    /// When something begins or ends next.
    fn change(&self) -> Option<Nanos> {
        let end = self.open.last().map(|open| open.event.end);
        let start = self.events.first().map(|event| event.start);
        end.into_iter().chain(start).min()
    }

    /// Keeps what the running stretch has gathered so far.
    fn gather(&mut self, sums: Sums) {
        self.earlier = self.earlier.and(sums.since(self.began));
    }

    /// Ends what ends at `time` and begins what begins.
    fn turn<V: ChargeVisitor>(&mut self, time: Nanos, sums: Sums, visitor: &mut V) -> Result<(), V::Error> {
        self.gather(sums);
        if let Some(open) = self.open.last_mut().filter(|_| self.at < time) {
            open.gathered = open.gathered.and(self.earlier);
            visitor.stretch(
                self.number,
                &open.event,
                TimeRange { start: self.at, end: time },
                self.earlier.into(),
            )?;
        }
        while let Some(ended) = self.open.pop_if(|open| open.event.end <= time) {
            visitor.event(self.number, &ended.event, ended.gathered.into())?;
        }
        while let Some((event, later)) = self.events.split_first().filter(|(event, _)| event.start <= time) {
            self.events = later;
            if event.end > event.start {
                self.open.push(OpenEvent { event: *event, gathered: Sums::default() });
            } else {
                visitor.event(self.number, event, Sums::default().into())?;
            }
        }
        (self.at, self.began, self.earlier) = (time, sums, Sums::default());
        Ok(())
    }
}

/// The power that serves the operations of a device: that of the device and of others that work for it.
struct Supply {
    /// From when on which power holds, in order.
    pieces: Vec<(Nanos, Option<Power>)>,
    /// The piece that was asked for last.
    place: usize,
}

#[derive(Clone, Copy)]
struct Power {
    watts: f64,
    /// Whether the device's own power is a part of it.
    is_own: bool,
}

impl Supply {
    fn of(served: &[&Metered<'_>], device: &Device) -> Supply {
        let spans: Vec<(bool, Vec<PowerSpan>)> =
            served.iter().map(|metered| (metered.device == device, metered.series.spans().collect())).collect();
        let borders =
            spans.iter().flat_map(|(_, spans)| spans).flat_map(|span| [span.range.start, span.range.end]);
        let mut borders: Vec<Nanos> = borders.collect();
        borders.sort_unstable();
        borders.dedup();
        let mut reached = vec![0; spans.len()];
        let mut pieces = Vec::with_capacity(borders.len() + 1);
        pieces.push((Nanos::MIN, None));
        for border in borders {
            let mut power: Option<Power> = None;
            for ((is_own, spans), reached) in spans.iter().zip(&mut reached) {
                while spans.get(*reached).is_some_and(|span| span.range.end <= border) {
                    *reached += 1;
                }
                if let Some(span) = spans.get(*reached).filter(|span| span.range.start <= border) {
                    let sum = power.get_or_insert(Power { watts: 0.0, is_own: false });
                    sum.watts += span.power.0;
                    sum.is_own |= is_own;
                }
            }
            pieces.push((border, power));
        }
        Supply { pieces, place: 0 }
    }

    /// The power at an instant, no earlier than the last one asked for, and until when it holds.
    fn at(&mut self, instant: Nanos) -> (Option<Power>, Nanos) {
        while self.pieces.get(self.place + 1).is_some_and(|(start, _)| *start <= instant) {
            self.place += 1;
        }
        let power = self.pieces.get(self.place).and_then(|(_, power)| *power);
        (power, self.pieces.get(self.place + 1).map_or(Nanos::MAX, |(start, _)| *start))
    }
}
