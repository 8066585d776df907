//! Tests of the parts of chat.

mod fixture;
mod live_turns;
mod reply_cursor;
mod turn_events;
mod turn_waiter;
