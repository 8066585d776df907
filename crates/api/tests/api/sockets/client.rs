//! A client of sockets. Every frame that it receives is held to what is published of frames.

mod received;
mod socket;
mod upgrade;

pub(crate) use self::{
    received::shown,
    socket::Socket,
    upgrade::{Refused, Upgrade},
};
