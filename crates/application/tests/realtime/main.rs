//! Tests of the log that clients follow, over a log that misbehaves as badly as the port allows,
//! and over a real store.

mod deleted_data;
mod exactly_once;
mod fixture;
mod invalidator;
mod memory_and_store;
mod moved_conversations;
mod store_pages;
mod tail_lifetime;
mod tails;
