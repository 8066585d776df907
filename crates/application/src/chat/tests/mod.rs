//! Tests of chat's parts.

mod engine_chain;
mod partial_reply;
mod reply_cursor;
pub(super) mod stored_turn;
mod turn_events;
mod turn_waiter;
