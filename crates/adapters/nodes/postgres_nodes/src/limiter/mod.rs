//! A rate limiter shared by all processes on one PostgreSQL database.
//!
//! A process that is alone counts in its memory and needs no database. If there are others, it takes
//! units ahead of need from a row, at most a second's worth, and grants them without a round trip. It
//! queries the row again before it rejects a request, and returns unused units after a second. If the
//! row cannot be reached, it counts in its memory as well, and charges the row later.
//!
//! `bucket` decides requests for one quota of one principal, and `units` is its state; `streams` counts
//! open streams. Requests that the row must decide wait in a queue. `exchange` sends the queue to the
//! database, in one statement, and applies the responses. `connection_task` has a connection of its
//! own for it, so that requests do not wait for the writers of the store.

mod bucket;
mod buckets;
mod connection_task;
mod exchange;
mod postgres_limiter;
mod rate;
mod shared;
mod statements;
mod streams;
mod sweep;
mod units;

pub use postgres_limiter::PostgresRateLimiter;

// For their tests.
#[doc(hidden)]
pub use statements::{SETTINGS, STATEMENTS};
#[doc(hidden)]
pub use sweep::Sweep;
