//! The time of day in the unit of the protocol.

use std::time::SystemTime;

/// Milliseconds since the epoch.
pub(super) fn now() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
