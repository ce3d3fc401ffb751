//! Posting: now and then, with pauses that grow while a collector does not answer, and once more at the end.
//!
//! Everything is cumulative, so a post that fails loses nothing that the next does not bring.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender as Line, channel};
use std::thread;
use std::time::Duration;

use prost::Message;
use ureq::Agent;

use super::message::{Sender, request};
use super::target::{Headers, Target};
use crate::board::Board;

/// How long one post may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last post is waited for.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(6);
/// The longest time between two attempts.
const LONGEST: Duration = Duration::from_secs(300);

/// Where and how often metrics are posted.
#[derive(Debug, Clone)]
pub struct PushSettings {
    /// The collector.
    pub target: Target,
    /// What is sent with each post.
    pub headers: Headers,
    /// The time between two posts.
    pub interval: Duration,
}

/// Posts what is pinned to a board until it is ended.
#[derive(Debug)]
pub struct Pusher {
    stop: Option<Line<()>>,
    ended: Receiver<()>,
}

impl Pusher {
    /// Begins to post. `warn` receives a sentence when something goes wrong: for the first time, and at the end.
    pub fn start(
        board: Board,
        settings: PushSettings,
        warn: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Pusher> {
        let (stop, stopped) = channel();
        let (done, ended) = channel();
        let post = Post::new(settings);
        thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            post.run(&board, &stopped, warn);
            // The receiver may be gone.
            let _ = done.send(());
        })?;
        Ok(Pusher { stop: Some(stop), ended })
    }

    /// Posts once more, what was pinned last, and ends. A collector that does not answer is not waited for much longer.
    pub fn end(mut self) {
        drop(self.stop.take());
        let _ = self.ended.recv_timeout(SHUTDOWN_TIMEOUT);
    }
}

/// Why a post failed, and how long the collector wants to be left alone.
struct Failure {
    why: String,
    wait: Option<Duration>,
}

struct Post {
    agent: Agent,
    settings: PushSettings,
    sender: Sender,
}

impl Post {
    fn new(settings: PushSettings) -> Post {
        let config = Agent::config_builder()
            .timeout_global(Some(REQUEST_TIMEOUT))
            .http_status_as_error(false)
            // What is sent may hold a secret that is meant for one address.
            .max_redirects(0)
            .user_agent(concat!("jouletree/", env!("CARGO_PKG_VERSION")))
            .build();
        Post { agent: config.into(), settings, sender: Sender::this() }
    }

    fn run(&self, board: &Board, stopped: &Receiver<()>, warn: impl Fn(&str)) {
        let target = &self.settings.target;
        let (mut wait, mut failures) = (self.settings.interval, 0_u32);
        loop {
            let is_over = !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
            match self.post(board) {
                Ok(()) => {
                    wait = self.settings.interval;
                    if is_over {
                        return;
                    }
                }
                Err(Failure { why, .. }) if is_over => {
                    return warn(&format!("the last metrics did not reach {target}: {why}"));
                }
                Err(Failure { why, wait: wanted }) => {
                    if failures == 0 {
                        warn(&format!(
                            "metrics do not reach {target}: {why}; it is tried again, and recording goes on"
                        ));
                    }
                    failures += 1;
                    let longest = LONGEST.max(self.settings.interval);
                    wait = wanted.unwrap_or_default().max(wait.saturating_mul(2)).min(longest);
                }
            }
        }
    }

    fn post(&self, board: &Board) -> Result<(), Failure> {
        let Some(snapshot) = board.newest() else { return Ok(()) };
        let body = request(&snapshot, &self.sender).encode_to_vec();
        let mut post =
            self.agent.post(self.settings.target.uri()).header("content-type", "application/x-protobuf");
        for (name, value) in self.settings.headers.iter() {
            post = post.header(name, value);
        }
        let answer = post.send(&body[..]).map_err(|error| Failure { why: error.to_string(), wait: None })?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let wait = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let wait = wait.and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs);
        Err(Failure { why: format!("it answers {status}"), wait })
    }
}
