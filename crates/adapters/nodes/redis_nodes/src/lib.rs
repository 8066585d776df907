//! The event bus and the rate limiter of several processes on Redis or Valkey, version 7 or newer.
//!
//! **Bus.** A signal reaches the subscribers of its own process at once. For the others, `bus::signal_exchange`
//! sends what waits in the outbox as numbered messages, without pause and one batch at a time, on the
//! sharded channel of each signal's tenant. Every process subscribes to all channels on the same
//! connection. A lost connection is replaced, and a gap reported as
//! [`Signal::SignalsLost`](ports::Signal::SignalsLost).
//!
//! **Limiter.** Scripts in the server count the units of a quota (the generic cell rate algorithm) and
//! the open streams of a principal, by the clock of the server. While the server does not respond,
//! `limiter::circuit` skips it, and each process counts for itself or rejects.
//!
//! [`RedisServer`] is one server, a server found by Sentinel, or a Cluster.

mod bus;
mod connection;
mod limiter;
mod server;
mod url;

pub use bus::RedisBus;
pub use limiter::RedisLimiter;
pub use server::RedisServer;
pub use url::InvalidUrl;
