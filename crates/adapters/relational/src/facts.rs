//! The facts that a store must read before a batch is planned.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::{
    AgentId, ConversationId, EventType, IdempotencyEntry, IdempotencyRecord, NodeId, PrincipalId,
    Seq, TenantId, Timestamp, TurnId, idempotency::RETENTION,
};
use ports::ConversationTarget;

use crate::{TurnRow, WriteOp};

/// An id and the tenant that it belongs to.
pub type InTenant<Id> = (TenantId, Id);

/// The key of an idempotency record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClaimKey {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The principal that sent the key.
    pub principal: PrincipalId,
    /// The operation that the key belongs to.
    pub operation: String,
    /// The client's key.
    pub key: String,
}

impl ClaimKey {
    /// The key of the record that `claim` would create.
    pub fn new(tenant: &TenantId, claim: &IdempotencyEntry) -> Self {
        Self {
            tenant: tenant.clone(),
            principal: claim.principal.clone(),
            operation: claim.operation.to_owned(),
            key: claim.key.as_str().to_owned(),
        }
    }
}

/// Whether a record still applies to a claim made at `now`.
pub fn is_within_retention(record: &IdempotencyRecord, now: Timestamp) -> bool {
    now < record.created_at + RETENTION
}

/// The keys of the facts that a batch needs. No list contains duplicates.
#[derive(Debug, Default)]
pub struct FactsQuery {
    /// The tenants to lock, in the order of their ids.
    pub tenants: BTreeSet<TenantId>,
    /// The conversations that the batch assumes to exist.
    pub conversations: Vec<InTenant<ConversationId>>,
    /// The conversations whose first queued turn may be started.
    pub promotions: HashSet<InTenant<ConversationId>>,
    /// The agents of new conversations.
    pub agents: HashSet<InTenant<AgentId>>,
    /// The turns to end.
    pub ended: Vec<InTenant<TurnId>>,
    /// Idempotency keys.
    pub claims: Vec<ClaimKey>,
    /// The nodes that are to run a turn.
    pub nodes: BTreeSet<NodeId>,
    /// The head of each tenant's log before the first attempt whose commit outcome is unknown.
    /// Later events of `conversations` are read, too.
    pub logged_since: BTreeMap<TenantId, Seq>,
    /// The conversations and agents of turns that begin in existing conversations.
    begins_in_existing: Vec<(InTenant<ConversationId>, InTenant<AgentId>)>,
    /// The conversations of the turns to end. The turn that runs there now may have been started
    /// by an earlier attempt to end the same turn.
    ended_in: Vec<InTenant<ConversationId>>,
}

impl FactsQuery {
    /// Collects the keys of the facts that `ops` need. `in_doubt_since` contains the heads before
    /// the first attempt, if an earlier attempt may have been committed.
    pub fn new(ops: &[WriteOp], in_doubt_since: Option<&BTreeMap<TenantId, Seq>>) -> Self {
        let mut query = Self {
            logged_since: in_doubt_since.cloned().unwrap_or_default(),
            ..Self::default()
        };
        for op in ops {
            query.add(op);
        }
        query
    }

    /// Collects the keys of the facts for ending `row` from outside. `node` is the node on which
    /// the next queued turn is to start.
    pub fn for_ending(row: &TurnRow, node: Option<NodeId>) -> Self {
        let conversation = (row.tenant.clone(), row.turn.conversation_id);
        let mut query = Self::default();
        query.tenants.insert(row.tenant.clone());
        query.conversations.push(conversation.clone());
        if let Some(node) = node {
            query.promotions.insert(conversation);
            query.nodes.insert(node);
        }
        query
    }

    fn add(&mut self, op: &WriteOp) {
        let tenant = op.tenant();
        let conversation = (tenant.clone(), op.conversation_id());
        self.tenants.insert(tenant.clone());
        self.claims.extend(op.claim_key());
        if let Some(begin) = op.begin_turn() {
            let agent = (tenant.clone(), begin.agent_id);
            match begin.target {
                ConversationTarget::New(_) => drop(self.agents.insert(agent)),
                ConversationTarget::Existing { .. } => {
                    self.begins_in_existing.push((conversation.clone(), agent));
                }
            }
        }
        match op {
            WriteOp::Begin(begin) => drop(self.nodes.insert(begin.node)),
            WriteOp::Finish(finish) if finish.promote => {
                self.nodes.insert(finish.node);
                self.promotions.insert(conversation.clone());
            }
            WriteOp::CompletedTurn(_) | WriteOp::Finish(_) => {}
        }
        if matches!(op, WriteOp::Finish(_)) {
            self.ended.push((tenant.clone(), op.turn_id()));
            self.ended_in.push(conversation.clone());
        }
        self.conversations.push(conversation);
    }

