//! Tools of servers that speak the Model Context Protocol (MCP), by its official SDK.
//!
//! One [`McpServer`] stands for one server. A task of its own (`keeper`) connects to it, by
//! `connection` over `http` or `process`, keeps its list of tools (`listing`, `offer`) and connects
//! anew when it goes away. What the port is asked is answered from memory (`state`), and calls
//! (`call`) go over the connection there is, if there is one.

mod answer;
mod call;
mod connection;
mod foreign_text;
mod http;
mod keeper;
mod lines;
mod listing;
mod nesting;
mod offer;
mod process;
mod reason;
mod request_guard;
mod server;
mod state;
mod supervision;
mod way;
mod web;
mod window;

pub use keeper::McpTimes;
pub use process::Program;
pub use server::McpServer;
pub use way::McpTransport;

/// The most bytes that one message of a server may have: more are not held.
const LARGEST_MESSAGE: usize = 1024 * 1024;

/// What a call is told whose answer would be larger.
const TOO_LARGE: &str = "its answer is too large";
