//! What a WebSocket connection stands on: limits on what comes in ([`FrameGuard`],
//! [`CommandRate`]), what waits to go out ([`Outbox`]), and why it closes ([`CloseCode`]).

mod close;
mod command_rate;
mod fault;
mod frame_guard;
mod frame_headers;
pub mod frames;
mod outbox;
mod outgoing;
#[cfg(test)]
mod raw_client;
mod tickets;

pub use close::{CloseCode, ComeBack};
pub use command_rate::CommandRate;
pub use fault::close_code_of;
pub use frame_guard::{FrameGuard, guarded};
pub use frame_headers::{FRAME_BYTES, MESSAGE_BYTES};
pub use outbox::{Outbox, Overfull};
pub use outgoing::{Outgoing, OutgoingBody, outgoing};
pub use tickets::{TicketBody, TicketRequest, __path_create_ticket, create_ticket};
