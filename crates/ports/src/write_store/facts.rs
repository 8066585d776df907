//! The facts that a store reads for a decision.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::{
    AgentId, Conversation, ConversationId, Credential, CredentialId, CredentialKind, EventType,
    Feedback, FileId, Handler, IdempotencyEntry, IdempotencyRecord, NodeId, PrincipalId, Seq,
    Stamp, TenantId, Timestamp, TurnId, TurnStep, Uploads, User, idempotency::RETENTION,
};

use super::{
    FeedbackKey, NoteKey, OpenTurnsOf, RunningTurn, SweptConversation, TurnRow, UploadDay,
};
use crate::{ConversationName, MessageCounts};

/// An id and the tenant that it belongs to.
pub type InTenant<Id> = (TenantId, Id);

/// The key of an idempotency record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordKey {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The principal that sent the key.
    pub principal: PrincipalId,
    /// The operation that the key belongs to.
    pub operation: String,
    /// The client's key.
    pub key: String,
}

impl RecordKey {
    /// The key of the record that an optional entry would create.
    pub fn of(tenant: &TenantId, idempotency: Option<&IdempotencyEntry>) -> Option<Self> {
        idempotency.map(|idempotency| Self::new(tenant, idempotency))
    }

    /// The key of the record that `idempotency` would create.
    pub fn new(tenant: &TenantId, idempotency: &IdempotencyEntry) -> Self {
        Self {
            tenant: tenant.clone(),
            principal: idempotency.principal.clone(),
            operation: idempotency.operation.to_owned(),
            key: idempotency.key.as_str().to_owned(),
        }
    }
}

/// Returns whether a record still applies to a use of its key at `now`.
pub fn is_within_retention(record: &IdempotencyRecord, now: Timestamp) -> bool {
    now < record.created_at + RETENTION
}

/// The facts that a decision has so far, read under the lock of the tenants in `heads`. Deleted
/// entities are omitted unless the comment of a field states otherwise.
#[derive(Debug, Default)]
pub struct Facts {
    /// The newest event of each tenant that exists.
    pub heads: BTreeMap<TenantId, Seq>,
    /// The versions of agents.
    pub agents: HashMap<InTenant<AgentId>, i64>,
    /// The ids of new agents that exist, also those of deleted agents.
    pub existing_agents: HashSet<InTenant<AgentId>>,
    /// Conversations.
    pub conversations: HashMap<InTenant<ConversationId>, ConversationFacts>,
    /// The conversations with the names that others are to get.
    pub named: HashMap<InTenant<ConversationName>, ConversationId>,
    /// Open turns, in the order of their ids.
    pub open_turns: HashMap<InTenant<OpenTurnsOf>, Vec<OpenTurn>>,
    /// Credentials of any tenant and kind.
    pub credentials: HashMap<CredentialId, CredentialFacts>,
    /// Those of the credentials that were read as a whole.
    pub whole_credentials: HashMap<CredentialId, Credential>,
    /// Users.
    pub users: HashMap<InTenant<String>, User>,
    /// Those of the named notes that exist.
    pub notes: HashSet<NoteKey>,
    /// Files.
    pub files: HashMap<InTenant<FileId>, FileFacts>,
    /// The counted uploads of days. A day without any is missing.
    pub uploads: HashMap<UploadDay, Uploads>,
    /// The ratings of messages; `None` if the message is not rated so. A message that does not exist is
    /// missing.
    pub feedback: HashMap<InTenant<FeedbackKey>, Option<Feedback>>,
    /// Turns with their replies.
    pub turns: HashMap<InTenant<TurnId>, TurnRow>,
    /// The idempotency records of used keys.
    pub idempotency: HashMap<RecordKey, IdempotencyRecord>,
    /// The nodes that are registered and not marked as dead.
    pub live_nodes: HashSet<NodeId>,
    /// The events that an earlier attempt may have written, by position.
    pub logged: Vec<EventInDoubt>,
    /// The conversations with turns to fail, to start or to resume, with their queued turns.
    pub swept: Vec<SweptConversation>,
    /// The entries of journals, by number. A turn without any is missing.
    pub journals: HashMap<InTenant<TurnId>, Vec<TurnStep>>,
    /// Those of the named turns that are in progress under their nodes.
    pub running_turns: HashSet<RunningTurn>,
}

