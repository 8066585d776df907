//! `GET /api/ws`, over real sockets.

mod access;
mod bursts;
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
mod protocol;
mod replays;
mod seam;
mod users;
mod waking;
