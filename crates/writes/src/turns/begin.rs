//! Beginnings of turns.

use domain::{
    AgentId, ClientTool, Conversation, ConversationId, FileId, FileReference, FinishReason,
    IdempotencyEntry, IdempotencyRecord, MessageId, NodeId, RequestUsage, ResponseSchema, Stamp,
    TenantId, Timestamp, ToolCall, TurnId, Usage, admission::OnBusy, config::Metadata,
};
use serde_json::Value;

use ports::{
    Facts,
    write_store::{ConversationFacts, TurnRow},
};

use crate::Committed;

/// The conversation of a turn.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is a part of a turn, which is boxed"
)]
pub enum ConversationTarget {
    /// A new conversation, which the same transaction creates (its `message_count` is 0).
    New(Conversation),
    /// An existing conversation.
    Existing {
        /// The conversation's id.
        id: ConversationId,
        /// The number of turns started so far, as the caller assumed it.
        turn_count: i64,
    },
}

impl ConversationTarget {
    /// Returns the conversation's id.
    pub const fn id(&self) -> ConversationId {
        match self {
            Self::New(conversation) => conversation.id,
            Self::Existing { id, .. } => *id,
        }
    }
}

/// A command that begins a turn. It is decided by `domain::admission::admit` under the tenant's lock:
/// the turn starts (turn in progress, the user's message, `turn.started`), is queued (turn queued,
/// `turn.queued`, no message), or is rejected. A new conversation and the idempotency entry are stored
/// in the same transaction. The key is checked before everything else. `Stale`, and nothing is
/// written, if the turn would start and the agent's version or the conversation's turn count differ
/// from the assumed ones, or if the conversation does not belong to `only_of`, whatever the turn would do.
///
/// A turn with a [`Supersession`] marks its messages as superseded and writes `messages.superseded`
/// before `turn.started`. It is `Busy` if another turn is running or queued, whatever `on_busy` is.
///
/// A key that its turn has released (`IdempotencyRecord::released_into` is set) is free: the next
/// message uses it again. If it is the same command, its turn repeats the failed one. It answers the
/// user message of the failed turn, if that is the newest message that is not superseded, and stores
/// none; otherwise, or if it is queued, it stores its own. The exception is a begin that
/// repeats the same command, would create a conversation and is no
/// [resumption](Self::is_resumption): it is `Replayed`, so that its caller continues in the
/// conversation of the failed turn.
#[derive(Debug, Clone, PartialEq)]
pub struct BeginTurn {
    /// The tenant.
    pub tenant: TenantId,
    /// The id of the new turn.
    pub turn_id: TurnId,
    /// The id of the user's message, which is stored when the turn starts, unless the turn answers
    /// a stored message.
    pub message_id: MessageId,
    /// The id of the agent's message, which is stored when the turn ends.
    pub reply_id: MessageId,
    /// The client's own id of the user's message.
    pub client_message_id: Option<String>,
    /// The messages that the turn supersedes. It is then rejected if another turn is running or
    /// queued.
    pub supersession: Option<Supersession>,
    /// The conversation of the turn.
    pub target: ConversationTarget,
    /// If set, the only user to whom the conversation may belong: it may have moved to another one since it
    /// was found.
    pub only_of: Option<String>,
    /// The agent that replies.
    pub agent_id: AgentId,
    /// The agent's version, as the caller assumed it.
    pub agent_version: i64,
    /// The user's message; empty if there is none.
    pub input: String,
    /// The files of the user's message.
    pub files: Vec<FileReference>,
    /// The operator's instruction in place of a message of the user. While staff handles the conversation,
    /// the turn is rejected.
    pub instruction: Option<String>,
    /// The client's own string pairs.
    pub metadata: Metadata,
    /// The tools that the client has added, and runs itself.
    pub client_tools: Vec<ClientTool>,
    /// The schema that came with the message, for the reply.
    pub response_schema: Option<ResponseSchema>,
    /// The principal that sent the message, and the time.
    pub stamp: Stamp,
    /// The node that will run the turn: the fencing token.
    pub node: NodeId,
    /// The behaviour if another turn is running or queued.
    pub on_busy: OnBusy,
    /// The request's idempotency key.
    pub idempotency: Option<IdempotencyEntry>,
    /// Set if the caller knows the conversation of the turn that released the key. The turn then
    /// begins in `target`, even if that is a new conversation.
    pub is_resumption: bool,
}

impl BeginTurn {
    /// Returns whether processes of earlier levels would run the turn without a part of it.
    pub fn needs_level(&self) -> bool {
        !self.files.is_empty() || self.response_schema.is_some()
    }

    /// Returns the version of the agent, if it exists.
    pub(crate) fn stored_agent_version(&self, facts: &Facts) -> Option<i64> {
        let agent = (self.tenant.clone(), self.agent_id);
        let by_conversation = || {
            facts
                .conversation(&self.tenant, self.target.id())
                .filter(|found| found.agent_id == self.agent_id)
                .map(|found| found.agent_version)
        };
        facts.agents.get(&agent).copied().or_else(by_conversation)
    }
}

