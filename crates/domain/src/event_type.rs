//! The kinds of changes in the event log.

use crate::open_enum::open_enum;

open_enum! {
    /// The kind of change.
    EventType[31] {
        /// An agent was created.
        AgentCreated = "agent.created",
        /// An agent changed.
        AgentUpdated = "agent.updated",
        /// An agent was deleted, and its conversations with it.
        AgentDeleted = "agent.deleted",
        /// A conversation was created.
        ConversationCreated = "conversation.created",
        /// A conversation's title, metadata, context or user changed, or who answers in it.
        ConversationUpdated = "conversation.updated",
        /// A conversation was deleted.
        ConversationDeleted = "conversation.deleted",
        /// Messages were replaced: a turn starts from an earlier point of the conversation.
        MessagesSuperseded = "messages.superseded",
        /// A member of staff has written a message in place of the agent.
        MessageCreated = "message.created",
        /// A member of staff has changed a message.
        MessageUpdated = "message.updated",
        /// A member of staff has deleted a message.
        MessageDeleted = "message.deleted",
        /// A member of staff has noted something about a conversation.
        NoteCreated = "note.created",
        /// A note was deleted.
        NoteDeleted = "note.deleted",
        /// A message was rated, or its rating changed or was deleted.
        MessageRated = "message.rated",
        /// What is stored about a user has changed.
        UserUpdated = "user.updated",
        /// The erasure of a user's data has ended.
        UserErased = "user.erased",
        /// A turn waits behind the turn in progress.
        TurnQueued = "turn.queued",
        /// The engine is about to be called.
        TurnStarted = "turn.started",
        /// A turn waits for an answer to a tool call, or for further answers.
        TurnRequiresAction = "turn.requires_action",
        /// A turn goes on: its calls are answered, or it has lost its process.
        TurnResumed = "turn.resumed",
        /// The reply is stored.
        TurnCompleted = "turn.completed",
        /// A turn ended without a reply.
        TurnFailed = "turn.failed",
        /// A turn was ended by a caller or by a deletion.
        TurnCancelled = "turn.cancelled",
    }
}

impl EventType {
    /// Returns `true` if the event concerns an agent only.
    pub const fn is_of_agent(self) -> bool {
        matches!(
            self,
            Self::AgentCreated | Self::AgentUpdated | Self::AgentDeleted
        )
    }

    /// Returns `true` if the event concerns a note, which users do not see.
    pub const fn is_of_note(self) -> bool {
        matches!(self, Self::NoteCreated | Self::NoteDeleted)
    }

    /// Returns `true` if the event concerns a user only.
    pub const fn is_of_user(self) -> bool {
        matches!(self, Self::UserUpdated | Self::UserErased)
    }

    /// Returns `true` if the event is a deletion.
    pub const fn is_deletion(self) -> bool {
        matches!(self, Self::AgentDeleted | Self::ConversationDeleted)
    }

    /// Returns `true` if the event is the end of a turn.
    pub const fn is_end_of_turn(self) -> bool {
        matches!(
            self,
            Self::TurnCompleted | Self::TurnFailed | Self::TurnCancelled
        )
    }

    /// Returns `true` if the event concerns a turn.
    pub const fn is_of_turn(self) -> bool {
        matches!(
            self,
            Self::TurnQueued
                | Self::TurnStarted
                | Self::TurnRequiresAction
                | Self::TurnResumed
                | Self::TurnCompleted
                | Self::TurnFailed
                | Self::TurnCancelled
        )
    }
}
