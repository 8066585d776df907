//! Conversations and their messages in a store.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    AgentId, AgentReach, AsOf, Conversation, ConversationId, ConversationKey, ConversationState,
    Handler, HistoryLimits, HistoryMessage, Listed, Message, MessageId, Page, TenantId,
};
use serde::Serialize;

use crate::{ConversationScan, RepositoryError, ScannedConversations};

/// The conversations that a listing contains; members that are set must all match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConversationFilter {
    /// Only conversations with these agents.
    pub agents: AgentReach,
    /// Only conversations of this user.
    pub user_id: Option<String>,
    /// Only conversations that these people, or the agent, handle.
    pub handling: Option<Handling>,
}

impl ConversationFilter {
    /// Returns whether a listing with this filter contains a conversation.
    pub fn matches(&self, conversation: &Conversation) -> bool {
        let user = conversation.user_id.as_deref();
        self.agents.contains(conversation.agent_id)
            && (self.user_id.is_none() || self.user_id.as_deref() == user)
            && self
                .handling
                .as_ref()
                .is_none_or(|it| it.matches(conversation))
    }
}

/// A filter by the side that handles a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Handling {
    /// The agent.
    Agent,
    /// Staff; only this member if one is given.
    Staff(Option<String>),
    /// The same, while the user waits for staff. Listed in the order in which they began to wait.
    Waiting(Option<String>),
}

impl Handling {
    fn matches(&self, conversation: &Conversation) -> bool {
        let is_staff = conversation.handled_by == Handler::Staff;
        match self {
            Self::Agent => !is_staff,
            Self::Staff(assignee) | Self::Waiting(assignee) => {
                let is_waiting = conversation.waiting_since.is_some();
                is_staff
                    && (is_waiting || matches!(self, Self::Staff(_)))
                    && (assignee.is_none() || *assignee == conversation.assignee)
            }
        }
    }

    /// Returns who handles the conversations and the member of staff, unless they are listed in the order in
    /// which they began to wait.
    pub fn by_activity(&self) -> Option<(&'static str, Option<&str>)> {
        match self {
            Self::Agent => Some((Handler::Agent.as_str(), None)),
            Self::Staff(assignee) => Some((Handler::Staff.as_str(), assignee.as_deref())),
            Self::Waiting(_) => None,
        }
    }
}

/// The position of the last conversation of the previous page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversationPosition {
    /// The conversation's position in the order: that in the log of its latest activity, or the time in
    /// milliseconds since which its user waits for staff.
    pub key: i64,
    /// The conversation's id.
    pub id: ConversationId,
}

/// A request for one page of conversations, latest activity first, or those that wait longest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationQuery {
    /// The conversations to list.
    pub filter: ConversationFilter,
    /// The position after which the page starts; `None` for the first page.
    pub after: Option<ConversationPosition>,
    /// The maximum number of conversations.
    pub limit: usize,
}

/// The order of a page of messages or turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingOrder {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

/// A request for one page of a conversation's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageQuery {
    /// The order of the messages.
    pub order: ListingOrder,
    /// The `seq` of the message after which the page starts; `None` for the start of the order.
    pub after: Option<i64>,
    /// The maximum number of messages.
    pub limit: usize,
    /// True if superseded messages are listed, too.
    pub with_superseded: bool,
}

/// The name by which a client refers to a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConversationName {
    /// The agent of the conversation.
    pub agent_id: AgentId,
    /// The user that it belongs to; `None` only matches conversations that belong to no user.
    pub user_id: Option<String>,
    /// The client's key.
    pub key: ConversationKey,
}

impl ConversationName {
    /// Returns the name of a conversation, if the client has given it one.
    pub fn of(conversation: &Conversation) -> Option<Self> {
        Some(Self {
            agent_id: conversation.agent_id,
            user_id: conversation.user_id.clone(),
            key: conversation.key.clone()?,
        })
    }
}

/// The way in which a client refers to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageReference {
    /// By its id.
    Id(MessageId),
    /// By the client's own id of a user message.
    ClientId(String),
}

/// A message and its place among the messages that are not superseded.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundMessage {
    /// The message.
    pub message: Message,
    /// The number of messages before it that are not superseded.
    pub before: i64,
    /// The last of them.
    pub previous: Option<Message>,
    /// The number of messages of staff before it.
    pub of_staff: i64,
    /// The messages of the conversation when it was read.
    pub counts: MessageCounts,
}

/// Counts of the messages of a conversation. While they are the same, none was added, superseded or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageCounts {
    /// The `seq` of the last message.
    pub last_seq: i64,
    /// The number of messages that are superseded or deleted.
    pub superseded: i64,
}

/// The messages that a fork copies.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkedMessages {
    /// The conversation to copy from, with its turn count when it was read.
    pub from: ConversationId,
    /// The number of turns of that conversation that have started, as the caller assumed it.
    pub turn_count: i64,
    /// The `seq` of the last message to copy.
    pub to_seq: i64,
    /// The number of messages of staff among them.
    pub of_staff: i64,
    /// The messages of that conversation when they were counted, unless it has none.
    pub counts: Option<MessageCounts>,
}

