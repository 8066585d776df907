//! `GET /api/ws`, over real sockets.

mod access;
mod chatting;
pub(crate) mod client;
mod closing;
mod commands;
mod conformance;
mod following;
mod handshake;
mod limits;
mod live;
mod outages;
mod seam;
mod users;
