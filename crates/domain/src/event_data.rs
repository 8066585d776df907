//! The content of events, limited in size.

use serde::{Deserialize, Serialize};

use crate::{
    Agent, AgentId, Audience, Conversation, ConversationId, ErasureId, EventProfile, Feedback,
    Message, MessageId, NoteId, PrincipalId, Role, ToolCall, ToolVisibility, Turn, TurnId,
    UnknownMembers,
    erasure::ErasureCounts,
    sizes::{EVENT_MESSAGE_BYTES, EVENT_TOOL_BYTES},
    tool_call::json_bytes,
};

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "short-lived, and most are turns")]
pub enum EventData {
    /// The subject of the event has been deleted since.
    #[cfg_attr(feature = "schema", schema(title = "DeletedEventData"))]
    Deleted {
        /// Always true.
        deleted: bool,
    },
    /// The content of `turn.*`.
    #[cfg_attr(feature = "schema", schema(title = "TurnEventData"))]
    Turn {
        /// The turn, as the event's type describes it.
        turn: Turn,
        /// The message of the event: the user's at the start, the agent's at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<EventMessage>,
        /// True if parts larger than 32 KiB are omitted from `turn`: its `input` is then empty, its
        /// `instruction` absent, its `reply` null, or, which count together, the `arguments` of its `toolCalls` are `{}` and
        /// their `result` is null. Calls with `visibility: full` are counted without the others.
        /// Read the turn to get them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        omitted: bool,
        /// The same as `omitted` for users: they miss nothing of what they may not see.
        #[serde(skip)]
        omitted_for_users: bool,
    },
    /// The content of `messages.superseded`: these messages are no longer part of the conversation.
    #[cfg_attr(feature = "schema", schema(title = "MessagesSupersededEventData"))]
    #[serde(rename_all = "camelCase")]
    MessagesSuperseded {
        /// The `seq` of the first superseded message.
        from_seq: i64,
        /// The `seq` of the last superseded message.
        to_seq: i64,
        /// The turn that replaces them.
        turn_id: TurnId,
    },
    /// The content of `message.created` and `message.updated`.
    #[cfg_attr(feature = "schema", schema(title = "MessageEventData"))]
    Message {
        /// The message in its state when the log is read.
        message: EventMessage,
    },
    /// The content of `message.deleted`.
    #[cfg_attr(feature = "schema", schema(title = "MessageDeletedEventData"))]
    MessageDeleted {
        /// The message that is no longer part of the conversation.
        message: MessagePlace,
    },
    /// The content of `message.rated`.
    #[cfg_attr(feature = "schema", schema(title = "MessageRatedEventData"))]
    MessageRated {
        /// The message.
        message: MessagePlace,
        /// The rating in its state when the log is read; null once it is deleted.
        feedback: Option<Feedback>,
    },
    /// The content of `agent.created` and `agent.updated`.
    #[cfg_attr(feature = "schema", schema(title = "AgentEventData"))]
    Agent {
        /// The agent after the change.
        agent: Agent,
    },
    /// The same for readers without `agents:read`.
    #[cfg_attr(feature = "schema", schema(title = "ProfileEventData"))]
    Profile {
        /// The profile of the agent after the change.
        profile: EventProfile,
    },
    /// The content of `agent.deleted`.
    #[cfg_attr(feature = "schema", schema(title = "AgentDeletedEventData"))]
    AgentDeleted {
        /// The id and last version of the agent.
        agent: Tombstone<AgentId>,
    },
    /// The content of `conversation.created` and `conversation.updated`.
    #[cfg_attr(feature = "schema", schema(title = "ConversationEventData"))]
    Conversation {
        /// The conversation in its state when the log is read.
        conversation: Conversation,
        /// The greeting, if the conversation was created with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        greeting: Option<Message>,
    },
    /// The content of `conversation.deleted`.
    #[cfg_attr(feature = "schema", schema(title = "ConversationDeletedEventData"))]
    ConversationDeleted {
        /// The id and last version of the conversation.
        conversation: Tombstone<ConversationId>,
    },
    /// The content of `note.created` and `note.deleted`.
    #[cfg_attr(feature = "schema", schema(title = "NoteEventData"))]
    Note {
        /// The note.
        note: NoteReference,
    },
    /// The content of `user.updated`.
    #[cfg_attr(feature = "schema", schema(title = "UserEventData"))]
    #[serde(rename_all = "camelCase")]
    User {
        /// The user.
        user_id: String,
    },
    /// The content of `user.erased`.
    #[cfg_attr(feature = "schema", schema(title = "UserErasedEventData"))]
    #[serde(rename_all = "camelCase")]
    UserErased {
        /// The erasure. Nothing names the user any more.
        erasure_id: ErasureId,
        /// The numbers of what it has removed.
        counts: ErasureCounts,
    },
    /// The content of an event whose type only a newer version knows: `{}`.
    Unknown {},
}

