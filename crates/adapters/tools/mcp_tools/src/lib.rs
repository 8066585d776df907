//! Tools of servers that implement the Model Context Protocol (MCP), on its official SDK.
//!
//! One [`McpServer`] represents one server. Its task (`connection_manager`) connects to the server
//! through `connection`, over `http` or `process`, keeps its list of tools (`listing`,
//! `tool_catalog`), and reconnects when the connection is lost. The methods of the port return what
//! is cached in `state`; calls (`call`) use the current connection, and say for whom they are made
//! (`call_meta`, `bearers`).

mod bearers;
mod call;
mod call_meta;
mod connection;
mod connection_error;
mod connection_manager;
mod foreign_text;
mod http;
mod lines;
mod listing;
mod nesting;
mod process;
mod request_guard;
mod restart_on_panic;
mod server;
mod state;
mod tool_catalog;
mod tool_result;
mod transport;
mod web;
mod window;

pub use connection_manager::McpIntervals;
pub use process::{Program, reap_orphans};
pub use server::{HintPolicy, McpConfig, McpServer};
pub use transport::{HttpEndpoint, McpTransport};

/// The maximum number of bytes of one message of a server. Larger ones are not kept.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// The error of a call whose result would be larger.
const TOO_LARGE: &str = "its result is too large";
