//! Loops, branches and calls of compiled programs. XLA notes such a container from its beginning to its end, on the thread
//! that runs it or waits for it, and what runs inside on whatever thread does it. A container is left the time in which
//! nothing inside it runs.

use std::ops::Range;

use rustc_hash::FxHashMap;

use jouletree_model::{Event, Nanos, OpId, Step};

use super::ops::Slot;

/// A container: its program, and its number in it.
pub(super) type Container = (usize, usize);

/// Which operations are containers, and which run inside of which.
#[derive(Debug, Default)]
pub(super) struct Containers {
    containers: FxHashMap<OpId, Container>,
    around: FxHashMap<OpId, Vec<Container>>,
}

/// When something ran inside a container, in one run of its program: apart from each other, in order.
type Inside = FxHashMap<(Container, Step), Vec<Range<Nanos>>>;

impl Containers {
    /// Notes what an operation is and what it runs in.
    pub(super) fn note(&mut self, slot: Slot, own: Option<Container>, around: &[Container]) {
        if let Some(own) = own {
            self.containers.insert(OpId(slot.0), own);
        }
        if !around.is_empty() {
            self.around.insert(OpId(slot.0), around.to_vec());
        }
    }

    /// Takes the containers out of the lanes of a device, and gives what is left of each.
    pub(super) fn leftovers(&self, lanes: &mut [&mut Vec<Event>]) -> Vec<Vec<Event>> {
        if self.containers.is_empty() {
            return Vec::new();
        }
        let inside = self.inside(lanes);
        let mut leftovers = Vec::new();
        for lane in lanes {
            lane.retain(|event| {
                let Some(container) = self.containers.get(&event.op) else { return true };
                let Some(inside) = inside.get(&(*container, event.step)) else { return true };
                leftovers.push(without(event, inside));
                false
            });
        }
        leftovers.retain(|pieces| !pieces.is_empty());
        leftovers
    }

    fn inside(&self, lanes: &[&mut Vec<Event>]) -> Inside {
        let mut inside = Inside::default();
        for event in lanes.iter().flat_map(|lane| lane.iter()) {
            for container in self.around.get(&event.op).into_iter().flatten() {
                inside.entry((*container, event.step)).or_default().push(event.start..event.end);
            }
        }
        inside.values_mut().for_each(unite);
        inside
    }
}

/// Joins stretches that touch or overlap.
fn unite(stretches: &mut Vec<Range<Nanos>>) {
    stretches.sort_unstable_by_key(|stretch| stretch.start);
    stretches.dedup_by(|next, before| {
        let touches = next.start <= before.end;
        if touches {
            before.end = before.end.max(next.end);
        }
        touches
    });
}

/// What is left of an event beside stretches that are apart and in order.
fn without(event: &Event, stretches: &[Range<Nanos>]) -> Vec<Event> {
    let first = stretches.partition_point(|stretch| stretch.end <= event.start);
    let mut pieces = Vec::new();
    let mut from = event.start;
    for stretch in stretches[first..].iter().take_while(|stretch| stretch.start < event.end) {
        if stretch.start > from {
            pieces.push(Event { start: from, end: stretch.start, ..*event });
        }
        from = stretch.end;
    }
    if from < event.end {
        pieces.push(Event { start: from, ..*event });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(start: i64, end: i64, op: u32, run: u32) -> Event {
        Event { start: Nanos(start), end: Nanos(end), op: OpId(op), step: Step(run) }
    }

    #[test]
    fn a_container_is_left_what_nothing_inside_takes() {
        let mut containers = Containers::default();
        let (outer, inner) = ((0, 7), (0, 3));
        containers.note(Slot(0), Some(outer), &[]);
        containers.note(Slot(1), Some(inner), &[outer]);
        containers.note(Slot(2), None, &[inner, outer]);
        // The body runs on another thread, and so does a second run of the same program.
        let mut waiting = vec![event(0, 100, 0, 1), event(10, 60, 1, 1), event(200, 300, 0, 2)];
        let mut working = vec![event(5, 8, 3, 1), event(20, 30, 2, 1), event(25, 40, 2, 1), event(190, 210, 2, 2)];
        let leftovers = containers.leftovers(&mut [&mut waiting, &mut working]);
        assert_eq!(
            leftovers,
            [
                vec![event(0, 10, 0, 1), event(60, 100, 0, 1)],
                vec![event(10, 20, 1, 1), event(40, 60, 1, 1)],
                vec![event(210, 300, 0, 2)],
            ]
        );
        assert_eq!(waiting, []);
        assert_eq!(working.len(), 4);
    }

    #[test]
    fn a_container_without_a_recorded_body_stays() {
        let mut containers = Containers::default();
        containers.note(Slot(0), Some((0, 7)), &[]);
        let mut lane = vec![event(0, 100, 0, 1), event(10, 20, 5, 1)];
        assert_eq!(containers.leftovers(&mut [&mut lane]), Vec::<Vec<Event>>::new());
        assert_eq!(lane.len(), 2);
    }
}
