//! The protocol of the AI SDK.

mod clients;
mod edits;
mod nodes;
mod regions;
mod slow_sockets;
mod socket_metrics;
pub(crate) mod sockets;
mod wire;
