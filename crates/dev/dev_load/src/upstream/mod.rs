//! A double of a language model server. It answers at once, streams words with their send times, or
//! fails in one of the ways in which such servers fail.
//!
//! It writes bytes itself, on one thread of its own: most of its failures are invalid HTTP, and it
//! must cost less processor time than the service that is measured with it.

mod connection;
mod payload;
mod request;
mod response_mode;
mod server;

pub use self::{
    payload::SendTimeParser,
    response_mode::{FIRST_PAUSE, ResponseMode, WORDS},
    server::Upstream,
};
