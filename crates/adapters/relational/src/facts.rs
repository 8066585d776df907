//! What a batch must know before it is decided.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::{
    AgentId, ConversationId, EventType, IdempotencyClaim, IdempotencyRecord, NodeId, PrincipalId,
    Seq, TenantId, Timestamp, TurnId, idempotency::RETENTION,
};
use ports::ExchangeTarget;

use crate::{Item, TurnRow};

/// An id together with the tenant in which it is looked for.
pub type InTenant<Id> = (TenantId, Id);

/// Names an idempotency record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClaimKey {
    /// Whose data.
    pub tenant: TenantId,
    /// Whose key.
    pub principal: PrincipalId,
    /// The operation it is for.
    pub operation: String,
    /// The client's key.
    pub key: String,
}

impl ClaimKey {
    /// The record that `claim` would make.
    pub fn of(tenant: &TenantId, claim: &IdempotencyClaim) -> Self {
        Self {
            tenant: tenant.clone(),
            principal: claim.principal.clone(),
            operation: claim.operation.to_owned(),
            key: claim.key.as_str().to_owned(),
        }
    }
}

/// Whether a record still counts for a claim made at `now`.
pub fn is_remembered(record: &IdempotencyRecord, now: Timestamp) -> bool {
    now < record.created_at + RETENTION
}

/// What is to be looked up for a batch. No list holds anything twice.
#[derive(Debug, Default)]
pub struct FactsQuery {
    /// The tenants to be locked, in id order.
    pub tenants: BTreeSet<TenantId>,
    /// Conversations that should exist.
    pub conversations: Vec<InTenant<ConversationId>>,
    /// Those of them whose first waiting turn may be promoted.
    pub promotions: HashSet<InTenant<ConversationId>>,
    /// Agents with whom a conversation is begun.
    pub agents: HashSet<InTenant<AgentId>>,
    /// Turns to be ended.
    pub ended: Vec<InTenant<TurnId>>,
    /// Idempotency keys.
    pub claims: Vec<ClaimKey>,
    /// Processes that want to run something.
    pub nodes: BTreeSet<NodeId>,
    /// Where each tenant's log stood before the first attempt whose commit got no answer; events
    /// after it that speak of `conversations` are to be read.
    pub logged_since: BTreeMap<TenantId, Seq>,
    /// Questions in conversations that should exist.
    questions: Vec<(InTenant<ConversationId>, InTenant<AgentId>)>,
    /// Where turns are ended: what runs there may be what an end promoted that is told again.
    ended_in: Vec<InTenant<ConversationId>>,
}

impl FactsQuery {
    /// What `items` need. `doubt` holds the heads before the first attempt when an earlier one may
    /// have been committed.
    pub fn of(items: &[Item], doubt: Option<&BTreeMap<TenantId, Seq>>) -> Self {
        let mut query = Self {
            logged_since: doubt.cloned().unwrap_or_default(),
            ..Self::default()
        };
        for item in items {
            query.add(item);
        }
        query
    }

    fn add(&mut self, item: &Item) {
        let tenant = item.tenant();
        let conversation = (tenant.clone(), item.conversation_id());
        self.tenants.insert(tenant.clone());
        self.claims.extend(item.claim_key());
        if let Some(question) = item.question() {
            let agent = (tenant.clone(), question.agent_id);
            match question.target {
                ExchangeTarget::New(_) => drop(self.agents.insert(agent)),
                ExchangeTarget::Existing { .. } => {
                    self.questions.push((conversation.clone(), agent));
                }
            }
        }
        match item {
            Item::Begin(begin) => drop(self.nodes.insert(begin.node)),
            Item::Finish(finish) if finish.promote => {
                self.nodes.insert(finish.node);
                self.promotions.insert(conversation.clone());
            }
            Item::Exchange(_) | Item::Finish(_) => {}
        }
        if matches!(item, Item::Finish(_)) {
            self.ended.push((tenant.clone(), item.turn_id()));
            self.ended_in.push(conversation.clone());
        }
        self.conversations.push(conversation);
    }

