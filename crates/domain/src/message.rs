//! The messages of a conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Audience, ConversationId, Feedback, FileReference, FinishReason, MessageId, Problem,
    ProblemCode, Timestamp, ToolCall, TurnId, TurnStatus, Usage,
    open_enum::open_enum,
    response_schema::{is_false, present},
    tool_visibility::show_calls,
};

open_enum! {
    /// The author of a message.
    Role[15] {
        /// The user, or a program in its place.
        User = "user",
        /// The agent.
        Agent = "agent",
    }
}

open_enum! {
    /// The kind of author who writes in place of an agent.
    AuthorKind[15] {
        /// A person who works for the operator.
        Staff = "staff",
    }
}

/// The author of a message that was written in place of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Author {
    /// The name that users see.
    pub name: String,
    /// The address of a picture; null without one.
    #[serde(default)]
    pub avatar_url: Option<String>,
    /// `staff`: a person who works for the operator.
    pub kind: AuthorKind,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The message's id.
    pub id: MessageId,
    /// The conversation of the message.
    pub conversation_id: ConversationId,
    /// The turn it belongs to; null for a greeting, for messages of staff and for imported ones. If the message
    /// was answered again, the newest of its turns.
    pub turn_id: Option<TurnId>,
    /// The position in the conversation: 1, 2, 3 …
    pub seq: i64,
    /// The author of the message.
    pub role: Role,
    /// The text of the message.
    pub content: String,
    /// The files of the message.
    #[serde(default)]
    pub files: Vec<FileReference>,
    /// The time at which it was stored, or that with which it was imported.
    pub created_at: Timestamp,
    /// On agent messages that a person has written: who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub author: Option<Author>,
    /// On agent messages: the engine that produced the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub engine: Option<String>,
    /// On agent messages: the model that produced the reply, as its provider names it, or else as it was asked for.
    /// Null without one, if several replied to the requests of the turn, and if nothing names it.
    pub model: Option<String>,
    /// On agent messages: the version of the agent that replied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub agent_version: Option<i64>,
    /// On agent messages: the reason why the reply ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub finish_reason: Option<FinishReason>,
    /// On agent messages that satisfy the `responseSchema` of their turn: the JSON value of the content; null is
    /// a value.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Value>))]
    pub output: Option<Value>,
    /// True if the model has had to correct the output; otherwise absent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub repaired: bool,
    /// The token counts of the reply; null if they are unknown.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// On messages of users and staff: the client's own id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub client_message_id: Option<String>,
    /// The state of the turn: on user messages of a listing, and on agent messages whose turn waits for an
    /// answer to a tool call or goes on after one. The content of those is the text so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub turn_status: Option<TurnStatus>,
    /// On user messages of a listing whose turn has failed or was cancelled: the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub error: Option<MessageError>,
    /// On agent messages of a listing: the tool calls of the turn, in order, as far as they are shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// On agent messages of a listing that were rated: the ratings. Users see their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<Feedback>,
    /// The time at which a later turn replaced the message; absent on messages of the current
    /// conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub superseded_at: Option<Timestamp>,
}

impl Message {
    /// Creates a message with nothing but a text.
    pub const fn new(
        (conversation_id, seq): (ConversationId, i64),
        id: MessageId,
        role: Role,
        content: String,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id,
            conversation_id,
            turn_id: None,
            seq,
            role,
            content,
            files: Vec::new(),
            created_at,
            author: None,
            engine: None,
            model: None,
            agent_version: None,
            finish_reason: None,
            output: None,
            repaired: false,
            usage: None,
            client_message_id: None,
            turn_status: None,
            error: None,
            tool_calls: Vec::new(),
            feedback: Vec::new(),
            superseded_at: None,
        }
    }

    /// Returns whether a person has written the message in place of the agent.
    pub const fn is_of_staff(&self) -> bool {
        self.author.is_some()
    }

    /// Returns the client's id of a message that has no turn, which would have it.
    pub fn own_client_message_id(&self) -> Option<&str> {
        let id = self.client_message_id.as_deref();
        id.filter(|_| self.turn_id.is_none())
    }

    /// Returns whether it is the greeting of the agent: its version knows no other message without a turn.
    pub fn is_greeting(&self) -> bool {
        self.role == Role::Agent && self.turn_id.is_none() && self.agent_version.is_some()
    }

    /// Returns the id by which the pages of protocols know the message: the client's own, if a user has sent it
    /// with one.
    pub fn page_id(&self) -> String {
        let own_id = self.client_message_id.as_ref();
        let own_id = own_id.filter(|_| self.role == Role::User);
        own_id.map_or_else(|| self.id.to_string(), Clone::clone)
    }

    /// Reduces the tool calls and ratings to what an audience sees of them. Returns `true` if it sees less
    /// than everything.
    pub fn show_to(&mut self, audience: Audience) -> bool {
        let ratings = self.feedback.len();
        if audience == Audience::User {
            self.feedback.retain(Feedback::is_of_user);
        }
        show_calls(&mut self.tool_calls, audience) | (self.feedback.len() < ratings)
    }
}

/// The reason why a user message has no reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageError {
    /// The kind of the problem, for programs.
    pub code: ProblemCode,
    /// The meaning of the code, for people.
    pub title: String,
    /// True if the same message can succeed later.
    pub retryable: bool,
}

impl MessageError {
    /// Returns the reason why a turn has ended without a complete reply, if it has.
    pub fn of_turn(status: TurnStatus, error: Option<&Problem>) -> Option<Self> {
        let known = |code: ProblemCode, retryable| Self {
            code,
            title: code.title().to_owned(),
            retryable,
        };
        match (status, error) {
            (TurnStatus::Failed, Some(problem)) => Some(Self {
                code: problem.code,
                title: problem.title.clone().into_owned(),
                retryable: problem.retryable,
            }),
            (TurnStatus::Failed, None) => Some(known(ProblemCode::Internal, true)),
            (TurnStatus::Cancelled, _) => Some(known(ProblemCode::TurnCancelled, false)),
            (
                TurnStatus::Queued
                | TurnStatus::InProgress
                | TurnStatus::RequiresAction
                | TurnStatus::Completed,
                _,
            ) => None,
        }
    }
}
