//! `GET /api/ws`: events, live data and commands on one connection.
//!
//! [`upgrade::open_socket`] upgrades a request. One task then serves the socket: it reads [`frames`],
//! executes commands, and sends events of the log and live data of running turns. Each limit has a
//! module of its own: input ([`FrameGuard`], `CommandRate`), output ([`SendQueue`]), time
//! ([`SocketTimeouts`]). [`CloseCode`] lists the reasons for a close.

mod channel_replies;
mod close;
mod command_rate;
mod commands;
mod connection;
mod context;
mod deadlines;
mod frame_guard;
mod frame_headers;
pub mod frames;
mod live_replies;
mod notice_sender;
mod page_reader;
mod protocol_error;
mod published_limits;
#[cfg(test)]
mod raw_client;
mod send_queue;
mod session;
mod socket_metrics;
mod subscriber;
mod subscriptions;
pub mod tickets;
pub mod upgrade;

pub use close::{CloseCode, Reconnect};
use command_rate::CommandRate;
pub use connection::{Connection, End, Incoming};
pub use deadlines::SocketTimeouts;
pub use frame_guard::{FrameGuard, guard_payload};
pub use frame_headers::{MAX_FRAME_BYTES, MAX_MESSAGE_BYTES};
pub use protocol_error::close_code_for;
pub use published_limits::SOCKET_LIMITS;
pub use send_queue::{SendQueue, SendQueueBody, SendQueueFull, send_queue};

use domain::Scope::EventsRead;
use kit::operations::{Access::AnyOf, Served::Here};

kit::operations! {
    get "/api/ws" upgrade::open_socket AnyOf(&[EventsRead]); served = Here, opens_socket;
    post "/api/ws/tickets" tickets::create_ticket AnyOf(&[EventsRead]); optional_body, binds_origin;
}
