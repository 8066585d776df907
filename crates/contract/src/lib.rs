//! The contract of every port, as tests that any adapter can run.
//!
//! An adapter runs all of them with one line in `tests/contract.rs`:
//!
//! ```text
//! async fn fixture() -> Database { … } // derefs to `contract::Store`; its `Drop` cleans up
//! contract::storage_contract!(crate::fixture);
//! ```
//!
//! Ports outside a store have their own macros: `reply_engine_contract!`, `rate_limiter_contract!`,
//! `event_bus_contract!`, `tool_provider_contract!`, `blob_store_contract!`. Adapters between several nodes also run
//! `shared_rate_limiter_contract!` and `shared_event_bus_contract!`.
//!
//! To add a promise, write a `pub async fn` in the file of its port, with a sentence as its name,
//! and list it in `promises.rs` or a file in `promises`, or in the port's own macro. A test of this
//! crate fails if it is not listed.

mod dead_nodes;
pub mod fixture;
mod log;
mod log_client;
mod lookup;
mod message_model;
mod pages;
#[cfg(test)]
mod promise_list_tests;
mod promises;
mod purging;
mod results;
mod setup;
mod snapshot;
mod store;

pub mod access_isolation;
pub mod access_maintenance;
pub mod agent_deletion;
pub mod agent_listing;
pub mod agent_name_listing;
pub mod agent_repository;
pub mod agent_versions;
pub mod begin_turn;
pub mod begin_turn_rejections;
pub mod blob_store;
pub mod blob_uploads;
pub mod cancel_turn;
pub mod claimed_keys;
pub mod completed_turn_keys;
pub mod concurrency;
pub mod concurrent_creations;
pub mod concurrent_sweeps;
pub mod concurrent_turns;
pub mod conversation_deletion;
pub mod conversation_listing;
pub mod conversation_lookups;
pub mod conversation_names;
pub mod conversation_repository;
pub mod conversation_scans;
pub mod conversation_update;
pub mod credential_idempotency;
pub mod credential_repository;
pub mod credential_revocation;
pub mod credential_rotation;
pub mod credential_update;
pub mod erasures;
pub mod event_bus;
pub mod event_content;
pub mod event_filters;
pub mod event_log;
pub mod feedback;
pub mod feedback_listing;
pub mod files;
pub mod find_message;
pub mod find_turn;
pub mod finish_turn;
pub mod first_key;
pub mod followers;
pub mod forked_calls;
pub mod forks;
pub mod group_values;
pub mod handed_over;
pub mod hidden_events;
pub mod history;
pub mod idempotency_repository;
pub mod idle_conversations;
pub mod imports;
pub mod instructions;
pub mod log_replay;
pub mod log_retention;
pub mod maintenance;
pub mod message_retries;
pub mod messages;
pub mod moved_conversations;
pub mod newer_version;
pub mod node_repository;
pub mod notes;
pub mod open_turns;
pub mod output;
pub mod page_bytes;
pub mod past_calls;
pub mod rate_limiter;
pub mod rate_limiter_quotas;
pub mod reasoning;
pub mod record_completed_turn;
pub mod released_keys;
pub mod reply_engine;
pub mod resumed_turns;
pub mod rotation_idempotency;
pub mod round_trips;
pub mod search_index;
pub mod shared_event_bus;
pub mod shared_limiter_faults;
pub mod shared_rate_limiter;
pub mod shared_stream_slots;
pub mod signing_key_repository;
pub mod staff_decisions;
pub mod staff_messages;
pub mod stream_slots;
pub mod supersession;
pub mod sweep;
pub mod sweep_candidates;
pub mod sweep_queue;
pub mod sweep_repository;
pub mod tenant_isolation;
pub mod tenant_repository;
pub mod ticket_repository;
pub mod titles;
pub mod token_repository;
pub mod tool_provider;
pub mod turn_group_values;
pub mod turn_listing;
pub mod turn_queue;
pub mod turn_scan_length;
pub mod turn_scans;
pub mod turn_steps;
pub mod unconfirmed_writes;
pub mod uploads;
pub mod usage;
pub mod users;
pub mod waiting_turns;
pub mod write_conditions;
pub mod write_groups;

pub use log::events;
pub use lookup::journal;
pub use store::Store;
