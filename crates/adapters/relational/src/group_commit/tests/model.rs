//! A store in memory, which computes facts and applies rows as a database does.

use std::collections::{BTreeMap, HashMap};

use domain::{AgentId, ConversationId, CredentialId, TurnId, TurnStatus};
use parking_lot::Mutex;
use ports::ConversationName;

use super::*;
use crate::{ConversationFacts, CredentialFacts, InTenant, TurnRow, plan::TurnToCancel};

/// The tables of the model.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) heads: BTreeMap<TenantId, Seq>,
    pub(super) agents: HashMap<InTenant<AgentId>, i64>,
    pub(super) conversations: HashMap<InTenant<ConversationId>, ConversationFacts>,
    pub(super) credentials: HashMap<CredentialId, CredentialFacts>,
    /// The names of existing conversations.
    pub(super) named: HashMap<InTenant<ConversationName>, ConversationId>,
    /// The `seq` of each message of a conversation, and whether it is superseded.
    pub(super) messages: HashMap<InTenant<ConversationId>, BTreeMap<i64, bool>>,
    /// In the order of their ids, which is that of their creation.
    pub(super) turns: BTreeMap<InTenant<TurnId>, TurnRow>,
    /// The batches that were written with read facts, with known facts, and not at all.
    pub(super) read: usize,
    pub(super) known: usize,
    pub(super) outdated: usize,
    /// True if the store reads heads and agents ahead.
    pub(super) reads_ahead: bool,
    /// The next outcomes of commits with known facts; afterwards, they succeed.
    pub(super) failures: Vec<BatchError>,
}

impl Tables {
    fn facts(&self, query: &FactsQuery) -> Facts {
        let mut facts = Facts {
            live_nodes: query.nodes.iter().copied().collect(),
            ..Facts::default()
        };
        for tenant in &query.tenants {
            let head = self.heads.get(tenant).copied().unwrap_or_default();
            facts.heads.insert(tenant.clone(), head);
        }
        for key in &query.conversations {
            if let Some(conversation) = self.conversation(key) {
                facts.conversations.insert(key.clone(), conversation);
            }
        }
        for key in &query.names {
            if let Some(id) = self.named.get(key) {
                facts.named.insert(key.clone(), *id);
            }
        }
        for (key, _) in query.deletions_with_open_turns(&facts.conversations) {
            let open = self.open_turns(&key);
            facts.open_turns.insert(key, open);
        }
        for id in &query.credentials {
            if let Some(credential) = self.credentials.get(id) {
                facts.credentials.insert(id.clone(), credential.clone());
            }
        }
        let others = query.more_agents(&facts.conversations);
        for key in query.agents.iter().chain(&others) {
            if let Some(version) = self.agents.get(key) {
                facts.agents.insert(key.clone(), *version);
            }
        }
        let new_agents = query.new_agents.iter();
        let existing = new_agents.filter(|key| self.agents.contains_key(*key));
        facts.existing_agents = existing.cloned().collect();
        let others = query.more_turns(&facts);
        for key in query.ended.iter().chain(&others) {
            if let Some(turn) = self.turns.get(key) {
                facts.turns.insert(key.clone(), turn.clone());
            }
        }
        facts
    }

    fn open_turns(&self, key: &InTenant<ConversationId>) -> Vec<TurnToCancel> {
        let turns = self.turns.values();
        let open = turns.filter(|row| {
            (&row.tenant, row.turn.conversation_id) == (&key.0, key.1)
                && !row.turn.status.is_final()
        });
        open.map(|row| TurnToCancel {
            id: row.turn.id,
            conversation_id: key.1,
            agent_id: row.turn.agent_id,
            user_id: None,
            latest_time: row.turn.latest_time(),
        })
        .collect()
    }

