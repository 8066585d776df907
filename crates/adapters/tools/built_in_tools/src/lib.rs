//! Built-in tools, which need no server or key: `calculator`, `hand_over` and `time`.

mod calculator;
mod hand_over;
mod local_time;
mod provider;

pub use provider::BuiltInTools;
