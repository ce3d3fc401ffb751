//! Requests an early flush of a session's batch.

use std::sync::mpsc::Sender;

use super::worker::Order;

/// Has a session read its meters and hand over its next batch at once, from any thread; by default it does nothing.
#[derive(Debug, Clone, Default)]
pub struct EarlyFlush(Option<(Sender<Order>, u64)>);

impl EarlyFlush {
    pub(super) fn of(orders: &Sender<Order>, session: u64) -> EarlyFlush {
        EarlyFlush(Some((orders.clone(), session)))
    }

    /// Requests the flush. Shares of processes cover windows of 50 ms at least, so it may take as long.
    pub fn now(&self) {
        if let Some((orders, session)) = &self.0 {
            // A station that is gone has handed over everything.
            let _ = orders.send(Order::Flush(*session));
        }
    }
}