impl EventData {
    /// The content of events whose subject has been deleted since.
    pub const DELETED: Self = Self::Deleted { deleted: true };

    /// Creates the content of a turn's event. Parts that are too large for an event are omitted.
    pub fn turn(mut turn: Turn, message: Option<Message>) -> Self {
        // Up to 64 KiB that most readers do not need.
        turn.reasoning = None;
        let is_large = |text: &str| text.len() > EVENT_MESSAGE_BYTES;
        let large_input = is_large(&turn.input);
        let large_reply = turn
            .reply
            .as_ref()
            .is_some_and(|reply| is_large(&reply.content));
        if large_input {
            turn.input.clear();
        }
        if large_reply {
            turn.reply = None;
        }
        let large_instruction = turn.instruction.take_if(|text| is_large(text)).is_some();
        let large_tool_data = omit_large_tool_data(&mut turn.tool_calls);
        let large_text = large_input || large_reply;
        Self::Turn {
            turn,
            message: message.map(EventMessage::from),
            omitted: large_text || large_instruction || large_tool_data.for_staff,
            omitted_for_users: large_text || large_tool_data.for_users,
        }
    }

    /// Returns whether readers who may not see all may see less.
    pub const fn may_be_reduced(&self) -> bool {
        match self {
            Self::Agent { .. } => true,
            Self::Turn { turn, .. } => !turn.tool_calls.is_empty() || !turn.has_message(),
            Self::Conversation { conversation, .. } => conversation.has_internals(),
            _ => false,
        }
    }

    /// Returns what the readers see who may not see all: of agents their profiles, of turns and conversations
    /// what users see of them. `None` if there is nothing that they do not see.
    pub fn reduced(&self) -> Option<Self> {
        match self {
            Self::Agent { agent } => {
                let profile = agent.event_profile();
                Some(Self::Profile { profile })
            }
            Self::Conversation {
                conversation,
                greeting,
            } if self.may_be_reduced() => Some(Self::Conversation {
                conversation: conversation.clone().shown_to_users(),
                greeting: greeting.clone(),
            }),
            // Most turns have a message and no tool calls, and are not copied.
            Self::Turn { .. } if self.may_be_reduced() => self.clone().turn_shown_to_users(),
            _ => None,
        }
    }

    fn turn_shown_to_users(mut self) -> Option<Self> {
        let Self::Turn {
            turn,
            message,
            omitted,
            omitted_for_users,
        } = &mut self
        else {
            return None;
        };
        *omitted = *omitted_for_users;
        let in_message = match message {
            Some(EventMessage::Whole(message)) => message.show_to(Audience::User),
            Some(EventMessage::Omitted { .. }) | None => false,
        };
        let is_reduced = turn.show_to(Audience::User) | in_message;
        is_reduced.then_some(self)
    }
}

/// The audiences for whom arguments and results of calls are omitted that they may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OmittedToolData {
    /// True for [`Audience::Staff`].
    pub for_staff: bool,
    /// True for [`Audience::User`].
    pub for_users: bool,
}

