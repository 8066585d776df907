//! Agents.

mod statements;

use std::sync::Arc;

use domain::{Agent, AgentId, AsOf, Listed, Page, Seq, TenantId};
use ports::{AgentFilter, AgentQuery, RepositoryError};
use relational::{
    page_budget, read,
    repositories::AgentSql,
    stored::StoredAgent,
    text_range::{NameRange, name_range},
};
use uuid::Uuid;

use crate::PostgresStore;

pub(crate) use statements::STATEMENTS;
use statements::{FIND, LIST_ALL, LIST_BY_CAPABILITY, LIST_BY_IDS, LIST_BY_NAME};

impl AgentSql for PostgresStore {
    async fn find_agent(
        &self,
        tenant: &TenantId,
        id: AgentId,
    ) -> Result<AsOf<Option<Arc<Agent>>>, RepositoryError> {
        let find = sqlx::query(FIND).bind(tenant.as_str()).bind(id.uuid());
        let row = self.connections.fetch_optional(find).await?;
        read::as_of_one("agents", row.as_ref(), |row: StoredAgent| {
            Ok(Arc::new(row.into()))
        })
    }

    async fn list_agents(
        &self,
        tenant: &TenantId,
        query: &AgentQuery,
    ) -> Result<AsOf<Page<Listed<Agent>>>, RepositoryError> {
        let statement = match &query.filter {
            AgentFilter::All => LIST_ALL,
            AgentFilter::NamePrefix(_) => LIST_BY_NAME,
            AgentFilter::Capability(_) => LIST_BY_CAPABILITY,
            AgentFilter::Ids(_) => LIST_BY_IDS,
        };
        let page = sqlx::query(statement)
            .bind(tenant.as_str())
            .bind(page_budget::one_more(query.limit));
        let after = query.after.as_ref();
        let before = after.map_or((Seq(i64::MAX), Uuid::max()), |after| {
            (after.sort_seq, after.id.uuid())
        });
        let page = match &query.filter {
            AgentFilter::All => page.bind(before.0.0).bind(before.1),
            AgentFilter::NamePrefix(prefix) => {
                let NameRange { after, end } = without_nul(name_range(prefix, after));
                page.bind(after.0).bind(after.1).bind(end)
            }
            AgentFilter::Capability(capability) => {
                page.bind(before.0.0).bind(before.1).bind(capability)
            }
            AgentFilter::Ids(ids) => {
                let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
                page.bind(before.0.0).bind(before.1).bind(ids)
            }
        };
        let rows = self.connections.fetch_all(page).await?;
        read::as_of_listing("agents", &rows, query.limit, |row: StoredAgent| {
            Ok(row.into())
        })
    }
}

/// Replaces texts that contain NUL, which Postgres does not accept, with equivalent ones: stored
/// text contains no NUL, so text after it sorts after the part before it.
fn without_nul(range: NameRange) -> NameRange {
    let (name_key, id) = range.after;
    let after = match name_key.split_once('\0') {
        Some((before, _)) => (before.to_owned(), Uuid::max()),
        None => (name_key, id),
    };
    let end = range.end.split('\0').next().unwrap_or_default().to_owned();
    NameRange { after, end }
}
