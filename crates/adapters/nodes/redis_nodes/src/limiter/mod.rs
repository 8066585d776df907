//! The rate limiter.

mod circuit;
mod open_streams;
mod redis_limiter;
mod stream_change;
mod take;

pub use redis_limiter::RedisLimiter;
