//! The event bus.

mod channels;
mod redis_bus;
mod signal_exchange;

pub use redis_bus::RedisBus;
