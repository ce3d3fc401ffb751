//! Two clocks brought together: the exact CPU time of a tree, and the ticks of whole CPUs.
//!
//! Over one window every socket's capacity is cut into ours, others' and idle, which always make one. Ours is never more
//! than busy: where the exact clock says more than the ticks do, the rest is carried into the next window, and what
//! cannot be steps of the ticks is dropped and said.

use jouletree_model::Nanos;

use super::machine::SocketTicks;

/// What is known of one socket over one window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Slice {
    pub(super) ours: f64,
    pub(super) others: f64,
    pub(super) idle: f64,
    pub(super) own: f64,
}

/// Time that could not be placed yet, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Carry {
    pub(super) ours: f64,
    /// What was dropped in all, as it was more than the ticks can be off.
    pub(super) dropped: f64,
}

/// The time of the tree and of the monitor over one window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) window: Nanos,
    pub(super) tick: Nanos,
    pub(super) ours: Nanos,
    pub(super) own: Nanos,
    /// The place of the socket on which the monitor runs.
    pub(super) own_socket: usize,
    /// Whether these times went on while a CPU was stolen.
    pub(super) include_stolen: bool,
}

/// The busy part of a socket, and its capacity in nanoseconds without what was stolen; `None` when nothing is known.
fn capacity(socket: &SocketTicks, window: Nanos) -> Option<(f64, f64, f64)> {
    let (busy, idle, stolen) = (socket.ticks.busy as f64, socket.ticks.idle as f64, socket.ticks.stolen as f64);
    let here = busy + idle;
    if here <= 0.0 || socket.cpus == 0 || window.0 <= 0 {
        return None;
    }
    let capacity = window.0 as f64 * f64::from(socket.cpus) * here / (here + stolen);
    let kept = if busy > 0.0 { busy / (busy + stolen) } else { 1.0 };
    Some((busy / here, capacity, kept))
}

/// Cuts every socket's capacity; `weights` say where the tree ran, in any unit, one for each socket. A socket of which
/// nothing is known gets no slice.
pub(super) fn reconcile(
    sockets: &[SocketTicks],
    weights: &[f64],
    times: Times,
    carry: &mut Carry,
    slices: &mut Vec<Option<Slice>>,
) {
    slices.clear();
    slices.extend(sockets.iter().map(|socket| {
        let (busy, _, _) = capacity(socket, times.window)?;
        Some(Slice { ours: 0.0, others: busy, idle: 1.0 - busy, own: 0.0 })
    }));
    let room = |place: usize, slices: &[Option<Slice>]| -> f64 {
        let known = sockets.get(place).and_then(|socket| capacity(socket, times.window));
        let slice = slices.get(place).copied().flatten();
        known.zip(slice).map_or(0.0, |((_, capacity, _), slice)| (slice.others - slice.own) * capacity)
    };
    let kept = |place: usize| {
        let known = sockets.get(place).and_then(|socket| capacity(socket, times.window));
        known.filter(|_| times.include_stolen).map_or(1.0, |(_, _, kept)| kept)
    };
    let give = |place: usize, time: f64, slices: &mut [Option<Slice>], own: bool| -> f64 {
        let given = time.min(room(place, slices)).max(0.0);
        let known = sockets.get(place).and_then(|socket| capacity(socket, times.window));
        if let (Some((_, capacity, _)), Some(Some(slice))) = (known, slices.get_mut(place)) {
            let part = given / capacity;
            if own {
                slice.own += part;
            } else {
                slice.ours += part;
                slice.others = (slice.others - part).max(0.0);
            }
        }
        time - given
    };

    let total: f64 = weights.iter().zip(slices.iter()).filter(|(_, slice)| slice.is_some()).map(|(w, _)| w).sum();
    let mut left = carry.ours;
    // Where it ran is unknown: where the machine was busy, then.
    let busy: f64 = (0..sockets.len()).map(|place| room(place, slices)).sum();
    for place in 0..sockets.len() {
        let weight = if total > 0.0 {
            weights.get(place).copied().unwrap_or(0.0) / total
        } else if busy > 0.0 {
            room(place, slices) / busy
        } else {
            0.0
        };
        if slices.get(place).copied().flatten().is_some() {
            let time = times.ours.0.max(0) as f64 * weight * kept(place);
            left += give(place, time, slices, false);
        }
    }
    if total <= 0.0 && busy <= 0.0 {
        left += times.ours.0.max(0) as f64;
    }
    for place in 0..sockets.len() {
        left = give(place, left, slices, false);
    }
    let steps: f64 = sockets.iter().map(|socket| 2.0 * f64::from(socket.cpus) * times.tick.0 as f64).sum();
    carry.dropped += (left - steps).max(0.0);
    carry.ours = left.min(steps);

    let own = times.own.0.max(0) as f64 * kept(times.own_socket);
    give(times.own_socket, own, slices, true);
    // The sum is one by construction; this keeps rounding from saying otherwise.
    for slice in slices.iter_mut().flatten() {
        slice.others = (1.0 - slice.idle - slice.ours).max(0.0);
        slice.own = slice.own.min(slice.others);
    }
}
