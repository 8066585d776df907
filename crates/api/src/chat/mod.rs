//! `POST /api/chat`: accepts a message and returns its reply, a stream of events, or the turn.

mod request;
mod response_mode;
mod send;
mod stream;

pub use request::{ChatRequest, ConversationReference, HistoryItem, WhenBusy};
pub(crate) use response_mode::ResponseMode;
pub(crate) use send::stream_turn;
pub use send::{__path_chat, chat};
pub use stream::{ChatEvent, TurnFailed, TurnPlace};
