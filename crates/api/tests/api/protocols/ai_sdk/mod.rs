//! The protocol of the AI SDK.

mod clients;
mod edits;
mod nodes;
mod sockets;
mod wire;
