//! Conversations between an agent and a user.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, ConversationId, ConversationKey, FaultCode, FileReference, Handover, InputFault,
    MessageId, Principal, Timestamp, TitleSource, TurnId, TurnStatus, UnknownMembers,
    config::{Metadata, check_metadata},
    open_enum::open_enum,
    search::TextMatch,
};

open_enum! {
    /// Who answers the user.
    Handler[15] {
        /// The agent.
        Agent = "agent",
        /// People who work for the operator. Agents do not reply.
        Staff = "staff",
    }
}

/// A conversation as clients receive it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// The conversation's id.
    pub id: ConversationId,
    /// The agent of the conversation.
    pub agent_id: AgentId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// The client's own name for the conversation, unique for its agent and user; null without one.
    #[serde(default)]
    pub key: Option<ConversationKey>,
    /// The title, for people.
    pub title: Option<String>,
    /// The author of the title: `person`, also if a person has removed it, or `model`. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub title_source: Option<TitleSource>,
    /// The client's own string pairs.
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
    /// What the model is told about the conversation. Absent without one, and for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub context: Option<String>,
    /// Who answers the user: `agent`, or `staff` while people do and the agent does not reply.
    #[serde(default = "Handler::agent")]
    pub handled_by: Handler,
    /// The member of staff who has taken the conversation over. Absent without one, and for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub assignee: Option<String>,
    /// The time since which the user waits for staff. Absent otherwise, and for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub waiting_since: Option<Timestamp>,
    /// The hand-over to staff, if the agent has made it. Absent otherwise, once the agent has the conversation
    /// back, and for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub handover: Option<Handover>,
    /// 1, 2, 3 …: increases by one with every change of title, metadata, context, user, `handledBy` or
    /// `assignee`.
    pub version: i64,
    /// The number of messages that are not superseded.
    pub message_count: i64,
    /// The first 120 characters of the newest message; null without messages.
    #[serde(default)]
    pub excerpt: Option<String>,
    /// The queued turns and the turn in progress, in their order.
    #[serde(default)]
    pub open_turns: Vec<OpenTurn>,
    /// The conversation whose messages were copied into this one; null if it is not a fork.
    #[serde(default)]
    pub forked_from: Option<ForkOrigin>,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change, including new messages.
    pub updated_at: Timestamp,
    /// The time of the last message.
    pub last_message_at: Option<Timestamp>,
    /// In results of a search: the text that was found.
    #[serde(rename = "match", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub matched: Option<TextMatch>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

impl Conversation {
    /// Creates a conversation without messages.
    pub fn empty(id: ConversationId, agent_id: AgentId, now: Timestamp) -> Self {
        Self {
            id,
            agent_id,
            user_id: None,
            key: None,
            title: None,
            title_source: None,
            metadata: Metadata::new(),
            context: None,
            handled_by: Handler::Agent,
            assignee: None,
            waiting_since: None,
            handover: None,
            version: 1,
            message_count: 0,
            excerpt: None,
            open_turns: Vec::new(),
            forked_from: None,
            created_at: now,
            updated_at: now,
            last_message_at: None,
            matched: None,
            unknown: UnknownMembers::default(),
        }
    }

    /// Returns the part of this conversation that a client can change.
    pub fn draft(&self) -> ConversationDraft {
        ConversationDraft {
            title: self.title.clone(),
            title_source: self.title_source,
            metadata: self.metadata.clone(),
            context: self.context.clone(),
            handled_by: self.handled_by,
            assignee: self.assignee.clone(),
            user_id: self.user_id.clone(),
        }
    }

    /// Returns the next version of this conversation, with the content of `draft`. Returns `None`
    /// if nothing changes.
    pub fn changed_to(&self, draft: ConversationDraft, now: Timestamp) -> Option<Self> {
        // A conversation that the agent handles has no assignee.
        let draft = ConversationDraft {
            assignee: draft
                .assignee
                .filter(|_| draft.handled_by == Handler::Staff),
            ..draft
        };
        if self.draft() == draft {
            return None;
        }
        Some(Self {
            title: draft.title,
            title_source: draft.title_source,
            metadata: draft.metadata,
            context: draft.context,
            waiting_since: self
                .handled_by
                .waiting_since(self.waiting_since, draft.handled_by, now),
            handover: self
                .handover
                .clone()
                .filter(|_| draft.handled_by == Handler::Staff),
            handled_by: draft.handled_by,
            assignee: draft.assignee,
            user_id: draft.user_id,
            version: self.version + 1,
            updated_at: now.max(self.updated_at),
            ..self.clone()
        })
    }

    /// Returns the next version of this conversation, with a title by a model.
    #[must_use]
    pub fn titled(&self, title: String, now: Timestamp) -> Self {
        Self {
            title: Some(title),
            title_source: Some(TitleSource::Model),
            version: self.version + 1,
            updated_at: now.max(self.updated_at),
            ..self.clone()
        }
    }

