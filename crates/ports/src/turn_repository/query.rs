//! Turns as they are read.

use domain::{
    AgentReach, ConversationId, MessageId, PrincipalId, Seq, Timestamp, Turn, TurnStatus,
};

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
}

/// The turns of a conversation that a listing contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnFilter {
    /// All turns.
    All,
    /// Turns that are queued or in progress.
    Open,
    /// Turns with this status.
    Status(TurnStatus),
}

impl TurnFilter {
    /// Returns the name in the API; `None` for all turns.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Open => Some("open"),
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

/// Whose answer a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingFor {
    /// The user's, or that of a page.
    User,
    /// The decision of staff.
    Staff,
}

impl WaitingFor {
    /// Returns the name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Staff => "staff",
        }
    }

    /// Returns whether a call of a turn waits for it.
    pub fn is_needed_by(self, turn: &Turn) -> bool {
        let mut waiting = turn.tool_calls.iter().filter(|call| call.needs.is_some());
        waiting.any(|call| call.needs_of_user().is_some() == (self == Self::User))
    }
}

/// A request for one page of the turns with calls that wait for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingQuery {
    /// Whose answer they wait for.
    pub waiting_for: WaitingFor,
    /// Only turns of these agents.
    pub agents: AgentReach,
    /// Only turns of conversations of this user.
    pub user_id: Option<String>,
    /// Only turns of this conversation.
    pub conversation: Option<ConversationId>,
    /// Only turns that were created at this time or later.
    pub from: Option<Timestamp>,
    /// Only turns that were created before this time.
    pub to: Option<Timestamp>,
    /// The position of the turn before which the page starts; `None` for the newest.
    pub before: Option<Seq>,
    /// The maximum number of turns.
    pub limit: usize,
}
