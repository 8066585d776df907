//! The reply engine that does what the message tells it: it says so many words, waits, fails,
//! hangs or panics, so that a test can bring about from outside whatever an engine may do.
//!
//! For tests alone: only dev-dependencies and examples may use it, never the binary that is
//! shipped, for whoever can chat with it can make it panic.
//!
//! A message that is a JSON object is a [`Script`]; any other is echoed word by word. A script is
//! checked and made a `performance`, which is what an answer is played from. What happens on the
//! `stage` can be followed and awaited by tests in the same process: how often the engine was
//! asked, which of its streams still live, which gates are open.

mod engine;
mod performance;
mod script;
mod stage;

pub use engine::ScriptedEngine;
pub use script::{Failure, Script};