impl Facts {
    /// The conversation, if it exists.
    pub fn conversation(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Option<&ConversationFacts> {
        self.conversations.get(&(tenant.clone(), id))
    }

    /// Returns whether another conversation has the name that `conversation` is to get.
    pub fn is_name_used(&self, tenant: &TenantId, conversation: &Conversation) -> bool {
        ConversationName::of(conversation)
            .is_some_and(|name| self.named.contains_key(&(tenant.clone(), name)))
    }

    /// The turn, in any status.
    pub fn turn(&self, tenant: &TenantId, id: TurnId) -> Option<&TurnRow> {
        self.turns.get(&(tenant.clone(), id))
    }

    /// The entries of the journal of a turn.
    pub fn journal(&self, tenant: &TenantId, id: TurnId) -> &[TurnStep] {
        let found = self.journals.get(&(tenant.clone(), id));
        found.map_or(&[], Vec::as_slice)
    }

    /// The record of an earlier use of the entry's key, if an entry is given and the record is
    /// within its retention time.
    pub fn existing_record(
        &self,
        tenant: &TenantId,
        idempotency: Option<&IdempotencyEntry>,
    ) -> Option<&IdempotencyRecord> {
        let idempotency = idempotency?;
        self.idempotency
            .get(&RecordKey::new(tenant, idempotency))
            .filter(|record| is_within_retention(record, idempotency.created_at))
    }
}

/// The facts about a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationFacts {
    /// The agent that replies in it.
    pub agent_id: AgentId,
    /// The agent's current version.
    pub agent_version: i64,
    /// The user that it belongs to.
    pub user_id: Option<String>,
    /// Its version.
    pub version: i64,
    /// The `seq` of the last message, superseded or not.
    pub last_message_seq: i64,
    /// The number of messages that are superseded or deleted.
    pub superseded_count: i64,
    /// The number of messages of staff.
    pub staff_messages: i64,
    /// The `seq` of the last message of a turn that is not superseded, or of a greeting; 0 without one.
    pub visible_message_seq: i64,
    /// The number of turns that have started.
    pub turn_count: i64,
    /// The side that answers the user.
    pub handled_by: Handler,
    /// The time since which the user waits for staff.
    pub waiting_since: Option<Timestamp>,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The time of the last message.
    pub last_message_at: Option<Timestamp>,
    /// The turn in progress.
    pub running: Option<TurnId>,
    /// `true` if the turn in progress waits for an answer to a tool call.
    pub is_waiting: bool,
    /// The number of queued turns.
    pub waiting: u32,
    /// How many of them report the outcome of a call that staff has decided.
    pub continuations: u32,
    /// The queued turn that starts next.
    pub first_waiting: Option<TurnId>,
}

impl ConversationFacts {
    /// The facts about a conversation in which `turn_count` turns have started and none is open.
    pub fn without_open_turns(
        conversation: &Conversation,
        turn_count: i64,
        agent_version: i64,
    ) -> Self {
        Self {
            agent_id: conversation.agent_id,
            agent_version,
            user_id: conversation.user_id.clone(),
            version: conversation.version,
            last_message_seq: conversation.message_count,
            superseded_count: 0,
            staff_messages: 0,
            visible_message_seq: conversation.message_count,
            turn_count,
            handled_by: conversation.handled_by,
            waiting_since: conversation.waiting_since,
            created_at: conversation.created_at,
            updated_at: conversation.updated_at,
            last_message_at: conversation.last_message_at,
            running: None,
            is_waiting: false,
            waiting: 0,
            continuations: 0,
            first_waiting: None,
        }
    }

    /// Returns whether staff handles it.
    pub fn is_for_staff(&self) -> bool {
        self.handled_by == Handler::Staff
    }

    /// The counts of its messages.
    pub const fn counts(&self) -> MessageCounts {
        MessageCounts {
            last_seq: self.last_message_seq,
            superseded: self.superseded_count,
        }
    }

    /// The number of messages that are not superseded.
    pub const fn message_count(&self) -> i64 {
        self.last_message_seq - self.superseded_count
    }

    /// Returns whether a turn is queued or in progress.
    pub const fn has_open_turns(&self) -> bool {
        self.running.is_some() || self.waiting > 0
    }

    /// Returns the number of queued messages.
    pub const fn queued_messages(&self) -> u32 {
        self.waiting.saturating_sub(self.continuations)
    }
}

/// The facts about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// The time at which it is deleted unless a message or note uses it; `None` once one does.
    pub expires_at: Option<Timestamp>,
    /// The conversations whose messages use it, also deleted ones.
    pub used_in: Vec<ConversationId>,
    /// The conversations whose notes use it, also deleted ones.
    pub noted_in: Vec<ConversationId>,
}

/// The facts about a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialFacts {
    /// The tenant that owns it.
    pub tenant: TenantId,
    /// Its kind.
    pub kind: CredentialKind,
    /// True if it is revoked.
    pub is_revoked: bool,
}

/// A queued or running turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTurn {
    /// The turn.
    pub id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// Its agent.
    pub agent_id: AgentId,
    /// The user that its conversation belongs to.
    pub user_id: Option<String>,
    /// The time of its start, or of its creation if it is queued.
    pub latest_time: Timestamp,
}

/// An event that an attempt in doubt may have written.
#[derive(Debug, Clone, PartialEq)]
pub struct EventInDoubt {
    /// The tenant that owns the log.
    pub tenant: TenantId,
    /// Its position.
    pub seq: Seq,
    /// The type of the event.
    pub kind: EventType,
    /// The time and the actor.
    pub stamp: Stamp,
    /// The agent that it refers to.
    pub agent_id: Option<AgentId>,
    /// The conversation that it refers to.
    pub conversation_id: Option<ConversationId>,
    /// The turn that it refers to.
    pub turn_id: Option<TurnId>,
}
