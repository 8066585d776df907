//! Tools that every service has, without a server or a key: `time` and `calculator`.

mod calculator;
mod local_time;
mod provider;

pub use provider::BuiltInTools;
