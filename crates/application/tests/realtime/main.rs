//! Tests of the feed that clients follow, over a log that misbehaves as badly as the port allows,
//! and over a real store.

mod exactly_once;
mod fake_log;
mod invalidator;
mod over_a_store;
mod samples;
mod store_pages;
mod tails;
mod world;
