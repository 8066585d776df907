//! Built-in tools, which need no server or key: `time` and `calculator`.

mod calculator;
mod local_time;
mod provider;

pub use provider::BuiltInTools;
