//! OpenTelemetry: the same metrics, posted to a collector now and then (OTLP over HTTP, protocol buffers).

mod message;
mod push;
mod target;
mod wire;

pub use message::{Sender, request};
pub use push::{PushSettings, Pusher};
pub use target::{Headers, HeadersError, Target, TargetError};
