//! The questions of far regions about access, and the answers of the home region.

use domain::CallerClaims;
use serde::{Deserialize, Serialize};

/// A question about access.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum AccessQuestion {
    /// Asks for the caller that an API key or an access token authenticates.
    Credential {
        /// The key or the token.
        text: String,
    },
    /// Asks for the caller that a ticket authenticates, and uses it up.
    Ticket {
        /// The ticket.
        text: String,
        /// The origin of the page that sends it.
        origin: Option<String>,
    },
    /// Asks if the credential of a caller is still valid.
    Caller {
        /// The caller.
        caller: Box<CallerClaims>,
    },
}

/// The answer of the home region.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum AccessAnswer {
    /// The credential is valid.
    Valid {
        /// The caller.
        caller: Box<CallerClaims>,
    },
    /// It is unknown or revoked.
    Invalid,
    /// It has expired.
    Expired,
}
