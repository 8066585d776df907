//! A client of sockets that checks every received frame against the published schema.

mod received;
mod socket;
mod upgrade;

pub(crate) use self::{
    received::shown,
    socket::SocketClient,
    upgrade::{RejectedUpgrade, Upgrade},
};