/// The first messages of a new conversation.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a call passes one by reference")]
pub enum FirstMessages {
    /// None.
    None,
    /// The agent's greeting, as message 1.
    Greeting(Message),
    /// Those of another conversation of the same agent and user.
    Forked(ForkedMessages),
    /// Those of a conversation that was led elsewhere, numbered from 1.
    Imported(Vec<Message>),
}

impl FirstMessages {
    /// Returns the conversation from which they are copied.
    pub const fn copied_from(&self) -> Option<ConversationId> {
        match self {
            Self::Forked(copied) => Some(copied.from),
            Self::None | Self::Greeting(_) | Self::Imported(_) => None,
        }
    }

    /// Returns the number of messages of staff among them.
    pub fn of_staff(&self) -> i64 {
        match self {
            Self::None | Self::Greeting(_) => 0,
            Self::Forked(copied) => copied.of_staff,
            Self::Imported(messages) => {
                let of_staff = messages.iter().filter(|it| it.is_of_staff());
                i64::try_from(of_staff.count()).unwrap_or(i64::MAX)
            }
        }
    }
}

/// The text of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationText {
    /// The conversation of the message.
    pub conversation_id: ConversationId,
    /// The position of the message.
    pub seq: i64,
    /// The id of the message.
    pub id: MessageId,
    /// The text.
    pub content: String,
}

/// The part of a conversation that an engine receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only messages with a smaller `seq`.
    pub before: i64,
    /// The maximum number of messages and characters.
    pub limits: HistoryLimits,
}

/// The member of a stored result that contains the position of the created conversation.
pub const SORT_SEQ_OF_RESULT: &str = "sortSeq";

/// Conversations in a store. Every method reads conversations of the given tenant only.
/// For every method, a conversation whose agent is deleted does not exist.
#[async_trait]
pub trait ConversationRepository: Send + Sync {
    /// Finds a conversation, with the position of its latest activity, which every message,
    /// supersession and change of a turn's status raises. MUST return a log position that is not
    /// later than the state that was read.
    async fn find(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Listed<Conversation>>>, RepositoryError>;

    /// Finds the conversation with a name. The name of a deleted conversation is free.
    async fn find_by_name(
        &self,
        tenant: &TenantId,
        name: &ConversationName,
    ) -> Result<Option<ConversationId>, RepositoryError>;

    /// Finds the part of a conversation that a chat needs before it computes a reply. MUST return a
    /// log position that is not later than the state that was read.
    async fn find_state(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<ConversationState>>>, RepositoryError>;

    /// Finds what models are told about a conversation.
    async fn find_context(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<str>>>, RepositoryError> {
        let found = self.find(tenant, id).await?;
        let context = |found: Listed<Conversation>| found.item.context.map(Arc::from);
        Ok(found.map(|found| found.and_then(context)))
    }

    /// Lists the conversations that meet conditions. Looks at about [`SCAN_LENGTH`](crate::SCAN_LENGTH)
    /// conversations, so a page can be short, or empty, although others follow. A page MUST end at about
    /// `sizes::PAGE_BYTES`.
    async fn scan(
        &self,
        tenant: &TenantId,
        scan: &ConversationScan,
    ) -> Result<AsOf<ScannedConversations>, RepositoryError>;

    /// Lists conversations, latest activity first unless they are filtered by waiting, in the commit order of the transactions that
    /// were the activity, whatever their timestamps. A page MUST end at about `sizes::PAGE_BYTES`
    /// and contain at least one conversation if any is left. The cost MUST NOT depend on the number
    /// of conversations. A conversation that becomes active during paging may appear again; one
    /// without activity MUST NOT be skipped.
    async fn list(
        &self,
        tenant: &TenantId,
        query: &ConversationQuery,
    ) -> Result<AsOf<Page<Listed<Conversation>>>, RepositoryError>;

    /// Finds the conversations with these ids, at most 100, in any order.
    async fn find_all(
        &self,
        tenant: &TenantId,
        ids: &[ConversationId],
    ) -> Result<AsOf<Vec<Conversation>>, RepositoryError>;

    /// Finds the texts of messages that are not superseded, at most 100, by conversation and `seq`, in any order.
    async fn texts(
        &self,
        tenant: &TenantId,
        places: &[(ConversationId, i64)],
    ) -> Result<Vec<ConversationText>, RepositoryError>;

    /// Finds a message of a conversation, superseded or not; the newest if several match. The number of
    /// messages before it counts those of staff, too.
    async fn find_message(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        message: &MessageReference,
    ) -> Result<Option<FoundMessage>, RepositoryError>;

    /// Lists messages by `seq`, with the state of their turns. A page MUST end at about
    /// `sizes::PAGE_BYTES`, contain at least one message if any is left, and MUST NOT read messages
    /// that do not fit. MUST return `None` if the conversation does not exist.
    async fn messages(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &MessageQuery,
    ) -> Result<AsOf<Option<Page<Message>>>, RepositoryError>;

    /// Reads the history for an engine: the newest whole messages that fit both limits, oldest
    /// first, without superseded messages and those of failed turns. The cost MUST NOT depend on the
    /// length of the conversation. Returns nothing if the conversation does not exist.
    async fn history(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Result<Vec<HistoryMessage>, RepositoryError>;
}
