//! Starts the service as it is shipped, sends requests to it and generates load.
//!
//! Ordinary requests go through reqwest ([`http`]) and sockets through tokio-tungstenite
//! ([`socket`]). Only the load generator ([`generator`]) writes bytes itself, because it shares the
//! processor with the service that it measures.

#![expect(clippy::print_stdout, reason = "the terminal is its interface")]

pub mod binaries;
pub mod call_counter;
pub mod client_view;
mod endpoint;
pub mod figures;
pub mod generator;
pub mod http;
pub mod latencies;
pub mod process_stats;
pub mod server_process;
pub mod service;
pub mod socket;
pub mod upstream;
pub mod wide_area;

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime};

pub use self::endpoint::{Credential, Endpoint};

/// Returns a runtime of one thread: the other cores are for the server.
pub fn runtime() -> Result<Runtime> {
    let built = Builder::new_current_thread().enable_all().build();
    built.context("cannot start a runtime")
}
