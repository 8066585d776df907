//! The home region of a node in a far region.
//!
//! One HTTP/2 connection carries all requests. It is opened at the start, kept by a PING every 250 ms,
//! and replaced as soon as one is not answered. Every request is signed with the key of the region
//! (`domain::ForwardedRequest`). A connection that this crate owns, in place of a client with a pool,
//! shows whether a request was sent: only a request that was provably not processed may be sent again.

mod address;
mod client;
mod connect_error;
mod connected_node;
mod connection;
mod dialer;
mod far_streams;
mod home_bus;
mod interest;
mod outage;
mod outgoing;
mod presence;
mod replay_gate;
mod replica;
mod send_outcome;
mod signer;
mod wire;

pub use address::HomeAddress;
pub use client::HomeClient;
pub use far_streams::FarStreams;
pub use home_bus::HomeBus;
pub use presence::FarProcess;
pub use replica::replica_storage;
pub use signer::Signer;
