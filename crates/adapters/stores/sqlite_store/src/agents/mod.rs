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
use sqlx::types::Json;
use uuid::{Uuid, fmt::Simple};

use crate::SqliteStore;

pub(crate) use statements::STATEMENTS;
use statements::{FIND, LIST_ALL, LIST_BY_CAPABILITY, LIST_BY_IDS, LIST_BY_NAME};

impl AgentSql for SqliteStore {
    async fn find_agent(
        &self,
        tenant: &TenantId,
        id: AgentId,
    ) -> Result<AsOf<Option<Arc<Agent>>>, RepositoryError> {
        let find = sqlx::query(FIND).bind(tenant.as_str()).bind(id.uuid());
        let row = self.fetch_optional(find).await?;
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
                let NameRange { after, end } = name_range(prefix, after);
                page.bind(after.0).bind(after.1).bind(end)
            }
            AgentFilter::Capability(capability) => {
                page.bind(before.0.0).bind(before.1).bind(capability)
            }
            AgentFilter::Ids(ids) => {
                let ids: Vec<Simple> = ids.iter().map(|id| id.uuid().simple()).collect();
                page.bind(before.0.0).bind(before.1).bind(Json(ids))
            }
        };
        let rows = self.fetch_all(page).await?;
        read::as_of_listing("agents", &rows, query.limit, |row: StoredAgent| {
            Ok(row.into())
        })
    }
}
