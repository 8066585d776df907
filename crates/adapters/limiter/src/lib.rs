//! The rate limiter that counts in this process: each node counts for itself.
//!
//! `rates` holds one `quota_limiter` for each policy and quota in use, and that holds one number
//! for each principal that used it lately (the generic cell rate algorithm). `open_streams` counts
//! what is open. A take waits for nothing; [`LocalRateLimiter::run`] sweeps out what has rested.

mod limiter;
mod open_streams;
mod quota_limiter;
mod rates;
#[cfg(test)]
mod sample;

pub use limiter::LocalRateLimiter;
