//! A store in memory, which computes facts and applies rows as a database does.

use std::collections::{BTreeMap, HashMap};

use domain::{
    AgentId, ConversationId, Credential, CredentialId, TenantId, TurnId, TurnStatus, TurnStep,
};
use ports::{
    Conditions, ConversationName, FactsQuery,
    write_store::{
        ConversationFacts, CredentialFacts, CredentialKey, InTenant, OpenTurn, OpenTurnsOf,
        RunningTurn, TurnRow,
    },
};

use super::*;

/// The tables of the model.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) heads: BTreeMap<TenantId, Seq>,
    pub(super) agents: HashMap<InTenant<AgentId>, i64>,
    pub(super) conversations: HashMap<InTenant<ConversationId>, ConversationFacts>,
    pub(super) credentials: HashMap<CredentialId, CredentialFacts>,
    pub(super) whole_credentials: HashMap<CredentialId, Credential>,
    /// The names of existing conversations.
    pub(super) named: HashMap<InTenant<ConversationName>, ConversationId>,
    /// The `seq` of each message of a conversation, and whether it is superseded.
    pub(super) messages: HashMap<InTenant<ConversationId>, BTreeMap<i64, bool>>,
    /// In the order of their ids, which is that of their creation.
    pub(super) turns: BTreeMap<InTenant<TurnId>, TurnRow>,
    /// The entries of journals, by number.
    pub(super) journals: HashMap<InTenant<TurnId>, BTreeMap<usize, TurnStep>>,
    /// The batches that were written with read facts, with known facts, and not at all.
    pub(super) read: usize,
    pub(super) known: usize,
    pub(super) outdated: usize,
    /// True if the store reads heads and agents ahead.
    pub(super) reads_ahead: bool,
    /// The next outcomes of commits with known facts; afterwards, they succeed.
    pub(super) failures: Vec<WriteError>,
}

impl Tables {
    /// Adds the facts of `query`. All nodes are alive, and no idempotency key was used.
    fn read(&self, query: &FactsQuery, facts: &mut Facts) {
        facts.live_nodes.extend(&query.nodes);
        for tenant in &query.tenants {
            facts.heads.insert(tenant.clone(), self.head(tenant));
        }
        for key in query.conversations.iter().chain(&query.new_conversations) {
            let found = self.conversation(key).map(|found| (key.clone(), found));
            facts.conversations.extend(found);
        }
        for key in &query.new_names {
            let found = self.named.get(key).map(|id| (key.clone(), *id));
            facts.named.extend(found);
        }
        for key in &query.open_turns {
            facts.open_turns.insert(key.clone(), self.open_turns(key));
        }
        let credentials = query.credentials.iter().map(|key| &key.id);
        for id in credentials.chain(&query.new_credentials) {
            let found = self
                .credentials
                .get(id)
                .map(|found| (id.clone(), found.clone()));
            facts.credentials.extend(found);
        }
        for id in &query.whole_credentials {
            let found = self.whole_credentials.get(id);
            let found = found.map(|found| (id.clone(), found.clone()));
            facts.whole_credentials.extend(found);
        }
        for key in &query.agents {
            let found = self.agents.get(key).map(|version| (key.clone(), *version));
            facts.agents.extend(found);
        }
        let new_agents = query.new_agents.iter();
        let existing = new_agents.filter(|key| self.agents.contains_key(*key));
        facts.existing_agents.extend(existing.cloned());
        for key in &query.turns {
            let found = self.turns.get(key).map(|turn| (key.clone(), turn.clone()));
            facts.turns.extend(found);
        }
        for key in &query.journals {
            let found = self.journals.get(key);
            let found = found.map(|steps| (key.clone(), steps.values().cloned().collect()));
            facts.journals.extend(found);
        }
        let running = query.running_turns.iter();
        let running = running.filter(|turn| self.is_running(turn));
        facts.running_turns.extend(running.cloned());
    }

    fn head(&self, tenant: &TenantId) -> Seq {
        self.heads.get(tenant).copied().unwrap_or_default()
    }

    fn is_running(&self, turn: &RunningTurn) -> bool {
        let found = self.turns.get(&(turn.tenant.clone(), turn.id));
        found.is_some_and(|row| {
            row.turn.status == TurnStatus::InProgress && row.node == Some(turn.node)
        })
    }

