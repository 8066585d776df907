//! The store against a real server: `cargo xtask test` starts one.

mod contract;
mod database;
mod faults;
mod newer_version;
mod statements;
mod tenant_lock;
mod wire;
