//! Tests of the store with a real server: `cargo xtask test` starts one.

mod contract;
mod credential_locks;
mod database;
mod ended_sessions;
mod faults;
mod few_connections;
mod log_trim;
mod lost_changes;
mod migrations;
mod newer_version;
mod proxy;
mod read_only;
mod round_trips;
mod signing_keys;
mod statements;
mod tenant_lock;
mod thirteenth_version;
mod two_processes;
mod unreachable;
mod usage;
