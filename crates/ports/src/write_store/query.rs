//! The keys of the facts that a decision needs.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use domain::{
    AgentId, ConversationId, CredentialId, CredentialKind, FileId, NodeId, Seq, TenantId, TurnId,
};

use super::{FeedbackKey, InTenant, NoteKey, RecordKey, UploadDay};
use crate::ConversationName;

/// The keys of the facts that a decision needs. No list contains duplicates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FactsQuery {
    /// The tenants to lock, in the order of their ids. Only the first query of a decision names any.
    pub tenants: BTreeSet<TenantId>,
    /// Agents, for their versions.
    pub agents: HashSet<InTenant<AgentId>>,
    /// The ids of agents to create.
    pub new_agents: Vec<InTenant<AgentId>>,
    /// Conversations.
    pub conversations: HashSet<InTenant<ConversationId>>,
    /// The ids of conversations to create.
    pub new_conversations: Vec<InTenant<ConversationId>>,
    /// The names that conversations are to get.
    pub new_names: Vec<InTenant<ConversationName>>,
    /// Turns, with their replies.
    pub turns: HashSet<InTenant<TurnId>>,
    /// The agents and conversations whose open turns are read.
    pub open_turns: Vec<InTenant<OpenTurnsOf>>,
    /// Credentials.
    pub credentials: HashSet<CredentialKey>,
    /// The ids of credentials to create.
    pub new_credentials: Vec<CredentialId>,
    /// Those of the credentials that are read as a whole, because their content changes.
    pub whole_credentials: HashSet<CredentialId>,
    /// Users, by their ids.
    pub users: HashSet<InTenant<String>>,
    /// Notes.
    pub notes: HashSet<NoteKey>,
    /// Files, for their uses.
    pub files: HashSet<InTenant<FileId>>,
    /// The days on which uploads are counted.
    pub uploads: HashSet<UploadDay>,
    /// Ratings of messages.
    pub feedback: HashSet<InTenant<FeedbackKey>>,
    /// Idempotency keys.
    pub idempotency: Vec<RecordKey>,
    /// The nodes that are to run a turn.
    pub nodes: BTreeSet<NodeId>,
    /// The events that an earlier attempt may have written.
    pub logged: Option<LoggedQuery>,
    /// The turns to fail, to start or to resume in a tenant.
    pub swept: Option<SweptQuery>,
    /// Turns, for their journals.
    pub journals: HashSet<InTenant<TurnId>>,
    /// Turns that must be in progress under these nodes. Their tenants are locked, too, if the query
    /// is the first one.
    pub running_turns: Vec<RunningTurn>,
}

impl FactsQuery {
    /// Returns the tenants to lock, in the order of their ids.
    pub fn locked_tenants(&self) -> BTreeSet<&TenantId> {
        let of_turns = self.running_turns.iter().map(|turn| &turn.tenant);
        self.tenants.iter().chain(of_turns).collect()
    }

    /// Returns whether it names nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The turns that are read together: those of an agent, or only those in one conversation with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpenTurnsOf {
    /// The agent.
    pub agent: AgentId,
    /// The conversation.
    pub conversation: Option<ConversationId>,
}

/// A credential of a tenant and of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CredentialKey {
    /// Its id.
    pub id: CredentialId,
    /// The tenant that owns it.
    pub tenant: TenantId,
    /// Its kind.
    pub kind: CredentialKind,
}

/// The events after some heads that belong to some conversations or agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedQuery {
    /// The head of each tenant's log before the first attempt.
    pub since: BTreeMap<TenantId, Seq>,
    /// The conversations.
    pub conversations: Vec<ConversationId>,
    /// The agents that were created or changed.
    pub agents: Vec<AgentId>,
}

/// A turn that is in progress under a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunningTurn {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// The node: the fencing token.
    pub node: NodeId,
}

/// The turns without a live node and the queued turns of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptQuery {
    /// The tenant.
    pub tenant: TenantId,
    /// The maximum time for which a turn may be queued, by the store's clock.
    pub max_wait: Duration,
    /// The maximum number of lost turns, and of conversations with queued ones.
    pub limit: usize,
}
