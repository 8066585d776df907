//! Built-in tools, which need no server or key: `calculator`, `hand_over`, `read_file` and `time`.

mod calculator;
mod hand_over;
mod local_time;
mod provider;
mod read_file;

pub use provider::BuiltInTools;
