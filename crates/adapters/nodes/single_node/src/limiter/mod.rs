//! A rate limiter in the memory of this process: each node counts separately.
//!
//! `rates` has one `quota_limiter` for each policy and quota in use, which stores one number for
//! each principal that used it recently (the generic cell rate algorithm). `open_streams` counts
//! open streams. No call waits; [`LocalRateLimiter::run`] removes idle entries.

#[cfg(test)]
mod fixture;
mod local_limiter;
mod open_streams;
mod quota_limiter;
mod rates;

pub use local_limiter::LocalRateLimiter;
