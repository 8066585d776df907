//! Agents in a store.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Agent, AgentId, AsOf, IdempotencyClaim, Listed, Page, Seq, Stamp, TenantId};

use crate::{Committed, Deletion, Once, RepositoryError};

/// Which agents a listing shows, and in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentFilter {
    /// All, newest first, in the order of the transactions that made them.
    All,
    /// Those whose name begins so, without regard to case; by `domain::text::search_key` of the
    /// name (compared by code point), then by id.
    NamePrefix(String),
    /// Those with exactly this capability, newest first.
    Capability(String),
}

/// The last agent of the page before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPosition {
    /// Its place in the order; not used by [`AgentFilter::NamePrefix`].
    pub sort_seq: Seq,
    /// The agent.
    pub id: AgentId,
    /// The search key of its name; used by [`AgentFilter::NamePrefix`] alone.
    pub name_key: String,
}

/// One page of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentQuery {
    /// Which ones.
    pub filter: AgentFilter,
    /// Begin after this one; from the start when absent.
    pub after: Option<AgentPosition>,
    /// At most so many.
    pub limit: usize,
}

/// Agents in a store. Every method sees and touches the given tenant's agents only.
#[async_trait]
pub trait AgentRepository: Send + Sync {
    /// Stores a new agent. MUST write `agent.created` with the agent's snapshot, and the claim,
    /// in the same transaction; MUST write nothing when the claim's key was used before;
    /// MUST answer `Conflict` when the id exists.
    async fn insert(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
        claim: Option<&IdempotencyClaim>,
    ) -> Result<Once<Committed>, RepositoryError>;

    /// Finds an agent. MUST answer `None` for a deleted or foreign one, and a position of the log
    /// that is not later than the state it read.
    async fn find(
        &self,
        tenant: &TenantId,
        id: AgentId,
    ) -> Result<AsOf<Option<Arc<Agent>>>, RepositoryError>;

    /// Lists agents. A page MUST end at about `sizes::PAGE_BYTES`, with at least one agent, and MUST
    /// NOT read what it has no room for. MUST cost the same however many agents there are; an agent that is there
    /// during the whole listing MUST be shown exactly once over all pages.
    async fn list(
        &self,
        tenant: &TenantId,
        query: &AgentQuery,
    ) -> Result<AsOf<Page<Listed<Agent>>>, RepositoryError>;

    /// Replaces an agent by its next version. MUST write `agent.updated` with the new snapshot in
    /// the same transaction; MUST answer `Stale` and write nothing unless the stored version is
    /// `agent.version - 1`; MUST answer `None` when the agent is gone.
    async fn update(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
    ) -> Result<Option<Committed>, RepositoryError>;

    /// Deletes an agent: marks it gone, ends its queued and running turns as cancelled (a
    /// `turn.cancelled` each, in the order of the turns' ids), and writes `agent.deleted` last,
    /// all in one transaction whose cost does not grow with its conversations. MUST answer `Stale`
    /// when `expected` differs from the stored version. From the commit on, the agent, its
    /// conversations, their messages and the turns that had ended before MUST NOT be found; the
    /// turns that it cancelled MUST be, until they are purged.
    async fn delete(
        &self,
        tenant: &TenantId,
        id: AgentId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<Deletion, RepositoryError>;
}
