//! The protocol of the AI SDK.

mod clients;
mod sockets;
mod wire;
