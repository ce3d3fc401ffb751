//! The line to the daemon behind a session: it connects again when it breaks, and goes on where it was.

use std::time::{Duration, Instant};

use jouletree_meter::station::Watch;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use super::{Address, ClientError, connect, is_passing};
use crate::wire::v1::watch_event::Event;
use crate::wire::v1::watch_request::Request as Wish;
use crate::wire::{WireError, v1};

/// How long an answer to the first request may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The shortest and the longest time between attempts to connect again.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// How long the daemon has to send the end of a session that is no longer needed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// What the owner of a session wants.
#[derive(Debug)]
pub(super) enum Order {
    /// It has all batches up to this one.
    Acknowledge(u64),
    /// It wants no more.
    End,
}

/// What the owner of a session gets.
#[derive(Debug)]
pub(super) enum Arrival {
    Parcel(v1::Parcel),
    Ended(v1::Ended),
    Failed(String),
}

pub(super) struct Line {
    address: Address,
    arrivals: mpsc::Sender<Arrival>,
    orders: mpsc::UnboundedReceiver<Order>,
    session: u64,
    secret: Vec<u8>,
    kept_for: Duration,
    /// The number of the first batch that has not arrived.
    next: u64,
    wants_end: bool,
    open: Open,
}

/// A stream that works.
struct Open {
    wishes: mpsc::Sender<v1::WatchRequest>,
    events: Streaming<v1::WatchEvent>,
}

impl Line {
    /// Connects and begins a session.
    pub(super) async fn start(
        address: Address,
        watch: Watch,
        arrivals: mpsc::Sender<Arrival>,
        orders: mpsc::UnboundedReceiver<Order>,
    ) -> Result<(Line, v1::Started), ClientError> {
        let start = v1::Start { pid: watch.pid, period_ns: watch.period.0 };
        let (open, started) = within(open(&address, Wish::Start(start))).await?;
        let line = Line {
            address,
            arrivals,
            orders,
            session: started.session,
            secret: started.secret.clone(),
            kept_for: Duration::from_nanos(started.kept_for_ns.unsigned_abs()),
            next: 0,
            wants_end: false,
            open,
        };
        Ok((line, started))
    }

    /// Brings what arrives until the session has ended or it is not needed any more.
    pub(super) async fn run(mut self) {
        loop {
            // Each batch that is taken comes with an order, which checks the free space again.
            let has_room = self.arrivals.capacity() > 0;
            let step = tokio::select! {
                event = self.open.events.message(), if has_room => match event {
                    Ok(Some(v1::WatchEvent { event: Some(event) })) => self.hand_on(event),
                    Ok(Some(_)) => Step::GoOn,
                    Ok(None) => Step::Broken(Status::unavailable("the connection ended")),
                    Err(status) => Step::Broken(status),
                },
                order = self.orders.recv() => self.obey(order),
            };
            match step {
                Step::GoOn => {}
                Step::Done => return self.open.close().await,
                Step::Abandoned => return self.say_goodbye().await,
                Step::Broken(status) => match self.resume(status).await {
                    Ok(open) => self.open = open,
                    Err(error) => {
                        let _ = self.arrivals.send(Arrival::Failed(error.to_string())).await;
                        return;
                    }
                },
            }
        }
    }

    fn hand_on(&mut self, event: Event) -> Step {
        let (arrival, step) = match event {
            Event::Parcel(parcel) => {
                self.next = parcel.number.saturating_add(1);
                (Arrival::Parcel(parcel), Step::GoOn)
            }
            Event::Ended(ended) => (Arrival::Ended(ended), Step::Done),
            Event::Started(_) => return Step::GoOn,
        };
        match self.arrivals.try_send(arrival) {
            Ok(()) => step,
            Err(_) => Step::Abandoned,
        }
    }

    fn obey(&mut self, order: Option<Order>) -> Step {
        let wish = match order {
            Some(Order::Acknowledge(number)) => Wish::Acknowledge(v1::Acknowledge { number }),
            Some(Order::End) => {
                self.wants_end = true;
                Wish::End(v1::End {})
            }
            None => return Step::Abandoned,
        };
        // Where the buffer is full the line is broken or slow; a later acknowledgement holds for this one.
        let _ = self.open.wishes.try_send(v1::WatchRequest { request: Some(wish) });
        Step::GoOn
    }

    /// Ends a session whose owner is gone.
    async fn say_goodbye(mut self) {
        let _ = self.open.wishes.send(v1::WatchRequest { request: Some(Wish::End(v1::End {})) }).await;
        let end = async {
            while let Ok(Some(event)) = self.open.events.message().await {
                if matches!(event.event, Some(Event::Ended(_))) {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, end).await;
        self.open.close().await;
    }

    /// Connects again, as long as the daemon keeps the session.
    async fn resume(&mut self, status: Status) -> Result<Open, ClientError> {
        let mut last = ClientError::from(status);
        let (broken, mut pause) = (Instant::now(), RETRY.0);
        while is_passing(&last) && broken.elapsed() < self.kept_for {
            let (session, secret) = (self.session, self.secret.clone());
            let wish = Wish::Resume(v1::Resume { session, secret, next: self.next });
            match within(open(&self.address, wish)).await {
                Ok((open, _)) => {
                    if self.wants_end {
                        let _ = open.wishes.try_send(v1::WatchRequest { request: Some(Wish::End(v1::End {})) });
                    }
                    return Ok(open);
                }
                Err(error) => last = error,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY.1);
        }
        Err(last)
    }
}

impl Open {
    /// Notifies the daemon that everything has arrived, so that it need not keep the session, and lets it hang up first.
    async fn close(self) {
        let Open { wishes, mut events } = self;
        drop(wishes);
        let end = async { while let Ok(Some(_)) = events.message().await {} };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, end).await;
    }
}

/// What to do after something has happened.
enum Step {
    GoOn,
    Done,
    /// The owner of the session is gone.
    Abandoned,
    Broken(Status),
}

/// Opens a stream that begins with this wish.
async fn open(address: &Address, wish: Wish) -> Result<(Open, v1::Started), ClientError> {
    let mut meter = connect(address).await?;
    let (wishes, requests) = mpsc::channel(64);
    let _ = wishes.try_send(v1::WatchRequest { request: Some(wish) });
    let mut events = meter.watch(ReceiverStream::new(requests)).await?.into_inner();
    match events.message().await?.and_then(|event| event.event) {
        Some(Event::Started(started)) => Ok((Open { wishes, events }, started)),
        _ => Err(WireError::Value("beginning of a session").into()),
    }
}

async fn within<T>(answer: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
    let late = || Status::new(Code::Unavailable, "the daemon did not answer in time");
    tokio::time::timeout(ANSWER_TIMEOUT, answer).await.map_err(|_| ClientError::from(late()))?
}
