//! The store against a real server: `cargo xtask test` starts one.

mod contract;
mod database;
mod faults;
mod log_trim;
mod migrations;
mod newer_version;
mod read_only;
mod signing_keys;
mod statements;
mod tenant_lock;
mod unreachable;
mod wire;
