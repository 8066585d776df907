//! The event bus of a single process. Each node notifies only its own subscribers and finds the
//! events of other nodes in the event log.

mod local_bus;

pub use local_bus::LocalBus;
