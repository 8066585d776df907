//! The event bus of several processes on one PostgreSQL database, by `LISTEN` and `NOTIFY`.
//!
//! A signal reaches the subscribers of its own process at once. For the others, an outbox collects
//! signals, and a sender sends them together, at most once in 20 ms, on a connection of its own: a
//! `NOTIFY` takes a lock of the whole database, so it is never part of a transaction that writes.
//! A listener on another connection receives the messages of all processes.
//!
//! Messages are numbered. A listener that misses one, or that was disconnected, reports
//! [`Signal::SignalsLost`](ports::Signal::SignalsLost). Since a process also receives its own messages,
//! silence shows that `LISTEN` does not work, as behind a connection pooler that changes the session
//! with each transaction.

mod listener;
mod outage;
mod postgres_bus;
mod sender;

pub use postgres_bus::PostgresBus;
