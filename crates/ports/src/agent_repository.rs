//! Agents in a store.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Agent, AgentId, AgentReach, AsOf, Listed, Page, Seq, TenantId};

use crate::RepositoryError;

/// The agents that a listing contains, and their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentFilter {
    /// All agents, newest first, in the commit order of the transactions that created them.
    All,
    /// Agents whose name starts with this text, ignoring case. Ordered by
    /// `domain::text::search_key` of the name (compared by code point), then by id.
    NamePrefix(String),
    /// Agents with exactly this capability, newest first.
    Capability(String),
    /// The agents with these ids, each once, newest first. Ids without an agent are omitted.
    Ids(Vec<AgentId>),
}

/// The position of the last agent of the previous page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPosition {
    /// The agent's position in the order; unused by [`AgentFilter::NamePrefix`].
    pub sort_seq: Seq,
    /// The agent's id.
    pub id: AgentId,
    /// The search key of the agent's name; used only by [`AgentFilter::NamePrefix`].
    pub name_key: String,
}

/// A request for one page of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentQuery {
    /// The agents to list.
    pub filter: AgentFilter,
    /// The agents of which those are listed. Others take no place on a page.
    pub reach: AgentReach,
    /// The position after which the page starts; `None` for the first page.
    pub after: Option<AgentPosition>,
    /// The maximum number of agents.
    pub limit: usize,
}

/// Reading agents in a store. Every method reads agents of the given tenant only.
#[async_trait]
pub trait AgentRepository: Send + Sync {
    /// Finds an agent. MUST return `None` for an agent that is deleted or belongs to another
    /// tenant. MUST return a log position that is not later than the state that was read.
    async fn find(
        &self,
        tenant: &TenantId,
        id: AgentId,
    ) -> Result<AsOf<Option<Arc<Agent>>>, RepositoryError>;

    /// Finds a version of an agent, current or earlier. MUST return `None` for a version that was not
    /// kept, which only a build from before kept versions writes, and for an agent that is deleted or
    /// belongs to another tenant. MUST find the current version. A version never changes.
    async fn find_version(
        &self,
        tenant: &TenantId,
        id: AgentId,
        version: i64,
    ) -> Result<Option<Arc<Agent>>, RepositoryError>;

    /// Lists agents. A page MUST end at about `sizes::PAGE_BYTES`, contain at least one agent if
    /// any is left, and MUST NOT read agents that do not fit. The cost MUST NOT depend on the
    /// number of agents. An agent that exists during the whole listing MUST appear exactly once
    /// across all pages.
    async fn list(
        &self,
        tenant: &TenantId,
        query: &AgentQuery,
    ) -> Result<AsOf<Page<Listed<Agent>>>, RepositoryError>;
}
