//! Dies that show one and the same counter.
//!
//! On some machines every die of a socket shows the socket's counter, and adding them up would count it twice. Such a
//! mirror is found by looking: read the one, the other, and the one again, a few times while they move. A mirror
//! always lies between the two looks, to the microjoule. Counters of different dies, which hold whatever was used since
//! the machine started, do not: they would have to agree to one part in a billion, and go on agreeing while they move.

use std::thread;
use std::time::Duration;

use crate::number_file::NumberFile;

const LOOKS: usize = 5;
/// A few updates of the hardware.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Whether two counters are one. Two that do not move while they are looked at are taken for two: nothing is lost by
/// adding them up.
pub(super) fn is_mirror(one: &NumberFile, other: &NumberFile) -> bool {
    let mut first = None;
    let mut has_moved = false;
    for look in 0..LOOKS {
        if look > 0 {
            thread::sleep(BETWEEN_LOOKS);
        }
        let (Ok(before), Ok(between), Ok(after)) = (one.read(), other.read(), one.read()) else { return false };
        if after < before {
            // It wrapped at this very look.
            continue;
        }
        if !(before..=after).contains(&between) {
            return false;
        }
        has_moved |= *first.get_or_insert(before) != before;
    }
    has_moved
}