/// The messages of a conversation that a new turn supersedes: the newest ones that are not
/// superseded. The turn count of [`ConversationTarget::Existing`] proves that they are still the
/// newest. Messages of staff among them stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supersession {
    /// The `seq` of the first message that is superseded, with all later ones.
    pub from_seq: i64,
    /// The number of messages before it that are not superseded, those of staff aside.
    pub kept: i64,
    /// The stored user message that the turn answers again; it stores a new one if this is `None`.
    pub answered: Option<AnsweredMessage>,
}

/// A stored user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredMessage {
    /// The message's id.
    pub id: MessageId,
    /// The message's position in the conversation.
    pub seq: i64,
}

/// The messages of a started turn in its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnMessages {
    /// The user's message.
    pub message: AnsweredMessage,
    /// The `seq` that the agent's message has or is going to have.
    pub reply_seq: i64,
    /// The number of the turn in its conversation, from 0.
    pub turn_number: i64,
    /// The failed turn that it repeats.
    pub retry_of: Option<TurnId>,
    /// True if staff handles the conversation: the agent does not reply.
    pub are_for_staff: bool,
}

impl TurnMessages {
    /// Returns the messages of a turn, once it has started, in its conversation; `None` if that is deleted,
    /// and needs no further position.
    pub fn of(turn: &TurnRow, conversation: Option<&ConversationFacts>) -> Option<Self> {
        let seq = turn.message_seq?;
        let next_seq = if turn.reuses_message {
            // A turn without a message has the place of its reply, which may follow one that is stored with it.
            let last_seq = conversation.map_or(0, |found| found.last_message_seq);
            seq.max(last_seq + 1)
        } else {
            seq + 1
        };
        Some(Self {
            message: AnsweredMessage {
                id: turn.message_id,
                seq,
            },
            reply_seq: turn.reply_seq.unwrap_or(next_seq),
            turn_number: turn.turn_number?,
            retry_of: turn.turn.retry_of,
            are_for_staff: turn.is_for_staff,
        })
    }
}

/// A reply as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The id of the agent's message.
    pub message_id: MessageId,
    /// The text of the reply.
    pub content: String,
    /// The engine that produced the reply.
    pub engine: String,
    /// The model that produced it; `None` if there is none, or several.
    pub model: Option<String>,
    /// `true` if a fallback engine replied.
    pub degraded: bool,
    /// The reason why the reply ended.
    pub finish_reason: FinishReason,
    /// The JSON value of the text, if it satisfies the schema of the turn.
    pub output: Option<Value>,
    /// True if the model has had to correct it.
    pub repaired: bool,
    /// The sum of the token counts that were reported.
    pub usage: Option<Usage>,
    /// The requests to models.
    pub requests: Vec<RequestUsage>,
    /// The tool calls of the turn.
    pub tool_calls: Vec<ToolCall>,
}

/// A command that stores a turn that was answered inline: the conversation if it is new (with
/// `conversation.created`), the turn, both messages, the events `turn.started` and `turn.completed`,
/// and the idempotency entry. The key is checked before everything else, then if agent and
/// conversation exist, then if the conversation is busy; then as for a [`BeginTurn`] that starts.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedTurn {
    /// The start of the turn; its `on_busy` and `node` are unused.
    pub begin: BeginTurn,
    /// The reply.
    pub reply: Reply,
    /// The time of the reply.
    pub finished_at: Timestamp,
}

/// The outcome of a [`CompletedTurn`].
#[derive(Debug, Clone, PartialEq)]
pub enum RecordTurnOutcome {
    /// The turn is stored.
    Recorded {
        /// The positions of its events.
        committed: Committed,
        /// Its messages.
        messages: TurnMessages,
    },
    /// Nothing was written: the key was used before. If its turn has released the key, the record
    /// names the conversation in which to continue.
    Replayed(IdempotencyRecord),
    /// Nothing was written: a turn is running or queued in the conversation.
    Busy,
    /// Nothing was written: the agent does not exist.
    AgentNotFound,
    /// Nothing was written: the agent has no such conversation.
    ConversationNotFound,
    /// Nothing was written: a file does not exist, or other conversations use it.
    FileUnusable(UnusableFile),
}

/// The reason why a message cannot have a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusableFile {
    /// It does not exist, or no longer.
    NotFound(FileId),
    /// Other conversations use it.
    InUse(FileId),
}

/// The outcome of a [`BeginTurn`].
#[derive(Debug, Clone, PartialEq)]
pub enum BeginOutcome {
    /// The turn is in progress under the caller's node id.
    Started {
        /// The positions of its events.
        committed: Committed,
        /// Its messages.
        messages: TurnMessages,
    },
    /// The turn is queued; its position in the queue is the `seq` of its `turn.queued` event.
    Queued(Committed),
    /// Nothing was written: the key was used before. If its turn has released the key, the record
    /// names the conversation in which to continue.
    Replayed(IdempotencyRecord),
    /// Nothing was written: a turn is running or queued and `on_busy` is `Reject`, or the queue is
    /// full.
    Busy,
    /// Nothing was written: a turn waits for an answer to a tool call, and `on_busy` is `Reject`.
    ActionRequired,
    /// Nothing was written: the agent does not exist.
    AgentNotFound,
    /// Nothing was written: the agent has no such conversation.
    ConversationNotFound,
    /// Nothing was written: a file does not exist, or other conversations use it.
    FileUnusable(UnusableFile),
    /// Nothing was written: the caller's node is marked as dead or unknown. The caller must
    /// register a new node id.
    NodeDead,
}
