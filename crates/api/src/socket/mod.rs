//! `GET /api/ws`: what happens, and commands, on one connection.
//!
//! [`open_socket`] makes a socket of a request. From then on one task serves it: it reads
//! [`frames`], carries commands out, and tells what the log and running turns bring. Each limit
//! stands apart from it: on what comes in ([`FrameGuard`], [`CommandRate`]), on what waits to go
//! out ([`Outbox`]), on time ([`SocketTimes`]); and why a socket closes ([`CloseCode`]).

mod close;
mod command_rate;
mod commands;
mod context;
mod deadlines;
mod fault;
mod frame_guard;
mod frame_headers;
mod frame_writer;
pub mod frames;
mod limits;
mod live_texts;
mod member;
mod meter;
mod outbox;
mod outgoing;
#[cfg(test)]
mod raw_client;
mod reading;
mod session;
mod subscriptions;
mod tickets;
mod upgrade;

pub use close::{CloseCode, ComeBack};
pub use command_rate::CommandRate;
pub use deadlines::SocketTimes;
pub use fault::close_code_of;
pub use frame_guard::{FrameGuard, guarded};
pub use frame_headers::{FRAME_BYTES, MESSAGE_BYTES};
pub use limits::SOCKET_LIMITS;
pub use outbox::{Outbox, Overfull};
pub use outgoing::{Outgoing, OutgoingBody, outgoing};
pub use tickets::{__path_create_ticket, TicketBody, TicketRequest, create_ticket};
pub use upgrade::{__path_open_socket, open_socket};
