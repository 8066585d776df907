//! Every promise of every port, as a test that any adapter can run.
//!
//! An adapter runs all of them by one line in `tests/contract.rs`:
//!
//! ```text
//! async fn fixture() -> Database { … } // derefs to `ports::Storage`; its `Drop` cleans up
//! contract::storage_contract!(crate::fixture);
//! ```
//!
//! To add a promise: write it as `pub async fn` with a sentence for a name in the file of its
//! port, and list it in `promises.rs`; a test of this crate fails when it is not listed.

mod answers;
mod found;
mod given;
mod log;
mod pages;
mod promises;
pub mod samples;
mod untouched;

pub mod agent_deletion;
pub mod agent_listing;
pub mod agent_repository;
pub mod begin_turn;
pub mod cancel_turn;
pub mod concurrency;
pub mod concurrent_turns;
pub mod conversation_deletion;
pub mod conversation_listing;
pub mod conversation_repository;
pub mod event_content;
pub mod event_filters;
pub mod event_log;
pub mod find_turn;
pub mod finish_turn;
pub mod history;
pub mod key_repository;
pub mod maintenance;
pub mod messages;
pub mod node_repository;
pub mod record_exchange;
pub mod reply_engine;
pub mod round_trips;
pub mod tenant_isolation;
pub mod tenant_repository;
pub mod turn_queue;
