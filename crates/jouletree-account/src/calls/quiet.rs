//! The time in which no call ran, from which the level of idling is learnt.

use jouletree_model::{Nanos, TimeRange};

use super::net::CallMeter;

/// The last stretches before `before` that lie in none of `busy`, latest first, together no longer than `length`.
/// `busy` is in order and does not overlap.
pub fn quiet(busy: &[TimeRange], since: Nanos, before: Nanos, length: Nanos) -> Vec<TimeRange> {
    let mut found = Vec::new();
    let mut missing = length;
    let mut end = before;
    let begun = busy.partition_point(|range| range.start < before);
    let earlier = busy.iter().take(begun).rev().copied().chain([TimeRange { start: Nanos::MIN, end: since }]);
    for range in earlier {
        let free = TimeRange { start: range.end.max(since), end };
        let taken = TimeRange { start: free.start.max(free.end - missing), end: free.end };
        if !taken.is_empty() {
            found.push(taken);
            missing = missing - taken.duration();
        }
        end = end.min(range.start);
        if missing <= Nanos(0) || end <= since {
            break;
        }
    }
    found
}

/// When calls, given as `busy` stretches in order, and the tails after them have their device, or the program is `active`
/// between calls, in order as well; `since` is when the power is first known. Each tail is compared with the level of the
/// time that is left before it.
pub fn occupied(meter: &CallMeter<'_>, busy: &[TimeRange], active: &[TimeRange], since: Nanos) -> Vec<TimeRange> {
    let mut occupied: Vec<TimeRange> = Vec::with_capacity(busy.len() + active.len());
    let mut active = active.iter().copied().peekable();
    for (number, range) in busy.iter().enumerate() {
        while let Some(before) = active.next_if(|active| active.start <= range.start) {
            join(&mut occupied, before);
        }
        let free = quiet(&occupied, since, range.start, meter.rule().baseline);
        let next = busy.get(number + 1).map(|next| next.start);
        let tail = meter.net(*range, &free, next).tail;
        let end = tail.map_or(range.end, |tail| tail.range.end);
        match occupied.last_mut() {
            // A gap without a whole reading says nothing about idling, and there may be a million of them.
            Some(last)
                if range.start <= last.end
                    || !meter.has_reading(TimeRange { start: last.end, end: range.start }) =>
            {
                last.end = last.end.max(end);
            }
            _ => join(&mut occupied, TimeRange { end, ..*range }),
        }
    }
    active.for_each(|after| join(&mut occupied, after));
    occupied
}

/// Adds a stretch that begins no earlier than the last one.
fn join(stretches: &mut Vec<TimeRange>, next: TimeRange) {
    match stretches.last_mut() {
        Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
        _ => stretches.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::NetRule;
    use jouletree_model::{DeviceClass, EnergySeries, Joules, united};

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange { start: Nanos(start), end: Nanos(end) }
    }

    #[test]
    fn looks_back_past_other_calls() {
        let busy = united([range(10, 20), range(15, 30), range(40, 50)].into_iter());
        let quiet = |before, length| quiet(&busy, Nanos(0), Nanos(before), Nanos(length));
        assert_eq!(quiet(40, 5), [range(35, 40)]);
        assert_eq!(quiet(40, 15), [range(30, 40), range(5, 10)]);
        assert_eq!(quiet(60, 1000), [range(50, 60), range(30, 40), range(0, 10)]);
        // A call inside a call learns from the time before the outer one.
        assert_eq!(quiet(18, 4), [range(6, 10)]);
        assert_eq!(quiet(0, 4), []);
    }

    #[test]
    fn gaps_without_a_reading_are_no_quiet_time() {
        let mut series = EnergySeries::default();
        (0..100).for_each(|n| series.push(Nanos(n * 100), Joules(n as f64), false).unwrap());
        let meter = CallMeter::new(&series, NetRule::for_class(DeviceClass::Cpu));
        // A thousand short calls, a reading apart from two more.
        let many = (0..1000).map(|n| range(2000 + 3 * n, 2002 + 3 * n));
        let busy: Vec<TimeRange> = many.chain([range(5201, 5210), range(5290, 5299)]).collect();
        assert_eq!(occupied(&meter, &busy, &[], Nanos(0)), [range(2000, 4999), range(5201, 5299)]);
    }

    #[test]
    fn what_the_program_does_between_calls_is_no_quiet_time() {
        let mut series = EnergySeries::default();
        (0..100).for_each(|n| series.push(Nanos(n * 100), Joules(n as f64), false).unwrap());
        let meter = CallMeter::new(&series, NetRule::for_class(DeviceClass::Cpu));
        let busy = [range(2000, 3000), range(5000, 6000)];
        let active = [range(0, 1000), range(1500, 2500), range(4000, 4500), range(5500, 7000)];
        let all = occupied(&meter, &busy, &active, Nanos(0));
        assert_eq!(all, [range(0, 1000), range(1500, 3000), range(4000, 4500), range(5000, 7000)]);
        assert_eq!(super::quiet(&all, Nanos(0), Nanos(5000), Nanos(1200)), [range(4500, 5000), range(3300, 4000)]);
    }

    #[test]
    fn without_calls_all_time_is_quiet() {
        assert_eq!(super::quiet(&[], Nanos(5), Nanos(30), Nanos(10)), [range(20, 30)]);
        assert_eq!(super::quiet(&[], Nanos(5), Nanos(30), Nanos(100)), [range(5, 30)]);
    }
}
