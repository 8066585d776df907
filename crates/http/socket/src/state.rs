//! The state that all sockets share.

use actix_web::web::Data;
use regions::Regions;

use crate::SocketTimeouts;

/// The state that all sockets share.
pub struct SocketState {
    /// The deadlines for clients.
    pub timeouts: SocketTimeouts,
    /// The regions; a far region executes some commands at home.
    pub regions: Data<Regions>,
}
