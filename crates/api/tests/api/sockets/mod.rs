//! `GET /api/ws`, over real sockets.

mod access;
mod bursts;
mod chats;
pub(crate) mod client;
mod client_limits;
mod closing;
mod commands;
mod conformance;
mod handshake;
mod live;
mod outages;
mod protocol;
mod replay_to_live;
mod replays;
mod subscriptions;
mod suspended_clients;
mod users;
