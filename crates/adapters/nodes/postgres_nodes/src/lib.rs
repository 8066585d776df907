//! The event bus and the rate limiter of several processes on one PostgreSQL database.

mod bus;
mod limiter;

pub use bus::PostgresBus;
pub use limiter::PostgresRateLimiter;

// For their tests.
#[doc(hidden)]
pub use limiter::{SETTINGS, STATEMENTS, Sweep};
