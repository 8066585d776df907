//! A client of sockets that checks every received frame against the published schema.

mod received;
mod socket;
mod upgrade;

pub(crate) use self::{
    received::types_and_channels,
    socket::SocketClient,
    upgrade::{RejectedUpgrade, Upgrade},
};
