//! What every single event is charged with, reported as time goes by.
//!
//! [`account`](crate::account) sums while it sweeps and forgets events; viewers of timelines want to know what each box
//! cost. This goes over the same lanes by the same policy of [`attribution`](crate::attribution), S(end) − S(start) over the
//! active stretches of an event, one boundary after the other, and keeps nothing but what is open. It is slower than the sweep
//! and no second opinion on it: for each operation the charges of its events sum up to what the footprint says.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashSet;

use jouletree_model::{Event, Joules, Lane, Nanos, PowerSpan, TimeRange, Timeline, Trace};

use crate::attribution::{Active, Equal, Observed, Policy, Shares, with_policy};
use crate::hosting::Hosting;
use crate::{Attribution, Metered};

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

/// Receives charges. Events of a lane arrive as they end, stretches of a lane in order of time.
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

/// Reports to `visitor` what every event of `trace` is charged with, device by device, by [`Semantics::Exact`] and equal
/// shares.
///
/// [`Semantics::Exact`]: crate::Semantics::Exact
pub fn charge_events<V: ChargeVisitor>(
    trace: &Trace,
    power: &[Metered<'_>],
    visitor: &mut V,
) -> Result<(), V::Error> {
    charge_events_with(trace, power, &Equal, visitor)
}

/// The same with shares by the policy a user chose.
pub fn charge_events_by<V: ChargeVisitor>(
    trace: &Trace,
    power: &[Metered<'_>],
    attribution: Attribution,
    visitor: &mut V,
) -> Result<(), V::Error> {
    with_policy!(attribution, policy => charge_events_with(trace, power, policy, visitor))
}

/// The same with shares by any policy.
pub fn charge_events_with<P: Policy, V: ChargeVisitor>(
    trace: &Trace,
    power: &[Metered<'_>],
    policy: &P,
    visitor: &mut V,
) -> Result<(), V::Error> {
    let hosting = Hosting::of(&trace.devices);
    let extent = trace.extent();
    let recorded = match Timeline::of(&trace.program, extent) {
        Some(timeline) => timeline.recorded(),
        None => extent.into_iter().collect(),
    };
    // Devices that serve the same operations share the same lanes.
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
    let mut lanes: Vec<(Vec<usize>, Vec<&Lane>)> = vec![Default::default(); trace.devices.len()];
    for (index, lane) in trace.lanes.iter().enumerate() {
        if let Some((numbers, lanes)) = lanes.get_mut(lane.device()) {
            numbers.push(index);
            lanes.push(lane);
        }
    }
    for ((device, (numbers, lanes)), served) in trace.devices.iter().zip(lanes).zip(served) {
        let supplies = served.iter().map(|metered| {
            let spans: Vec<PowerSpan> = metered.series.spans().collect();
            let whole = Observed::new(metered.device, &lanes, &spans, &trace.ops);
            let observed = Observed { kind: metered.kind, recorded: &recorded, ..whole };
            let fit = policy.fit(&observed);
            let moved: Option<Vec<PowerSpan>> = policy.series(&fit).map(|series| series.spans().collect());
            let spans = moved.as_ref().unwrap_or(&spans);
            let shares = policy.shares(&fit, &Observed { spans, ..observed });
            Supply::new(spans.clone(), shares, metered.device == device)
        });
        let supplies: Vec<Supply<P::Shares>> = supplies.collect();
        let open = numbers.iter().zip(&lanes).map(|(number, lane)| OpenLane::new(*number, lane, supplies.len()));
        Charging::new(open.collect(), supplies).run(visitor)?;
    }
    Ok(())
}

/// After how many boundaries sums start from zero again, so that a long run loses no precision.
const WINDOW: u32 = 4096;

/// The lanes of one device on their way through time.
struct Charging<'a, S: Shares> {
    lanes: Vec<OpenLane<'a, S>>,
    /// When each lane changes next.
    ahead: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// The power of the device and of others that work for its operations.
    supplies: Vec<Supply<S>>,
    now: Nanos,
    /// How many lanes are active.
    active: usize,
    known: Known,
    boundaries: u32,
}

/// For how long power was known since the window began.
#[derive(Clone, Copy, Default)]
struct Known {
    /// That of the device itself.
    own: Nanos,
    /// Any.
    any: Nanos,
}

/// What a stretch or an event has gathered.
#[derive(Clone, Copy, Default)]
struct Sums {
    joules: f64,
    known: Known,
}

impl Sums {
    fn and(self, more: Sums) -> Sums {
        let known = Known { own: self.known.own + more.known.own, any: self.known.any + more.known.any };
        Sums { joules: self.joules + more.joules, known }
    }
}

impl From<Sums> for Charge {
    fn from(Sums { joules, known }: Sums) -> Charge {
        Charge { energy: Joules(joules), busy: known.own, is_known: known.any > Nanos(0) }
    }
}

impl<'a, S: Shares> Charging<'a, S> {
    fn new(lanes: Vec<OpenLane<'a, S>>, supplies: Vec<Supply<S>>) -> Charging<'a, S> {
        let starts = lanes.iter().enumerate().filter_map(|(place, lane)| Some(Reverse((lane.change()?, place))));
        let ahead: BinaryHeap<_> = starts.collect();
        let now = ahead.peek().map_or(Nanos(0), |Reverse((first, _))| *first);
        Charging { lanes, ahead, supplies, now, active: 0, known: Known::default(), boundaries: 0 }
    }

    fn run<V: ChargeVisitor>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        while let Some(Reverse((time, place))) = self.ahead.pop() {
            self.advance(time);
            let Some(lane) = self.lanes.get_mut(place) else { continue };
            let was_active = lane.is_active();
            lane.gather(place, &self.supplies, self.known);
            for supply in &mut self.supplies {
                supply.leave(place, lane.active());
            }
            lane.turn(time, visitor)?;
            for supply in &mut self.supplies {
                supply.enter(place, lane.active());
            }
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
            let mut until = time;
            for supply in &mut self.supplies {
                until = until.min(supply.go_to(self.now));
            }
            let elapsed = until - self.now;
            if self.active > 0 {
                let (mut own, mut any) = (false, false);
                for supply in self.supplies.iter_mut().filter(|supply| supply.is_known_at(self.now)) {
                    supply.spend(elapsed, self.active);
                    (own, any) = (own | supply.is_own, true);
                }
                self.known.own += if own { elapsed } else { Nanos(0) };
                self.known.any += if any { elapsed } else { Nanos(0) };
            }
            self.now = until;
        }
    }

    fn begin_window(&mut self) {
        for (place, lane) in self.lanes.iter_mut().enumerate() {
            lane.gather(place, &self.supplies, self.known);
        }
        for supply in &mut self.supplies {
            supply.cost = S::Cost::default();
        }
        for lane in &mut self.lanes {
            lane.began.fill(S::Cost::default());
            lane.known = Known::default();
        }
        (self.known, self.boundaries) = (Known::default(), 0);
    }
}

/// A lane and what is open in it.
struct OpenLane<'a, S: Shares> {
    number: usize,
    events: &'a [Event],
    /// What has begun and not ended, outermost first; only the last is active.
    open: Vec<OpenEvent>,
    /// When the stretch of the active event began.
    at: Nanos,
    /// The cost of each supply, and for how long power was known, when it was looked at last.
    began: Vec<S::Cost>,
    known: Known,
    /// What the stretch has gathered until then.
    gathered: Sums,
}

struct OpenEvent {
    event: Event,
    /// What it gathered in stretches that have ended.
    gathered: Sums,
}

impl<'a, S: Shares> OpenLane<'a, S> {
    fn new(number: usize, lane: &'a Lane, supplies: usize) -> OpenLane<'a, S> {
        OpenLane {
            number,
            events: lane.events(),
            open: Vec::new(),
            at: Nanos::MIN,
            began: vec![S::Cost::default(); supplies],
            known: Known::default(),
            gathered: Sums::default(),
        }
    }

    /// Its active event.
    fn active(&self) -> Option<&Event> {
        self.open.last().map(|open| &open.event)
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

    /// Charges the running stretch with what it cost since the lane was looked at last. `place` is the index of the lane among
    /// those of its device.
    fn gather(&mut self, place: usize, supplies: &[Supply<S>], known: Known) {
        if let Some(event) = self.open.last().map(|open| open.event) {
            let charge = |(supply, began): (&Supply<S>, &S::Cost)| {
                supply.shares.charge(supply.cost - *began, supply.shares.weight(place, event.op))
            };
            let joules = supplies.iter().zip(&self.began).map(charge).sum();
            let known = Known { own: known.own - self.known.own, any: known.any - self.known.any };
            self.gathered = self.gathered.and(Sums { joules, known });
        }
        for (began, supply) in self.began.iter_mut().zip(supplies) {
            *began = supply.cost;
        }
        self.known = known;
    }

    /// Ends what ends at `time` and begins what begins; the running stretch was charged up to then.
    fn turn<V: ChargeVisitor>(&mut self, time: Nanos, visitor: &mut V) -> Result<(), V::Error> {
        if let Some(open) = self.open.last_mut().filter(|_| self.at < time) {
            open.gathered = open.gathered.and(self.gathered);
            visitor.stretch(
                self.number,
                &open.event,
                TimeRange { start: self.at, end: time },
                self.gathered.into(),
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
        (self.at, self.gathered) = (time, Sums::default());
        Ok(())
    }
}

/// The power of a device that serves operations, and what being active has cost of it.
struct Supply<S: Shares> {
    spans: Vec<PowerSpan>,
    /// The span that was reached, or the next one.
    place: usize,
    shares: S,
    load: S::Load,
    /// S(t) since the window began.
    cost: S::Cost,
    /// Whether it is the device on which the operations ran.
    is_own: bool,
}

impl<S: Shares> Supply<S> {
    fn new(spans: Vec<PowerSpan>, shares: S, is_own: bool) -> Supply<S> {
        Supply { spans, place: 0, shares, load: S::Load::default(), cost: S::Cost::default(), is_own }
    }

    /// Goes on to an instant; returns until when its power stays as it is.
    fn go_to(&mut self, instant: Nanos) -> Nanos {
        while self.spans.get(self.place).is_some_and(|span| span.range.end <= instant) {
            self.place += 1;
        }
        match self.spans.get(self.place) {
            Some(span) if span.range.start > instant => span.range.start,
            Some(span) => span.range.end,
            None => Nanos::MAX,
        }
    }

    fn is_known_at(&self, instant: Nanos) -> bool {
        self.spans.get(self.place).is_some_and(|span| span.range.start <= instant)
    }

    /// Adds the cost of a piece of time inside the span that was reached.
    fn spend(&mut self, elapsed: Nanos, lanes: usize) {
        if let Some(span) = self.spans.get(self.place) {
            let energy = span.power.0 * 1e-9 * elapsed.0 as f64;
            self.cost += self.shares.cost(self.place, energy, Active { lanes, load: self.load });
        }
    }

    fn leave(&mut self, lane: usize, active: Option<&Event>) {
        if let Some(event) = active {
            self.load = self.shares.end(self.load, self.shares.weight(lane, event.op));
        }
    }

    fn enter(&mut self, lane: usize, active: Option<&Event>) {
        if let Some(event) = active {
            self.load = self.shares.begin(self.load, self.shares.weight(lane, event.op));
        }
    }
}
