//! Tests of the registry and of the readers of turns.

pub(crate) mod fixture;
mod registry;
mod reply_cursor;
mod reply_parts;
mod turn_events;
mod turn_waiter;
