//! A session that a daemon serves, as its owner sees it.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use jouletree_meter::station::{Feed, FeedError, Next, Watch};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Batch, Ending, SensorInfo, mark_gaps};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::line::{Arrival, Line, Order};
use super::{Address, ClientError};
use crate::wire::v1::ended::Reason;
use crate::wire::{WireError, anchor_from, incident_from, sensor_from, unpack, v1};

/// So many parcels wait here for their owner; the daemon keeps those behind them.
const WAITING: usize = 16;

/// A session that a daemon serves. It ends when it is stopped or dropped.
#[derive(Debug)]
pub struct RemoteSession {
    runtime: Runtime,
    arrivals: mpsc::Receiver<Arrival>,
    orders: mpsc::UnboundedSender<Order>,
    period: Nanos,
    why_longer: Option<String>,
    /// The batch that was given and not acknowledged yet.
    given: Option<u64>,
    samples_seen: u64,
    /// Sensors of which a lost sample said that nothing is known before it.
    torn: BTreeSet<u16>,
    is_over: bool,
    has_ended: bool,
    ending: Ending,
}

impl RemoteSession {
    pub(super) fn start(address: Address, watch: Watch) -> Result<RemoteSession, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let (sender, arrivals) = mpsc::channel(WAITING);
        let (orders, received) = mpsc::unbounded_channel();
        let (reply, answer) = std::sync::mpsc::channel();
        let theirs = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("daemon-feed".to_owned()).spawn(move || {
            theirs.block_on(async {
                match Line::start(address, watch, sender, received).await {
                    Ok((line, started)) => {
                        let _ = reply.send(Ok(started));
                        line.run().await;
                    }
                    Err(error) => drop(reply.send(Err(error))),
                }
            });
        })?;
        let lost = || ClientError::Unreachable("its address".to_owned(), "the connection ended".to_owned());
        let v1::Started { period_ns, why_longer, sensors, share_source, .. } =
            answer.recv().map_err(|_| lost())??;
        let sensors = sensors.into_iter().map(sensor_from).collect::<Result<Vec<_>, _>>()?;
        Ok(RemoteSession {
            runtime,
            arrivals,
            orders,
            period: Nanos(period_ns),
            why_longer,
            given: None,
            samples_seen: 0,
            torn: BTreeSet::new(),
            is_over: false,
            has_ended: false,
            ending: Ending { sensors, share_source, ..Ending::default() },
        })
    }

    /// The period that was granted, perhaps longer than what was asked for.
    pub fn period(&self) -> Nanos {
        self.period
    }

    /// Why it is longer, if it is.
    pub fn why_longer(&self) -> Option<&str> {
        self.why_longer.as_deref()
    }

    fn take(&mut self, parcel: v1::Parcel) -> Result<Batch, WireError> {
        let lost = parcel.before.saturating_sub(self.samples_seen);
        let mut batch = unpack(parcel.number, lost, &parcel.batch)?;
        self.samples_seen = parcel.before.saturating_add(batch.samples.len() as u64);
        self.given = Some(parcel.number);
        self.is_over = parcel.tree_over;
        self.torn.extend(parcel.torn.into_iter().filter_map(|sensor| u16::try_from(sensor).ok()));
        mark_gaps(&mut self.torn, &mut batch.samples);
        batch.anchors.splice(0..0, parcel.anchors.iter().map(anchor_from));
        let earlier = parcel.incidents.into_iter().map(incident_from).collect::<Result<Vec<_>, _>>()?;
        batch.incidents.splice(0..0, earlier);
        Ok(batch)
    }

    fn end(&mut self, ended: v1::Ended) -> Result<(), WireError> {
        self.has_ended = true;
        let why = match ended.reason() {
            Reason::Stopped | Reason::Unspecified => None,
            Reason::ClientGone => {
                Some("the daemon ended the session because its batches were not taken for too long")
            }
            Reason::ShutDown => Some("the daemon was shut down before the session was stopped"),
            Reason::NotPermitted => Some("the session ended because the process took the rights of another user"),
        };
        let lost = ended.before.saturating_sub(self.samples_seen);
        self.ending = crate::wire::ending_from(ended)?;
        self.ending.remarks.extend(why.map(str::to_owned));
        if lost > 0 {
            self.ending.remarks.push(format!("the last {lost} samples were lost"));
        }
        Ok(())
    }
}

impl Feed for RemoteSession {
    fn sensors(&self) -> Vec<SensorInfo> {
        self.ending.sensors.clone()
    }

    fn next(&mut self, wait: Duration) -> Result<Next, FeedError> {
        if let Some(number) = self.given.take() {
            // A line that is gone needs no acknowledgement.
            let _ = self.orders.send(Order::Acknowledge(number));
        }
        if self.has_ended {
            return Ok(Next::Ended);
        }
        let arrivals = &mut self.arrivals;
        let arrived = self.runtime.block_on(async { tokio::time::timeout(wait, arrivals.recv()).await });
        let broken = |error: WireError| FeedError(format!("the daemon's answer cannot be used: {error}"));
        match arrived {
            Err(_) => Ok(Next::NothingYet),
            Ok(Some(Arrival::Parcel(parcel))) => self.take(parcel).map(Next::Batch).map_err(broken),
            Ok(Some(Arrival::Ended(ended))) => self.end(ended).map(|()| Next::Ended).map_err(broken),
            Ok(Some(Arrival::Failed(why))) => Err(FeedError(why)),
            Ok(None) => Err(FeedError("the connection to the daemon has ended".to_owned())),
        }
    }

    fn stop(&mut self) {
        let _ = self.orders.send(Order::End);
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn ending(&self) -> Ending {
        self.ending.clone()
    }
}
