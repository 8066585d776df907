//! The keys of the facts that a batch needs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::{AgentId, ConversationId, CredentialId, NodeId, Seq, TenantId, TurnId};
use ports::{ConversationName, ConversationTarget};

use super::{ConversationFacts, Facts, InTenant, RecordKey};
use crate::{TurnRow, WriteOp};

/// The keys of the facts that a batch needs. No list contains duplicates.
#[derive(Debug, Clone, Default)]
pub struct FactsQuery {
    /// The tenants to lock, in the order of their ids.
    pub tenants: BTreeSet<TenantId>,
    /// The conversations that the batch creates, changes or copies.
    pub conversations: Vec<InTenant<ConversationId>>,
    /// The conversations whose first queued turn may be started.
    pub promotions: HashSet<InTenant<ConversationId>>,
    /// The conversations to delete, whose open turns are read.
    pub deletions: HashSet<InTenant<ConversationId>>,
    /// The names of new conversations.
    pub names: Vec<InTenant<ConversationName>>,
    /// The agents of new conversations, and the agents to update.
    pub agents: HashSet<InTenant<AgentId>>,
    /// The agents to create.
    pub new_agents: Vec<InTenant<AgentId>>,
    /// The agents to create or to update.
    pub changed_agents: Vec<InTenant<AgentId>>,
    /// The credentials to create or to revoke.
    pub credentials: BTreeSet<CredentialId>,
    /// The turns to end.
    pub ended: Vec<InTenant<TurnId>>,
    /// Idempotency keys.
    pub idempotency: Vec<RecordKey>,
    /// The nodes that are to run a turn.
    pub nodes: BTreeSet<NodeId>,
    /// The head of each tenant's log before the first attempt whose commit outcome is unknown.
    /// Later events of `conversations` and `changed_agents` are read, too.
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
        self.tenants.insert(tenant.clone());
        self.idempotency.extend(op.idempotency_key());
        let conversation = op.conversation_id().map(|id| (tenant.clone(), id));
        self.conversations.extend(conversation);
        let copied = op.copied_conversation().map(|id| (tenant.clone(), id));
        self.conversations.extend(copied);
        self.names
            .extend(op.new_name().map(|name| (tenant.clone(), name)));
        let changed_agent = op.changed_agent().map(|id| (tenant.clone(), id));
        self.changed_agents.extend(changed_agent);
        if let Some(begin) = op.begin_turn() {
            let agent = (tenant.clone(), begin.agent_id);
            match begin.target {
                ConversationTarget::New(_) => drop(self.agents.insert(agent)),
                ConversationTarget::Existing { .. } => {
                    let conversation = (tenant.clone(), begin.target.id());
                    self.begins_in_existing.push((conversation, agent));
                }
            }
        }
        match op {
            WriteOp::Begin(begin) => drop(self.nodes.insert(begin.node)),
            WriteOp::Finish(finish) => {
                let conversation = (tenant.clone(), finish.conversation_id);
                if finish.promote {
                    self.nodes.insert(finish.node);
                    self.promotions.insert(conversation.clone());
                }
                self.ended.push((tenant.clone(), finish.turn_id));
                self.ended_in.push(conversation);
            }
            WriteOp::CreateAgent(create) => {
                self.new_agents.push((tenant.clone(), create.agent.id));
            }
            WriteOp::CreateConversation(create) => {
                let agent = (tenant.clone(), create.conversation.agent_id);
                self.agents.insert(agent);
            }
            WriteOp::UpdateAgent(update) => {
                self.agents.insert((tenant.clone(), update.agent.id));
            }
            WriteOp::DeleteConversation(delete) => {
                self.deletions.insert((tenant.clone(), delete.id));
            }
            WriteOp::CreateCredential(create) => {
                self.credentials.insert(create.credential.id.clone());
            }
            WriteOp::RevokeCredential(revoke) => {
                self.credentials.insert(revoke.id.clone());
            }
            WriteOp::CompletedTurn(_) | WriteOp::UpdateConversation(_) => {}
        }
    }

    /// The conversations to delete that have open turns, with their agents.
    pub fn deletions_with_open_turns(
        &self,
        found: &HashMap<InTenant<ConversationId>, ConversationFacts>,
    ) -> Vec<(InTenant<ConversationId>, AgentId)> {
        let deletions = self.deletions.iter().filter_map(|key| {
            let facts = found.get(key).filter(|facts| facts.has_open_turns())?;
            Some((key.clone(), facts.agent_id))
        });
        deletions.collect()
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

    /// The turns to read once conversations, keys and events are known: the next turn of each
    /// promotion, the running turns of conversations in which a turn ends, the failed turns that
    /// have released a key, and the turns that an attempt in doubt may have written.
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
        let released = facts
            .idempotency
            .iter()
            .filter_map(|(key, record)| Some((key.tenant.clone(), record.released_by?)));
        let turns = waiting.chain(running).chain(logged).chain(released);
        let mut turns: HashSet<_> = turns.collect();
        for known in &self.ended {
            turns.remove(known);
        }
        turns.into_iter().collect()
    }
}