    fn open_turns(&self, (tenant, of): &InTenant<OpenTurnsOf>) -> Vec<OpenTurn> {
        let turns = self.turns.values();
        let open = turns.filter(|row| {
            let conversation = row.turn.conversation_id;
            (&row.tenant, row.turn.agent_id) == (tenant, of.agent)
                && of.conversation.is_none_or(|only| only == conversation)
                && !row.turn.status.is_final()
        });
        open.map(|row| OpenTurn {
            id: row.turn.id,
            conversation_id: row.turn.conversation_id,
            agent_id: row.turn.agent_id,
            user_id: None,
            latest_time: row.turn.latest_time(),
        })
        .collect()
    }

    /// Returns whether all conditions hold.
    fn meets(&self, conditions: &Conditions) -> bool {
        let Conditions {
            heads,
            live_nodes: _,
            unused_keys: _,
            unused_names,
            valid_credentials,
            running_turns,
        } = conditions;
        let is_valid = |key: &CredentialKey| {
            let valid = CredentialFacts {
                tenant: key.tenant.clone(),
                kind: key.kind,
                is_revoked: false,
            };
            self.credentials.get(&key.id) == Some(&valid)
        };
        heads
            .iter()
            .all(|(tenant, head)| self.head(tenant) == *head)
            && unused_names
                .iter()
                .all(|name| !self.named.contains_key(name))
            && valid_credentials.iter().all(is_valid)
            && running_turns.iter().all(|turn| self.is_running(turn))
    }

    /// The facts of a conversation, with its open turns.
    pub(super) fn conversation(&self, key: &InTenant<ConversationId>) -> Option<ConversationFacts> {
        let stored = self.conversations.get(key)?;
        let turns = || {
            let turns = self.turns.values();
            turns.filter(|row| (&row.tenant, row.turn.conversation_id) == (&key.0, key.1))
        };
        let of = |status| turns().filter(move |row| row.turn.status == status);
        let messages = self.messages.get(key).into_iter().flatten();
        let visible = messages.filter(|(_, is_superseded)| !**is_superseded);
        let first_waiting = of(TurnStatus::Queued).min_by_key(|row| row.queued_seq);
        Some(ConversationFacts {
            agent_version: self.agents[&(key.0.clone(), stored.agent_id)],
            visible_message_seq: visible.map(|(seq, _)| *seq).max().unwrap_or(0),
            running: of(TurnStatus::InProgress).next().map(|row| row.turn.id),
            waiting: u32::try_from(of(TurnStatus::Queued).count()).unwrap(),
            continuations: 0,
            first_waiting: first_waiting.map(|row| row.turn.id),
            ..stored.clone()
        })
    }
}

/// The model. Clones share the tables.
#[derive(Clone, Default)]
pub(super) struct ModelStore(pub(super) Arc<Mutex<Tables>>);

#[async_trait]
impl WriteStore for ModelStore {
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        _lane: Lane,
    ) -> Result<Transacted, WriteError> {
        let mut tables = self.0.lock();
        let mut facts = Facts::default();
        for round in 0.. {
            match decision.decide(round, &facts) {
                Decided::Read(query) => tables.read(&query, &mut facts),
                Decided::Write(rows) => {
                    tables.apply(&rows);
                    tables.read += 1;
                    return Ok(Transacted { facts, rows });
                }
            }
        }
        panic!("the decision has no end")
    }

    async fn read_ahead(&self, query: &FactsQuery) -> Result<Option<Facts>, WriteError> {
        let mut tables = self.0.lock();
        if tables.reads_ahead
            && let Some(failure) = tables.failures.pop()
        {
            return Err(failure);
        }
        let query = FactsQuery {
            tenants: query.tenants.clone(),
            agents: query.agents.clone(),
            ..FactsQuery::default()
        };
        let mut facts = Facts::default();
        tables.read(&query, &mut facts);
        Ok(tables.reads_ahead.then_some(facts))
    }

    async fn write_if(&self, write: Arc<ConditionalRows>) -> Result<bool, WriteError> {
        let mut tables = self.0.lock();
        if let Some(failure) = tables.failures.pop() {
            return Err(failure);
        }
        if !tables.meets(&write.conditions) {
            tables.outdated += 1;
            return Ok(false);
        }
        tables.apply(&write.rows);
        tables.known += 1;
        Ok(true)
    }

    fn spawn(&self, writer: BoxFuture<'static, ()>) {
        Handle::current().spawn(writer);
    }
}
