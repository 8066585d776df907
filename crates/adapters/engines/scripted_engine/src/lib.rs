//! A reply engine whose replies are scripts: it sends a number of words, waits, fails, hangs or
//! panics, so that a test can produce any behaviour of an engine.
//!
//! For tests only: only dev-dependencies and examples may use it, never the released binary, since
//! any client of the chat could make it panic.
//!
//! A message that is a JSON object is a [`Script`]; any other is echoed word by word. A script is
//! checked and converted to a `plan`. The `shared_state` is visible to tests in the same process:
//! the number of requests, the open streams and the open gates.

mod engine;
mod planned_reply;
mod script;
mod shared_state;

pub use engine::ScriptedEngine;
pub use script::{Failure, Script};
