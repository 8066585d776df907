//! The protocol of the AI SDK.

mod clients;
mod edits;
mod sockets;
mod wire;
