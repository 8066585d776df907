//! The turns that this process runs or waits for, and the readers of their replies.
//!
//! The registry, [`LiveTurns`], holds a [`LiveTurn`] for each of them: its progress, and the
//! listeners that are woken when it changes. `TurnOwnership` marks the turns that run here; the
//! state of the others is polled from the store. A [`TurnEventStream`] returns the events of one
//! turn, and a [`ReplyCursor`] what a reader has not received yet of a reply.

mod draft_stream;
mod live_turn;
mod local_turn_starts;
mod ownership;
mod progress;
mod registry;
mod reply_cursor;
mod reply_readers;
mod turn_events;
mod turn_user;
mod turn_waiter;

#[cfg(test)]
pub(crate) mod tests;

pub use draft_stream::{DraftError, DraftStream};
pub use live_turn::{Interest, LiveTurn};
pub use progress::{CompletedChat, Progress, TurnOutcome};
pub use registry::{LiveTurns, TurnSubject};
pub use reply_cursor::{ReplyCursor, ReplyPiece};
pub(crate) use reply_readers::RequestedConversations;
pub use reply_readers::{ReaderGuard, RemoteTurnInbox, ReplyReaders};
pub use turn_events::TurnEventStream;
pub use turn_user::TurnUser;

pub(crate) use ownership::TurnOwnership;
pub(crate) use turn_waiter::{MAX_OUTAGE, POLL_INTERVAL, TurnWaiter};