/// Omits the arguments and results of a turn's calls if they are too large for an event. What users
/// see is judged without the rest, so that its absence tells them nothing of hidden calls.
pub fn omit_large_tool_data(calls: &mut [ToolCall]) -> OmittedToolData {
    let is_shown_to_users =
        |call: &ToolCall| call.visibility_to(Audience::User) == ToolVisibility::Full;
    let (mut all_bytes, mut user_bytes) = (0, 0);
    for call in calls.iter() {
        let result = call.result.as_ref().map_or(0, String::len);
        let edited = call.edited_arguments.as_ref().map_or(0, json_bytes);
        let bytes = json_bytes(&call.arguments) + edited + result;
        all_bytes += bytes;
        user_bytes += if is_shown_to_users(call) { bytes } else { 0 };
    }
    let omitted = OmittedToolData {
        for_staff: all_bytes > EVENT_TOOL_BYTES,
        for_users: user_bytes > EVENT_TOOL_BYTES,
    };
    for call in calls {
        let is_omitted = if is_shown_to_users(call) {
            omitted.for_users
        } else {
            omitted.for_staff
        };
        if is_omitted {
            call.arguments = ToolCall::omitted_arguments();
            call.edited_arguments = None;
            call.result = None;
        }
    }
    omitted
}

/// The messages that became superseded, as the log stores them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SupersededRange {
    /// The `seq` of the first message.
    pub from_seq: i64,
    /// The `seq` of the last message.
    pub to_seq: i64,
}

/// The id of a message and its position in its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessagePlace {
    /// The message's id.
    pub id: MessageId,
    /// The message's position in the conversation.
    pub seq: i64,
}

/// The id of a note. Its text is in no event, so that nothing is left of it once it is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NoteReference {
    /// The note's id.
    pub id: NoteId,
}

/// The place of a rating, as the log stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RatingPlace {
    /// The message.
    #[serde(flatten)]
    pub message: MessagePlace,
    /// The principal that has rated; absent if that is the user of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<PrincipalId>,
}

/// The data of an event about an update of a conversation; absent if it is empty.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationUpdateData {
    /// The move to another user, if the update is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<ConversationMove>,
}

/// The move of a conversation to another user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationMove {
    /// The user that the conversation belonged to.
    pub from: Option<String>,
    /// The last version before the move.
    pub version: i64,
}

/// The id and version of a deleted resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Tombstone<Id> {
    /// The resource's id.
    pub id: Id,
    /// The resource's last version.
    pub version: i64,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

impl<Id> Tombstone<Id> {
    /// Creates the tombstone of a resource.
    pub fn new(id: Id, version: i64) -> Self {
        Self {
            id,
            version,
            unknown: UnknownMembers::default(),
        }
    }
}

/// A message in an event. A message above 32 KiB is omitted and can be read from its turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "short-lived, and most are whole")]
pub enum EventMessage {
    /// The whole message.
    Whole(Message),
    /// A message that was too large for an event.
    #[serde(rename_all = "camelCase")]
    #[cfg_attr(feature = "schema", schema(title = "OmittedMessage"))]
    Omitted {
        /// The message's id.
        id: MessageId,
        /// The conversation of the message.
        conversation_id: ConversationId,
        /// The turn of the message.
        turn_id: Option<TurnId>,
        /// The message's position in the conversation.
        seq: i64,
        /// The author of the message.
        role: Role,
        /// Always true.
        omitted: bool,
    },
}

impl From<Message> for EventMessage {
    fn from(message: Message) -> Self {
        if message.content.len() <= EVENT_MESSAGE_BYTES {
            return Self::Whole(message);
        }
        Self::Omitted {
            id: message.id,
            conversation_id: message.conversation_id,
            turn_id: message.turn_id,
            seq: message.seq,
            role: message.role,
            omitted: true,
        }
    }
}
