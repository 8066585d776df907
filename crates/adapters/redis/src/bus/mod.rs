//! The event bus.

mod channels;
mod link;
mod redis_bus;

pub use redis_bus::RedisBus;