    /// The agents that must be looked up too, once the conversations are known: those of
    /// conversations that are not there (a conversation tells its own agent's version).
    pub fn more_agents(
        &self,
        found: &HashMap<InTenant<ConversationId>, ConversationFacts>,
    ) -> Vec<InTenant<AgentId>> {
        let agents: HashSet<_> = self
            .questions
            .iter()
            .filter(|(conversation, agent)| {
                found.get(conversation).map(|facts| facts.agent_id) != Some(agent.1)
                    && !self.agents.contains(agent)
            })
            .map(|(_, agent)| agent.clone())
            .collect();
        agents.into_iter().collect()
    }

    /// The turns that must be looked up too, once conversations and events are known: those that
    /// wait where one may be promoted, those that run where one is ended, and those that an attempt
    /// in doubt started.
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

/// What a store found, all of it read under the lock of the tenants in `heads`. What is deleted
/// is not in it.
#[derive(Debug, Default)]
pub struct Facts {
    /// The newest event of each tenant that exists.
    pub heads: BTreeMap<TenantId, Seq>,
    /// Versions of agents.
    pub agents: HashMap<InTenant<AgentId>, i64>,
    /// Conversations.
    pub conversations: HashMap<InTenant<ConversationId>, ConversationFacts>,
    /// Turns, with their replies: those to be ended, and those that
    /// [`FactsQuery::more_turns`] names.
    pub turns: HashMap<InTenant<TurnId>, TurnRow>,
    /// What keys were used for.
    pub claims: HashMap<ClaimKey, IdempotencyRecord>,
    /// Processes that are registered and not marked as dead.
    pub live_nodes: HashSet<NodeId>,
    /// Events that an attempt in doubt may have written, by position.
    pub logged: Vec<EventInDoubt>,
}

impl Facts {
    /// The version of an agent that exists.
    pub(crate) fn agent_version(&self, question: &ports::BeginTurn) -> Option<i64> {
        let agent = (question.tenant.clone(), question.agent_id);
        let by_conversation = || {
            self.conversation(&question.tenant, question.target.id())
                .filter(|found| found.agent_id == question.agent_id)
                .map(|found| found.agent_version)
        };
        self.agents.get(&agent).copied().or_else(by_conversation)
    }

    /// A conversation that exists.
    pub(crate) fn conversation(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Option<&ConversationFacts> {
        self.conversations.get(&(tenant.clone(), id))
    }

    /// A turn, whatever its status.
    pub(crate) fn turn(&self, tenant: &TenantId, id: TurnId) -> Option<&TurnRow> {
        self.turns.get(&(tenant.clone(), id))
    }

    /// What the claim's key was used for, if that is still remembered.
    pub fn used(&self, tenant: &TenantId, claim: &IdempotencyClaim) -> Option<&IdempotencyRecord> {
        self.claims
            .get(&ClaimKey::of(tenant, claim))
            .filter(|record| is_remembered(record, claim.created_at))
    }
}

/// What must be known of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationFacts {
    /// The agent that answers in it.
    pub agent_id: AgentId,
    /// The agent's version now.
    pub agent_version: i64,
    /// The person it belongs to.
    pub user_id: Option<String>,
    /// Messages so far.
    pub message_count: i64,
    /// Turns that have started so far.
    pub turn_count: i64,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
    /// The turn in progress.
    pub running: Option<TurnId>,
    /// How many turns wait.
    pub waiting: u32,
    /// The one that waits longest.
    pub first_waiting: Option<TurnId>,
}

/// An event that may be the work of an attempt in doubt.
#[derive(Debug, Clone, PartialEq)]
pub struct EventInDoubt {
    /// Whose log.
    pub tenant: TenantId,
    /// Its position.
    pub seq: Seq,
    /// What happened.
    pub kind: EventType,
    /// The conversation it concerns.
    pub conversation_id: Option<ConversationId>,
    /// The turn it concerns.
    pub turn_id: Option<TurnId>,
}
