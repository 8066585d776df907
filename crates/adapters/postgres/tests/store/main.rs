//! The store against a real server: `cargo xtask test` starts one.

mod contract;
mod database;
mod statements;
