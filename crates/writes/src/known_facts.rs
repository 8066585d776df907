//! The facts that this process knows without reading them, because its own last transactions read
//! or wrote them.
//!
//! Every change of an agent, a conversation or a turn raises the head of its tenant's log. A store
//! that finds a head unchanged under the tenant lock therefore knows that all facts recorded with
//! that head still hold. Everything else that a decision assumes is a condition of its statement.

mod changes;
mod record;

use std::collections::BTreeSet;

use domain::{AgentId, ConversationId, CredentialId, Seq, TenantId, TurnId};
use quick_cache::{Weighter, unsync::Cache};

use ports::{
    Conditions, Facts, FactsQuery,
    write_store::{ConversationFacts, CredentialFacts, CredentialKey, InTenant, TurnRow},
};

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
pub(crate) struct KnownFacts {
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
    /// Adds the facts of `query`, if all of them are known. Each is covered by the head of its tenant,
    /// or assumed under a condition that the store checks. Ids of new entities are assumed to be
    /// unused; the store rejects the data otherwise.
    pub(crate) fn add(
        &self,
        query: &FactsQuery,
        facts: &mut Facts,
        conditions: &mut Conditions,
    ) -> Option<()> {
        // Every kind of fact is named here, so that a new one is covered or checked, too.
        let FactsQuery {
            tenants,
            agents,
            new_agents: _,
            conversations,
            new_conversations: _,
            new_names,
            turns,
            open_turns,
            credentials,
            new_credentials: _,
            whole_credentials,
            users,
            notes,
            files,
            uploads,
            feedback,
            idempotency,
            nodes,
            logged,
            swept,
            journals,
            running_turns,
        } = query;
        let may_be_known = open_turns.is_empty()
            && journals.is_empty()
            && whole_credentials.is_empty()
            && users.is_empty()
            && notes.is_empty()
            && files.is_empty()
            && uploads.is_empty()
            && feedback.is_empty();
        if !may_be_known || logged.is_some() || swept.is_some() {
            return None;
        }
        self.add_heads(tenants, facts)?;
        for key in conversations {
            let mut conversation = self.current(&self.conversations, key)?;
            let agent = (key.0.clone(), conversation.agent_id);
            conversation.agent_version = self.current(&self.agents, &agent)?;
            facts.conversations.insert(key.clone(), conversation);
        }
        for key in agents {
            let version = self.current(&self.agents, key)?;
            facts.agents.insert(key.clone(), version);
        }
        for key in turns {
            let turn = self.current(&self.turns, key)?;
            facts.turns.insert(key.clone(), turn);
        }
        conditions.heads.clone_from(&facts.heads);
        conditions.live_nodes.extend(nodes);
        facts.live_nodes.extend(nodes);
        conditions.unused_keys.extend(idempotency.iter().cloned());
        conditions.unused_names.extend(new_names.iter().cloned());
        conditions.running_turns.extend_from_slice(running_turns);
        facts.running_turns.extend(running_turns.iter().cloned());
        (conditions.valid_credentials).extend(credentials.iter().cloned());
        facts.credentials.extend(credentials.iter().map(valid));
        Some(())
    }

    fn add_heads(&self, tenants: &BTreeSet<TenantId>, facts: &mut Facts) -> Option<()> {
        for tenant in tenants {
            let head = self.tenants.get(tenant)?.head;
            facts.heads.insert(tenant.clone(), head);
        }
        Some(())
    }

    /// Returns whether the heads and agents of the first query of a batch are all that can be missing.
    pub(crate) fn may_read_ahead(query: &FactsQuery) -> bool {
        query.conversations.is_empty()
            && query.turns.is_empty()
            && query.open_turns.is_empty()
            && query.whole_credentials.is_empty()
            && query.users.is_empty()
            && query.notes.is_empty()
            && query.files.is_empty()
            && query.uploads.is_empty()
            && query.feedback.is_empty()
            && query.logged.is_none()
            && query.swept.is_none()
    }

    /// Returns whether the next batch does not use the facts, because another process writes to one
    /// of its tenants again and again. Counts the batch.
    pub(crate) fn skips_batch<'t>(
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
    pub(crate) fn confirm<'t>(&mut self, tenants: impl IntoIterator<Item = &'t TenantId>) {
        for tenant in tenants {
            if let Some(mut known) = self.tenants.get_mut(tenant) {
                known.misses = 0;
            }
        }
    }
}

/// A credential that is assumed to be valid.
fn valid(key: &CredentialKey) -> (CredentialId, CredentialFacts) {
    let facts = CredentialFacts {
        tenant: key.tenant.clone(),
        kind: key.kind,
        is_revoked: false,
    };
    (key.id.clone(), facts)
}

#[cfg(test)]
mod tests;
