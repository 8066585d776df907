//! The answers to tool calls, and the outcomes of sending them.

use domain::{Action, ActionNeeded, Audience, TurnId};

use crate::{Committed, PromotedTurn};

/// The calls that a caller may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MayAnswer {
    /// Calls that need the user, or the page.
    pub for_user: bool,
    /// Calls that need staff; or why not.
    pub for_staff: Result<(), NotStaff>,
    /// The calls that it sees.
    pub audience: Audience,
}

/// The reason why a caller may not decide for staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStaff {
    /// It lacks the permission.
    Scope,
    /// It is the user of the conversation.
    OwnConversation,
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallAnswer {
    /// The call.
    pub call_id: String,
    /// The answer.
    pub action: Action,
}

/// The outcome of an [`AnswerTurn`](super::AnswerTurn).
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerOutcome {
    /// The answers are stored.
    Stored {
        /// The positions of the events.
        committed: Committed,
        /// The turn, or the continuation, if it goes on; `None` if it waits for further answers, or for the
        /// turn before it.
        resumed: Option<Box<PromotedTurn>>,
        /// The turn that a decision of staff has begun.
        continuation: Option<TurnId>,
    },
    /// Nothing was written: every call has been answered in the same way before.
    Repeated {
        /// The turn that a decision of staff has begun.
        continuation: Option<TurnId>,
    },
    /// Nothing was written, because of this answer.
    Rejected {
        /// Its index.
        index: usize,
        /// The reason.
        reason: AnswerRejection,
    },
    /// Nothing was written: the turn does not exist.
    NotFound,
    /// Nothing was written: the caller's node is marked as dead or unknown.
    NodeDead,
}

/// The reason why a call cannot be answered so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerRejection {
    /// The turn has no such call, or it never waited.
    NotFound,
    /// It was answered differently, or its turn has ended.
    Decided {
        /// The status of the call.
        status: String,
    },
    /// It is too late.
    Expired,
    /// The caller may not change the arguments of the call.
    MayNotEdit,
    /// It needs another kind of answer.
    WrongKind {
        /// The kind of answer that it needs.
        needs: ActionNeeded,
    },
    /// A decision of staff does not stand alone.
    NotAlone,
    /// The turn of a call that waits for staff still runs.
    Running,
    /// The caller may not answer calls that need the user.
    NotForUser,
    /// The caller may not decide for staff.
    NotForStaff(NotStaff),
}
