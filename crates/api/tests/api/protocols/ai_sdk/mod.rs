//! The protocol of the AI SDK.

mod clients;
mod edits;
mod nodes;
mod regions;
mod slow_sockets;
pub(crate) mod sockets;
mod socket_metrics;
mod sockets;
mod wire;
