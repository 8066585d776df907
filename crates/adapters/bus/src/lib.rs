//! The event bus of a single process: each node tells itself alone. What other nodes do is found
//! in the log.

mod local_bus;

pub use local_bus::LocalBus;
