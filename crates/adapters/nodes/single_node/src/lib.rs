//! The event bus and the rate limiter of a single process, and the parts that buses between processes
//! share.

pub mod bus;
mod limiter;

pub use bus::LocalBus;
pub use limiter::LocalRateLimiter;
