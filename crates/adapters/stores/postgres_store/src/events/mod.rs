//! The event log.

mod statements;
