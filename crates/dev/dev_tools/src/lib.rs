//! Tools of the developer commands: running programs, named steps, throw-away Postgres, Redis, S3 and clamd
//! servers.
//!
//! Few dependencies, since `cargo xtask` is built before any of its commands runs.

#![expect(clippy::print_stdout, reason = "the terminal is its interface")]

pub mod clamd_server;
pub mod environment;
pub mod install;
pub mod memory;
pub mod postgres;
pub mod process;
pub mod redis_server;
pub mod s3_server;
pub mod steps;