    /// Returns whether a model may write the title: there is none, and no person has removed one.
    pub const fn is_untitled(&self) -> bool {
        self.title.is_none() && self.title_source.is_none()
    }

    /// Returns the conversation as a principal sees it that can reach it.
    #[must_use]
    pub fn shown_to(self, reader: &Principal) -> Self {
        if reader.may_read_context() {
            self
        } else {
            self.shown_to_users()
        }
    }

    /// Returns the conversation without what users do not see.
    #[must_use]
    pub fn shown_to_users(self) -> Self {
        Self {
            context: None,
            assignee: None,
            waiting_since: None,
            handover: None,
            ..self
        }
    }

    /// Returns whether users see less of it.
    pub const fn has_internals(&self) -> bool {
        self.context.is_some()
            || self.assignee.is_some()
            || self.waiting_since.is_some()
            || self.handover.is_some()
    }
}

impl Handler {
    /// The default.
    const fn agent() -> Self {
        Self::Agent
    }

    /// Returns since when the user waits for staff once another answers in place of this one. `since` is how
    /// long the user has waited before.
    pub fn waiting_since(
        self,
        since: Option<Timestamp>,
        next: Self,
        now: Timestamp,
    ) -> Option<Timestamp> {
        match (self, next) {
            (Self::Staff, Self::Staff) => since,
            (_, Self::Staff) => Some(now),
            (_, Self::Agent | Self::Other(_)) => None,
        }
    }
}

/// A turn that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct OpenTurn {
    /// The turn's id.
    pub id: TurnId,
    /// `queued` or `in_progress`.
    pub status: TurnStatus,
    /// The time at which the message was received.
    pub created_at: Timestamp,
}

/// The origin of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForkOrigin {
    /// The conversation whose messages were copied.
    pub conversation_id: ConversationId,
    /// The last message that was copied; null if there was none.
    pub message_id: Option<MessageId>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

/// The maximum length of an excerpt in characters.
const EXCERPT_CHARACTERS: usize = 120;

/// Returns the beginning of a message, as a conversation shows it, or the name of its first file if it has no text.
pub fn excerpt(content: &str, files: &[FileReference]) -> String {
    let name = files.first().filter(|_| content.is_empty());
    let shown = name.map_or(content, |file| &file.name);
    shown.chars().take(EXCERPT_CHARACTERS).collect()
}

/// The part of a conversation that a client can change: the document that a merge patch changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConversationDraft {
    /// The title, for people. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            max_length = 200,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub title: Option<String>,
    /// The author of the title. Clients do not send it.
    #[serde(skip)]
    pub title_source: Option<TitleSource>,
    /// The client's own string pairs. Default: none.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
    /// What the model is told about the conversation. Users see and change it only with
    /// `conversations:all`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(max_length = 8000, pattern = r"^[^\x00]*$", nullable = false)
    )]
    pub context: Option<String>,
    /// Who answers the user. While it is `staff`, messages are stored and the agent does not reply. Users
    /// set only `staff`, and only if the agent's `config.allowHandOver` is true. Default: `agent`.
    #[serde(default = "Handler::agent")]
    pub handled_by: Handler,
    /// The member of staff who has taken the conversation over, while `handledBy` is `staff`. Users neither
    /// see nor change it. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 128,
            pattern = r"^[^\x00-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub assignee: Option<String>,
    /// The user that the conversation belongs to. Users change it only with `conversations:all`.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 320,
            pattern = r"^[^\x00-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub user_id: Option<String>,
}

impl Default for ConversationDraft {
    fn default() -> Self {
        Self {
            title: None,
            title_source: None,
            metadata: Metadata::new(),
            context: None,
            handled_by: Handler::Agent,
            assignee: None,
            user_id: None,
        }
    }
}

impl ConversationDraft {
    /// Returns the faults that the schema cannot express.
    pub fn check(&self) -> Vec<InputFault> {
        let faults = check_metadata(&self.metadata).into_iter();
        let mut faults: Vec<_> = faults.map(|fault| fault.below("/metadata")).collect();
        if matches!(self.handled_by, Handler::Other(_)) {
            let detail = "must be 'agent' or 'staff'";
            faults.push(InputFault::new(
                "/handledBy",
                FaultCode::UnknownValue,
                detail,
            ));
        }
        faults
    }
}

/// The part of a conversation that a chat needs before it computes a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationState {
    /// The conversation's id.
    pub id: ConversationId,
    /// The agent of the conversation.
    pub agent_id: AgentId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// The `seq` of the last message, superseded or not.
    pub last_message_seq: i64,
    /// The number of turns that have started.
    pub turn_count: i64,
    /// The turn in progress, if any.
    pub running_turn: Option<TurnId>,
    /// The newest message of the user, stored or queued.
    pub newest_message: Option<SentMessage>,
}

/// The ids of a user's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// The message's id.
    pub id: MessageId,
    /// The client's own id.
    pub client_id: Option<String>,
}
