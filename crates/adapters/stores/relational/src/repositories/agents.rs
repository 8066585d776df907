//! Agents.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Agent, AgentId, AsOf, Listed, Page, Seq, TenantId};
use ports::{AgentFilter, AgentQuery, AgentRepository, RepositoryError};
use uuid::Uuid;

use super::Repositories;
use crate::{
    Parameter, Store, page_budget, parameters,
    read::{self, ListedRow, ReadAs},
    statements,
    stored::{StoredAgent, StoredAgentVersion},
    text_range::name_range,
};

/// The statements on agents. The first parameter is the tenant, whose head all of them return but the
/// one on versions.
pub trait AgentSql:
    Store<Row: ReadAs<StoredAgent> + ReadAs<StoredAgentVersion> + ReadAs<ListedRow<StoredAgent>>>
{
    statements! {
        /// Agent 2.
        const FIND: &'static str;

    /// Version 3 of agent 2, kept or current.
    const FIND_VERSION: &'static str;

        /// At most 2 agents before the position and id 3 and 4, newest first.
        const LIST_ALL: &'static str;

        /// At most 2 agents from after the search key and id 3 and 4 up to the search key 5, with one of the
        /// ids 6 unless that is null.
        const LIST_BY_NAME: &'static str;

        /// Those of `LIST_ALL` with capability 5, and with one of the ids 6 unless that is null.
        const LIST_BY_CAPABILITY: &'static str;

        /// Those of `LIST_ALL` with one of the ids 5.
        const LIST_BY_IDS: &'static str;
    }
}

#[async_trait]
impl<S: AgentSql> AgentRepository for Repositories<S> {
    async fn find(
        &self,
        tenant: &TenantId,
        id: AgentId,
    ) -> Result<AsOf<Option<Arc<Agent>>>, RepositoryError> {
        let parameters = parameters![tenant, id];
        let found = self.0.fetch_optional(S::FIND, parameters).await?;
        let convert = |row: StoredAgent| Ok(Arc::new(row.into()));
        read::as_of_one("agents", found.as_ref(), convert)
    }

    async fn find_version(
        &self,
        tenant: &TenantId,
        id: AgentId,
        version: i64,
    ) -> Result<Option<Arc<Agent>>, RepositoryError> {
        let parameters = parameters![tenant, id, version];
        let found = self.0.fetch_optional(S::FIND_VERSION, parameters).await?;
        let convert = |row: StoredAgentVersion| Ok(Arc::new(row.into()));
        read::one("agent_versions", found, convert)
    }

    async fn list(
        &self,
        tenant: &TenantId,
        query: &AgentQuery,
    ) -> Result<AsOf<Page<Listed<Agent>>>, RepositoryError> {
        let limit = page_budget::one_more(query.limit);
        let after = query.after.as_ref();
        let (before, id) = after.map_or((Seq(i64::MAX), Uuid::max()), |after| {
            (after.sort_seq, after.id.uuid())
        });
        let uuids = |ids: &[AgentId]| ids.iter().map(|id| id.uuid()).collect::<Vec<_>>();
        let reach = query.reach.ids().map(uuids);
        let reach = reach.as_deref();
        let rows = match &query.filter {
            AgentFilter::All => {
                if let Some(ids) = reach {
                    let parameters = parameters![tenant, limit, before, id, ids];
                    self.0.fetch_all(S::LIST_BY_IDS, parameters).await?
                } else {
                    let parameters = parameters![tenant, limit, before, id];
                    self.0.fetch_all(S::LIST_ALL, parameters).await?
                }
            }
            AgentFilter::NamePrefix(prefix) => {
                let range = name_range(prefix, after);
                let (name, id) = (range.after.0.as_str(), range.after.1);
                let reach = Parameter::Ids(reach);
                let parameters = parameters![tenant, limit, name, id, range.end.as_str(), reach];
                self.0.fetch_all(S::LIST_BY_NAME, parameters).await?
            }
            AgentFilter::Capability(capability) => {
                let (capability, reach) = (capability.as_str(), Parameter::Ids(reach));
                let parameters = parameters![tenant, limit, before, id, capability, reach];
                self.0.fetch_all(S::LIST_BY_CAPABILITY, parameters).await?
            }
            AgentFilter::Ids(ids) => {
                let ids = ids.iter().filter(|id| query.reach.contains(**id));
                let ids: Vec<Uuid> = ids.map(|id| id.uuid()).collect();
                let parameters = parameters![tenant, limit, before, id, ids.as_slice()];
                self.0.fetch_all(S::LIST_BY_IDS, parameters).await?
            }
        };
        let convert = |row: StoredAgent| Ok(row.into());
        read::as_of_listing("agents", &rows, query.limit, convert)
    }
}
