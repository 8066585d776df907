//! The rows that a transaction writes, in domain types.

mod agent;
mod conversation;
mod credential;
mod feedback;
mod file;
mod message;
mod note;
mod turn;
mod usage;
mod user;

use domain::{
    AgentId, ConversationId, Credential, ErasureId, EventType, FileId, IdempotencyEntry, NodeId,
    PrincipalId, Seq, TenantId, Timestamp, TurnId,
};
use serde_json::Value;

pub use self::{
    agent::{AgentDeletion, AgentRow, AgentUpdate},
    conversation::{
        ConversationAdvance, ConversationDeletion, ConversationHandover, ConversationRow,
        ConversationUpdate,
    },
    credential::{Revocation, StateChange},
    feedback::{FeedbackDeletion, FeedbackKey, FeedbackRow},
    file::{FileRelease, FileRow, FileUseRow, UploadDay, UploadRow},
    message::{MessageCopy, MessageDeletion, MessageRow, MessageTurn, SupersededMessages},
    note::{NoteKey, NoteRow},
    turn::{KeyName, StepRow, TurnAssignment, TurnCalls, TurnEnd, TurnRow, TurnStart, TurnWait},
    usage::UsageRow,
    user::{ErasureRow, UserRow},
};

/// All rows that one transaction writes. Each list is written to one table with one statement,
/// under the locks of the tenants in `heads`.
#[derive(Debug, Default, PartialEq)]
pub struct Rows {
    /// New agents.
    pub agents: Vec<AgentRow>,
    /// Next versions of agents.
    pub agent_updates: Vec<AgentUpdate>,
    /// Deleted agents.
    pub agent_deletions: Vec<AgentDeletion>,
    /// New conversations.
    pub conversations: Vec<ConversationRow>,
    /// Conversations with new messages or a turn whose status changes, each at most once.
    pub advances: Vec<ConversationAdvance>,
    /// Next versions of conversations.
    pub conversation_updates: Vec<ConversationUpdate>,
    /// Conversations that their agents hand over to staff.
    pub handovers: Vec<ConversationHandover>,
    /// Deleted conversations.
    pub conversation_deletions: Vec<ConversationDeletion>,
    /// New credentials. Their order in listings is assigned when they are written.
    pub credentials: Vec<Credential>,
    /// Credentials with new content, each at most once. Their scopes, proofs and times stay, except the
    /// expiry.
    pub credential_updates: Vec<Credential>,
    /// Revoked credentials.
    pub revocations: Vec<Revocation>,
    /// The changes of the state of the store.
    pub state: StateChange,
    /// New turns.
    pub turns: Vec<TurnRow>,
    /// Turns that end.
    pub ends: Vec<TurnEnd>,
    /// Queued turns that start.
    pub starts: Vec<TurnStart>,
    /// Turns in progress that wait for an answer.
    pub waits: Vec<TurnWait>,
    /// Turns in progress that are given to another node.
    pub assignments: Vec<TurnAssignment>,
    /// Turns in progress that call tools. One that has made a call that may act keeps that.
    pub calls: Vec<TurnCalls>,
    /// New entries of journals. One that is stored already is not changed.
    pub steps: Vec<StepRow>,
    /// Entries that have changed: their calls are answered, made or have ended. One whose end is stored
    /// is not changed.
    pub changed_steps: Vec<StepRow>,
    /// Requests to models.
    pub usage: Vec<UsageRow>,
    /// New users, and stored ones with new content, each at most once.
    pub users: Vec<UserRow>,
    /// Erasures that begin.
    pub erasures: Vec<ErasureRow>,
    /// Erasures that end.
    pub ended_erasures: Vec<(TenantId, ErasureId)>,
    /// New messages.
    pub messages: Vec<MessageRow>,
    /// Messages of turns that waited, and of staff, with their new content.
    pub rewritten: Vec<MessageRow>,
    /// Messages of staff that are deleted, with their ratings.
    pub deleted_messages: Vec<MessageDeletion>,
    /// Messages that become superseded.
    pub superseded: Vec<SupersededMessages>,
    /// Stored user messages that another turn answers.
    pub answered: Vec<MessageTurn>,
    /// Messages that are copied.
    pub copies: Vec<MessageCopy>,
    /// New notes.
    pub notes: Vec<NoteRow>,
    /// Notes that are deleted.
    pub deleted_notes: Vec<NoteKey>,
    /// New files.
    pub files: Vec<FileRow>,
    /// Conversations that use files. One that is stored already is not changed.
    pub file_uses: Vec<FileUseRow>,
    /// Uses of files by messages that are deleted.
    pub released_files: Vec<FileRelease>,
    /// Files that are deleted. Their contents are, too, after the commit.
    pub deleted_files: Vec<(TenantId, FileId)>,
    /// Uploads that are counted.
    pub uploads: Vec<UploadRow>,
    /// New ratings, and stored ones with new content, each at most once.
    pub feedback: Vec<FeedbackRow>,
    /// Ratings that are deleted.
    pub deleted_feedback: Vec<FeedbackDeletion>,
    /// New events.
    pub events: Vec<EventRow>,
    /// Newly used keys. An existing record of such a key is expired or released, and is replaced.
    pub idempotency: Vec<IdempotencyRow>,
    /// Keys that are released for another use.
    pub released: Vec<ReleasedKey>,
    /// The newest event of each tenant whose log grew.
    pub heads: Vec<(TenantId, Seq)>,
}

/// A row of `events`.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// The tenant that owns the log.
    pub tenant: TenantId,
    /// Its position.
    pub seq: Seq,
    /// The type of the event.
    pub kind: EventType,
    /// The time.
    pub time: Timestamp,
    /// The agent that it refers to.
    pub agent_id: Option<AgentId>,
    /// The conversation that it refers to.
    pub conversation_id: Option<ConversationId>,
    /// The user that it refers to, or that the conversation belongs to.
    pub user_id: Option<String>,
    /// The turn that it refers to.
    pub turn_id: Option<TurnId>,
    /// The principal that made the change.
    pub actor: PrincipalId,
    /// The tombstone of a deleted entity, the range of superseded messages, or the place of a message
    /// or rating.
    pub data: Option<Value>,
    /// The agent after `agent.created` or `agent.updated`. All other content is joined when the
    /// log is read.
    pub snapshot: Option<Value>,
}

/// A row of `idempotency_records`.
#[derive(Debug, Clone, PartialEq)]
pub struct IdempotencyRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The entry.
    pub idempotency: IdempotencyEntry,
    /// The turn that it began, for chats.
    pub turn_id: Option<TurnId>,
    /// The node that runs this turn, of which nothing else is stored.
    pub claimed_by: Option<NodeId>,
}

impl IdempotencyRow {
    /// Builds the record of an entry that began no turn.
    pub fn without_turn(tenant: &TenantId, idempotency: Option<&IdempotencyEntry>) -> Option<Self> {
        idempotency.map(|idempotency| Self {
            tenant: tenant.clone(),
            idempotency: idempotency.clone(),
            turn_id: None,
            claimed_by: None,
        })
    }
}

/// A key that a failed turn releases for another use.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedKey {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The principal that sent the key.
    pub principal: PrincipalId,
    /// The key.
    pub name: KeyName,
    /// The turn that the key began. A record of another turn is not changed.
    pub turn_id: TurnId,
    /// The conversation of that turn.
    pub conversation_id: ConversationId,
}
