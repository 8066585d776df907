//! `GET /api/ws`, over real sockets.

mod access;
mod bursts;
mod chats;
pub(crate) mod client;
mod client_limits;
mod closing;
mod commands;
mod conformance;
mod credential_ends;
mod handshake;
mod live;
mod outages;
mod protocol;
mod replay_to_live;
mod replays;
mod slow_client;
mod slow_readers;
mod subscriptions;
mod suspended_clients;
mod users;
