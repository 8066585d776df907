//! Live replies of turns that other nodes run.
//!
//! A node with readers of a conversation requests the replies of its turns (`Signal::RepliesRequested`).
//! Each node's [`ReplyForwarder`] sends the parts of those that run there, and the [`ReplyReceiver`]
//! of the reader's node adds them to the turn in its registry, from which streams and sockets read.
//! Parts can be lost, late or repeated: each has its position, and a gap is closed by another
//! request. The end of a turn comes from the event log.

mod forwarded_replies;
mod forwarder;
mod lookups;
mod received_reply;
mod receiver;
mod requested_replies;

#[cfg(test)]
mod tests;

pub use forwarded_replies::ForwardedReplies;
pub use forwarder::ReplyForwarder;
pub use receiver::ReplyReceiver;

use std::time::Duration;

/// The interval at which the replies that readers follow are requested again.
const REQUEST_INTERVAL: Duration = Duration::from_secs(5);
/// The shortest time between two requests for lost parts, of one reply or of all.
const GAP_REQUEST_INTERVAL: Duration = Duration::from_millis(200);
/// The time after which a request expires.
const REQUEST_EXPIRES_AFTER: Duration = Duration::from_secs(15);