    /// Returns whether the credentials that a batch revokes exist and are not revoked.
    fn has_valid(&self, credentials: &HashMap<CredentialId, CredentialFacts>) -> bool {
        let mut credentials = credentials.iter();
        credentials.all(|(id, facts)| self.credentials.get(id) == Some(facts))
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
            first_waiting: first_waiting.map(|row| row.turn.id),
            ..stored.clone()
        })
    }

    fn apply(&mut self, rows: &Rows) {
        for row in &rows.agents {
            let key = (row.tenant.clone(), row.agent.id);
            assert_eq!(self.agents.insert(key, row.agent.version), None);
        }
        for row in &rows.agent_updates {
            let key = (row.tenant.clone(), row.agent.id);
            let before = self.agents.insert(key, row.agent.version);
            assert_eq!(before, Some(row.agent.version - 1));
        }
        for row in &rows.credentials {
            let facts = CredentialFacts {
                tenant: row.tenant.clone(),
                kind: row.kind,
                is_revoked: false,
            };
            assert_eq!(self.credentials.insert(row.id.clone(), facts), None);
        }
        for row in &rows.revocations {
            let credential = self.credentials.get_mut(&row.id).expect("it exists");
            credential.is_revoked = true;
        }
        for row in &rows.conversations {
            let conversation = &row.conversation;
            let facts = ConversationFacts::without_open_turns(conversation, row.turn_count, 0);
            let key = (row.tenant.clone(), conversation.id);
            if let Some(name) = ConversationName::of(conversation) {
                let name = (row.tenant.clone(), name);
                assert_eq!(self.named.insert(name, conversation.id), None);
            }
            self.conversations.insert(key, facts);
        }
        for row in &rows.advances {
            let key = (row.tenant.clone(), row.id);
            let facts = self.conversations.get_mut(&key).expect("it exists");
            facts.last_message_seq = row.last_message_seq;
            facts.superseded_count = row.superseded_count;
            facts.turn_count = row.turn_count;
            facts.updated_at = row.updated_at;
            facts.last_message_at = row.last_message_at.or(facts.last_message_at);
        }
        for row in &rows.conversation_updates {
            let key = (row.tenant.clone(), row.conversation.id);
            let facts = self.conversations.get_mut(&key).expect("it exists");
            facts.version = row.conversation.version;
            facts.updated_at = row.conversation.updated_at;
        }
        for row in &rows.conversation_deletions {
            let key = (row.tenant.clone(), row.id);
            self.conversations.remove(&key);
            self.messages.remove(&key);
            self.named.retain(|_, id| *id != row.id);
        }
        self.apply_turns(rows);
        self.apply_messages(rows);
        self.heads.extend(rows.heads.iter().cloned());
    }

    fn apply_messages(&mut self, rows: &Rows) {
        for row in &rows.copies {
            let messages = self.messages.get(&(row.tenant.clone(), row.from));
            let copied = messages.into_iter().flatten();
            let copied =
                copied.filter(|(seq, is_superseded)| **seq <= row.to_seq && !**is_superseded);
            let copied = (1..).zip(copied).map(|(seq, _)| (seq, false)).collect();
            self.messages.insert((row.tenant.clone(), row.into), copied);
        }
        for row in &rows.superseded {
            let key = (row.tenant.clone(), row.conversation_id);
            let messages = self.messages.get_mut(&key).expect("it has messages");
            for is_superseded in messages.range_mut(row.from_seq..).map(|(_, it)| it) {
                *is_superseded = true;
            }
        }
        for row in &rows.messages {
            let key = (row.tenant.clone(), row.message.conversation_id);
            let messages = self.messages.entry(key).or_default();
            assert_eq!(messages.insert(row.message.seq, false), None);
        }
    }

    fn apply_turns(&mut self, rows: &Rows) {
        for row in &rows.turns {
            let key = (row.tenant.clone(), row.turn.id);
            self.turns.insert(key, row.clone());
        }
        for row in &rows.ends {
            let key = (row.tenant.clone(), row.id);
            let turn = self.turns.get_mut(&key).expect("it exists");
            turn.turn.status = row.status;
            turn.turn.error.clone_from(&row.error);
            turn.turn.finished_at = Some(row.finished_at);
        }
        for row in &rows.starts {
            let key = (row.tenant.clone(), row.id);
            let turn = self.turns.get_mut(&key).expect("it exists");
            turn.turn.status = TurnStatus::InProgress;
            turn.turn.agent_version = Some(row.agent_version);
            turn.turn.started_at = Some(row.started_at);
            turn.node = Some(row.node);
            turn.turn_number = Some(row.turn_number);
            turn.message_seq = Some(row.message_seq);
        }
    }
}

/// The model. Clones share the tables.
#[derive(Clone, Default)]
pub(super) struct ModelStore(pub(super) Arc<Mutex<Tables>>);

#[async_trait]
impl BatchStore for ModelStore {
    async fn commit(
        &mut self,
        ops: Arc<[WriteOp]>,
        in_doubt_since: Option<&HeadsBefore>,
    ) -> Result<CommittedBatch, BatchError> {
        let mut tables = self.0.lock();
        let facts = tables.facts(&FactsQuery::new(&ops, in_doubt_since));
        let crate::Plan { rows, outcomes } = crate::plan(&ops, &facts);
        tables.apply(&rows);
        tables.read += 1;
        Ok(CommittedBatch {
            outcomes,
            facts,
            rows,
        })
    }

    async fn read_ahead(&mut self, query: &FactsQuery) -> Result<Option<Facts>, BatchError> {
        let tables = self.0.lock();
        let Facts { heads, agents, .. } = tables.facts(query);
        let read = Facts {
            heads,
            agents,
            ..Facts::default()
        };
        Ok(tables.reads_ahead.then_some(read))
    }

    async fn commit_if_current(&mut self, batch: Arc<PlannedBatch>) -> Result<bool, BatchError> {
        let mut tables = self.0.lock();
        if let Some(failure) = tables.failures.pop() {
            return Err(failure);
        }
        let stored = tables.facts(&batch.query);
        let is_current = stored.heads == batch.facts.heads
            && tables.has_valid(&batch.facts.credentials)
            && stored.named.is_empty();
        if !is_current {
            tables.outdated += 1;
            return Ok(false);
        }
        assert_eq!(stored.conversations, batch.facts.conversations);
        assert_eq!(stored.agents, batch.facts.agents);
        assert_eq!(stored.turns, batch.facts.turns);
        tables.apply(&batch.rows);
        tables.known += 1;
        Ok(true)
    }
}
