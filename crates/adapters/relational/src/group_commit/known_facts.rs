//! The facts that this process knows without reading them, because its own last transactions read
//! or wrote them.
//!
//! Every change of an agent, a conversation or a turn raises the head of its tenant's log. A store
//! that finds a head unchanged under the tenant lock therefore knows that all facts recorded with
//! that head still hold. It checks nodes, idempotency keys and credentials in the statement.

mod record;

use domain::{AgentId, ConversationId, CredentialId, Seq, TenantId, TurnId};
use quick_cache::{Weighter, unsync::Cache};

use crate::{ConversationFacts, CredentialFacts, Facts, FactsQuery, InTenant, TurnRow, WriteOp};

/// The maximum numbers of known entities.
const MAX_TENANTS: usize = 1_000;
const MAX_AGENTS: usize = 10_000;
const MAX_CONVERSATIONS: usize = 20_000;
/// The maximum size of all known turns, in bytes.
const MAX_TURN_BYTES: u64 = 16 * 1024 * 1024;

/// The maximum number of batches for which a tenant's facts are not used after they were outdated
/// again and again: another process writes to the same tenant.
const MAX_SKIPPED_BATCHES: u32 = 64;

/// The known facts. A change by another process makes all facts of its tenant invalid.
pub(super) struct KnownFacts {
    tenants: Cache<TenantId, KnownTenant>,
    agents: Cache<InTenant<AgentId>, Recorded<i64>>,
    conversations: Cache<InTenant<ConversationId>, Recorded<ConversationFacts>>,
    turns: Cache<InTenant<TurnId>, Recorded<TurnRow>, TurnWeight>,
    last_epoch: u64,
}

#[derive(Debug, Clone, Copy)]
struct KnownTenant {
    /// The head with which the facts were recorded.
    head: Seq,
    /// The facts that were recorded in this epoch are valid.
    epoch: u64,
    /// The number of times in a row that another head was found.
    misses: u32,
    /// The number of batches that will not use the facts.
    skipped: u32,
}

/// A fact and the epoch in which it was recorded.
#[derive(Debug, Clone)]
struct Recorded<T> {
    epoch: u64,
    value: T,
}

#[derive(Clone)]
struct TurnWeight;

impl Weighter<InTenant<TurnId>, Recorded<TurnRow>> for TurnWeight {
    fn weight(&self, _: &InTenant<TurnId>, recorded: &Recorded<TurnRow>) -> u64 {
        let turn = &recorded.value.turn;
        let metadata = turn
            .metadata
            .iter()
            .map(|(name, value)| name.len() + value.len());
        let texts = turn.input.len() + metadata.sum::<usize>();
        u64::try_from(size_of::<TurnRow>() + texts).unwrap_or(u64::MAX)
    }
}

impl Default for KnownFacts {
    fn default() -> Self {
        Self {
            tenants: Cache::new(MAX_TENANTS),
            agents: Cache::new(MAX_AGENTS),
            conversations: Cache::new(MAX_CONVERSATIONS),
            turns: Cache::with_weighter(MAX_CONVERSATIONS, MAX_TURN_BYTES, TurnWeight),
            last_epoch: 0,
        }
    }
}

impl KnownFacts {
    /// Returns the facts of `query`, if all of them are known. It assumes what no head covers, which
    /// the store must check: that the nodes are alive, the idempotency keys and the names of new
    /// conversations unused, and the credentials to revoke valid. Ids of new agents and credentials
    /// are assumed to be unused; the store rejects the data otherwise.
    pub(super) fn find(&self, ops: &[WriteOp], query: &FactsQuery) -> Option<Facts> {
        if !query.logged_since.is_empty() {
            return None;
        }
        let mut facts = Facts {
            live_nodes: query.nodes.iter().copied().collect(),
            ..Facts::default()
        };
        for tenant in &query.tenants {
            let head = self.tenants.get(tenant)?.head;
            facts.heads.insert(tenant.clone(), head);
        }
        let changed = ops.iter().filter(|op| !op.creates_conversation());
        let changed = changed.filter_map(|op| Some((op.tenant(), op.conversation_id()?)));
        let copied = ops
            .iter()
            .filter_map(|op| Some((op.tenant(), op.copied_conversation()?)));
        for (tenant, id) in changed.chain(copied) {
            let key = (tenant.clone(), id);
            let mut conversation = self.current(&self.conversations, &key)?;
            let agent = (key.0.clone(), conversation.agent_id);
            conversation.agent_version = self.current(&self.agents, &agent)?;
            facts.conversations.insert(key, conversation);
        }
        let deletions = query.deletions_with_open_turns(&facts.conversations);
        if !deletions.is_empty() {
            return None;
        }
        let others = query.more_agents(&facts.conversations);
        for key in query.agents.iter().chain(&others) {
            let version = self.current(&self.agents, key)?;
            facts.agents.insert(key.clone(), version);
        }
        let others = query.more_turns(&facts);
        for key in query.ended.iter().chain(&others) {
            let turn = self.current(&self.turns, key)?;
            facts.turns.insert(key.clone(), turn);
        }
        facts.credentials = ops.iter().filter_map(assumed_credential).collect();
        Some(facts)
    }

    /// Returns whether the heads and agents of `query` are all that can be missing.
    pub(super) fn may_read_ahead(ops: &[WriteOp], query: &FactsQuery) -> bool {
        let needs_agents_only = |op: &WriteOp| {
            (op.conversation_id().is_none() || op.creates_conversation())
                && op.copied_conversation().is_none()
        };
        query.logged_since.is_empty() && ops.iter().all(needs_agents_only)
    }

    /// Returns whether the next batch does not use the facts, because another process writes to one
    /// of its tenants again and again. Counts the batch.
    pub(super) fn skips_batch<'t>(
        &mut self,
        tenants: impl IntoIterator<Item = &'t TenantId>,
    ) -> bool {
        let mut is_skipped = false;
        for tenant in tenants {
            if let Some(mut known) = self.tenants.get_mut(tenant)
                && known.skipped > 0
            {
                known.skipped -= 1;
                is_skipped = true;
            }
        }
        is_skipped
    }

    fn current<Id, T, W>(
        &self,
        cache: &Cache<InTenant<Id>, Recorded<T>, W>,
        key: &InTenant<Id>,
    ) -> Option<T>
    where
        Id: Eq + std::hash::Hash,
        T: Clone,
        W: Weighter<InTenant<Id>, Recorded<T>>,
    {
        let recorded = cache.get(key)?;
        (recorded.epoch == self.tenants.get(&key.0)?.epoch).then(|| recorded.value.clone())
    }

    /// Records that the facts of these tenants were found to be valid.
    pub(super) fn confirm<'t>(&mut self, tenants: impl IntoIterator<Item = &'t TenantId>) {
        for tenant in tenants {
            if let Some(mut known) = self.tenants.get_mut(tenant) {
                known.misses = 0;
            }
        }
    }
}

/// The credential that a write revokes, which is assumed to be valid.
fn assumed_credential(op: &WriteOp) -> Option<(CredentialId, CredentialFacts)> {
    let WriteOp::RevokeCredential(revoke) = op else {
        return None;
    };
    let facts = CredentialFacts {
        tenant: revoke.tenant.clone(),
        kind: revoke.kind,
        is_revoked: false,
    };
    Some((revoke.id.clone(), facts))
}
