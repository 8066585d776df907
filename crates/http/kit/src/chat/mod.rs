//! The forms of a chat that several surfaces read and write.

mod request;
mod response_mode;

pub use request::{ChatRequest, ConversationReference, HistoryItem, WhenBusy};
pub use response_mode::{RESPOND_ASYNC, ResponseMode};
