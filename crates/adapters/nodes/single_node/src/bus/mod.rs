//! The event bus of a single process, and the parts that buses between processes share.
//!
//! With [`LocalBus`] alone each node notifies only its own subscribers and finds the events of other
//! nodes in the event log. A bus between processes delivers its signals to the subscribers of its own
//! process by a [`LocalBus`], collects them for the others in an [`Outbox`], sends them as numbered
//! messages by a [`MessageWriter`], and delivers received ones by an [`Inbox`], which reports lost
//! messages as [`Signal::SignalsLost`](ports::Signal::SignalsLost).

mod backoff;
mod fallback;
mod inbox;
mod local_bus;
mod message;
mod outbox;

pub use backoff::Backoff;
pub use fallback::{FallbackRequests, request_fallback};
pub use inbox::{Closed, Inbox};
pub use local_bus::LocalBus;
pub use message::{Message, MessageWriter};
pub use outbox::Outbox;
