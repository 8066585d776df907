//! `POST /api/chat`: a message in, its answer out, whole, as a stream, or later.

mod form;
mod request;
mod send;
mod stream;

pub use request::{ChatRequest, WhenBusy};
pub use send::{__path_chat, chat};
pub use stream::{ChatEvent, TurnFailed, TurnPlace};
