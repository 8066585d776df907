//! Turns as they are read.

use domain::{MessageId, PrincipalId, ResponseSchema, Seq, Turn, TurnStatus};
use serde::Serialize;

use crate::ListingOrder;

/// A stored turn with its owner.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTurn {
    /// The turn.
    pub turn: Turn,
    /// The id that the user's message has, or gets when the turn starts.
    pub message_id: MessageId,
    /// The id that the agent's message has or is going to have; `None` for a turn of an earlier
    /// version.
    pub reply_id: Option<MessageId>,
    /// The principal that started the turn.
    pub principal: PrincipalId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// The schema that came with the message.
    pub response_schema: Option<ResponseSchema>,
}

/// The turns that a listing contains, by their status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnFilter {
    /// All turns.
    #[default]
    All,
    /// Turns that are queued or in progress.
    Open,
    /// Turns with a tool call that waits for an answer.
    Waiting,
    /// Turns with this status.
    Status(TurnStatus),
}

impl TurnFilter {
    /// Returns the name in the API; `None` for all turns.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Open => Some("open"),
            Self::Waiting => Some("waiting"),
            Self::Status(status) => Some(status.as_str()),
        }
    }
}

/// A request for one page of the turns of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnQuery {
    /// The turns to list.
    pub filter: TurnFilter,
    /// The order of the turns.
    pub order: ListingOrder,
    /// The position of the turn after which the page starts; `None` for the start of the order.
    pub after: Option<Seq>,
    /// The maximum number of turns.
    pub limit: usize,
}