    /// The agents to read once the conversations are known: those that are not the agent of the
    /// conversation found. A conversation's own agent version is read with the conversation.
    pub fn more_agents(
        &self,
        found: &HashMap<InTenant<ConversationId>, ConversationFacts>,
    ) -> Vec<InTenant<AgentId>> {
        let agents: HashSet<_> = self
            .begins_in_existing
            .iter()
            .filter(|(conversation, agent)| {
                found.get(conversation).map(|facts| facts.agent_id) != Some(agent.1)
                    && !self.agents.contains(agent)
            })
            .map(|(_, agent)| agent.clone())
            .collect();
        agents.into_iter().collect()
    }

    /// The turns to read once conversations and events are known: the next turn of each promotion,
    /// the running turns of conversations in which a turn ends, and the turns that an attempt in
    /// doubt may have written.
    pub fn more_turns(&self, facts: &Facts) -> Vec<InTenant<TurnId>> {
        let waiting = self.promotions.iter().filter_map(|key| {
            let conversation = facts.conversations.get(key)?;
            Some((key.0.clone(), conversation.first_waiting?))
        });
        let running = self.ended_in.iter().filter_map(|key| {
            let conversation = facts.conversations.get(key)?;
            Some((key.0.clone(), conversation.running?))
        });
        let logged = facts
            .logged
            .iter()
            .filter_map(|event| Some((event.tenant.clone(), event.turn_id?)));
        let mut turns: HashSet<_> = waiting.chain(running).chain(logged).collect();
        for known in &self.ended {
            turns.remove(known);
        }
        turns.into_iter().collect()
    }
}

/// The facts that a store has read under the lock of the tenants in `heads`. Deleted entities are
/// not contained.
#[derive(Debug, Default)]
pub struct Facts {
    /// The newest event of each tenant that exists.
    pub heads: BTreeMap<TenantId, Seq>,
    /// The versions of agents.
    pub agents: HashMap<InTenant<AgentId>, i64>,
    /// Conversations.
    pub conversations: HashMap<InTenant<ConversationId>, ConversationFacts>,
    /// Turns with their replies: the turns to end, and those that [`FactsQuery::more_turns`]
    /// returns.
    pub turns: HashMap<InTenant<TurnId>, TurnRow>,
    /// The idempotency records of used keys.
    pub claims: HashMap<ClaimKey, IdempotencyRecord>,
    /// The nodes that are registered and not marked as dead.
    pub live_nodes: HashSet<NodeId>,
    /// The events that an attempt in doubt may have written, by position.
    pub logged: Vec<EventInDoubt>,
}

impl Facts {
    /// The version of the agent, if it exists.
    pub(crate) fn agent_version(&self, begin: &ports::BeginTurn) -> Option<i64> {
        let agent = (begin.tenant.clone(), begin.agent_id);
        let by_conversation = || {
            self.conversation(&begin.tenant, begin.target.id())
                .filter(|found| found.agent_id == begin.agent_id)
                .map(|found| found.agent_version)
        };
        self.agents.get(&agent).copied().or_else(by_conversation)
    }

    /// The conversation, if it exists.
    pub(crate) fn conversation(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Option<&ConversationFacts> {
        self.conversations.get(&(tenant.clone(), id))
    }

    /// The turn, in any status.
    pub(crate) fn turn(&self, tenant: &TenantId, id: TurnId) -> Option<&TurnRow> {
        self.turns.get(&(tenant.clone(), id))
    }

    /// The record of an earlier use of the claim's key, if it is within its retention time.
    pub fn existing_record(
        &self,
        tenant: &TenantId,
        claim: &IdempotencyEntry,
    ) -> Option<&IdempotencyRecord> {
        self.claims
            .get(&ClaimKey::new(tenant, claim))
            .filter(|record| is_within_retention(record, claim.created_at))
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
    /// The number of messages.
    pub message_count: i64,
    /// The number of turns that have started.
    pub turn_count: i64,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The turn in progress.
    pub running: Option<TurnId>,
    /// The number of queued turns.
    pub waiting: u32,
    /// The queued turn that starts next.
    pub first_waiting: Option<TurnId>,
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
    /// The conversation that it refers to.
    pub conversation_id: Option<ConversationId>,
    /// The turn that it refers to.
    pub turn_id: Option<TurnId>,
}
