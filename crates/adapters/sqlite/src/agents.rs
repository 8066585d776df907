//! Agents.

use std::sync::Arc;

use domain::{Agent, AgentId, AsOf, Listed, Page, Seq, TenantId, Timestamp, text::search_key};
use ports::{AgentFilter, AgentQuery, RepositoryError};
use relational::{
    agent_columns, page_budget, read,
    repositories::AgentSql,
    stored::StoredAgent,
    text_range::{NameRange, name_range},
};
use sqlx::{SqliteConnection, types::Json};
use uuid::Uuid;

use crate::{
    SqliteStore,
    error::{conflict_on, from_sqlx, in_table},
};

/// A page of agents joined to the tenant's head, so that both come from the same snapshot. The
/// content of agents that do not fit into the page is not read.
macro_rules! list {
    ($from:literal, $page_order:literal, $order:literal) => {
        concat!(
            "select t.head_seq, a.sort_seq, p.total, ",
            agent_columns!(),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select a.rowid as agent, a.name_key, a.sort_seq, a.id, octet_length(a.personality) \
                     + octet_length(a.capabilities) + octet_length(a.config) as bytes from ",
                    $from,
                    " and a.deleted_at is null order by ",
                    $page_order,
                    " limit ?2"
                ),
                $order
            ),
            " p on true left join agents a on a.rowid = p.agent where t.id = ?1 order by p.place"
        )
    };
}

const INSERT: &str = "\
    insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, \
        version, created_at, updated_at, sort_seq) \
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const INSERT_CAPABILITIES: &str = "\
    insert into agent_capabilities (tenant_id, capability, agent_id, sort_seq) \
    select ?1, c.value, ?2, a.sort_seq from agents a, json_each(?3) c \
    where a.tenant_id = ?1 and a.id = ?2";
const DELETE_CAPABILITIES: &str = "\
    delete from agent_capabilities indexed by agent_capabilities_by_agent \
    where tenant_id = ?1 and agent_id = ?2";
const FIND: &str = concat!(
    "select t.head_seq, ",
    agent_columns!(),
    " from tenants t left join agents a \
     on a.tenant_id = t.id and a.id = ?2 and a.deleted_at is null \
     where t.id = ?1"
);
const LIST_ALL: &str = list!(
    "agents a where a.tenant_id = ?1 and (a.sort_seq, a.id) < (?3, ?4)",
    "a.sort_seq desc, a.id desc",
    "sort_seq desc, id desc"
);
const LIST_BY_NAME: &str = list!(
    "agents a where a.tenant_id = ?1 and (a.name_key, a.id) > (?3, ?4) and a.name_key < ?5",
    "a.name_key, a.id",
    "name_key, id"
);
const LIST_BY_CAPABILITY: &str = list!(
    "agent_capabilities c cross join agents a on a.tenant_id = c.tenant_id and a.id = c.agent_id \
     where c.tenant_id = ?1 and c.capability = ?5 and (c.sort_seq, c.agent_id) < (?3, ?4)",
    "c.sort_seq desc, c.agent_id desc",
    "sort_seq desc, id desc"
);
const VERSION: &str = "\
    select version from agents where tenant_id = ?1 and id = ?2 and deleted_at is null";
const UPDATE: &str = "\
    update agents set name = ?3, name_key = ?4, personality = ?5, capabilities = ?6, config = ?7, \
        version = ?8, updated_at = ?9 \
    where tenant_id = ?1 and id = ?2";
const DELETE: &str = "update agents set deleted_at = ?3 where tenant_id = ?1 and id = ?2";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    INSERT_CAPABILITIES,
    DELETE_CAPABILITIES,
    FIND,
    LIST_ALL,
    LIST_BY_NAME,
    LIST_BY_CAPABILITY,
    VERSION,
    UPDATE,
    DELETE,
];

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
        };
        let rows = self.fetch_all(page).await?;
        read::as_of_listing("agents", &rows, query.limit, |row: StoredAgent| {
            Ok(row.into())
        })
    }

    async fn agent_version(
        connection: &mut SqliteConnection,
        tenant: &TenantId,
        id: AgentId,
    ) -> Result<Option<i64>, RepositoryError> {
        sqlx::query_scalar(VERSION)
            .bind(tenant.as_str())
            .bind(id.uuid())
            .fetch_optional(connection)
            .await
            .map_err(in_table("agents"))
    }

    async fn insert_agent(
        connection: &mut SqliteConnection,
        tenant: &TenantId,
        agent: &Agent,
        sort_seq: Seq,
    ) -> Result<(), RepositoryError> {
        sqlx::query(INSERT)
            .bind(tenant.as_str())
            .bind(agent.id.uuid())
            .bind(&agent.name)
            .bind(search_key(&agent.name))
            .bind(&agent.personality)
            .bind(Json(&agent.capabilities))
            .bind(Json(&agent.config))
            .bind(agent.version)
            .bind(agent.created_at.milliseconds())
            .bind(agent.updated_at.milliseconds())
            .bind(sort_seq.0)
            .execute(&mut *connection)
            .await
            .map_err(conflict_on("agent"))?;
        insert_capabilities(connection, tenant, agent).await
    }

    async fn update_agent(
        connection: &mut SqliteConnection,
        tenant: &TenantId,
        agent: &Agent,
    ) -> Result<(), RepositoryError> {
        sqlx::query(UPDATE)
            .bind(tenant.as_str())
            .bind(agent.id.uuid())
            .bind(&agent.name)
            .bind(search_key(&agent.name))
            .bind(&agent.personality)
            .bind(Json(&agent.capabilities))
            .bind(Json(&agent.config))
            .bind(agent.version)
            .bind(agent.updated_at.milliseconds())
            .execute(&mut *connection)
            .await
            .map_err(from_sqlx)?;
        delete_capabilities(connection, tenant, agent.id).await?;
        insert_capabilities(connection, tenant, agent).await
    }

    async fn delete_agent(
        connection: &mut SqliteConnection,
        tenant: &TenantId,
        id: AgentId,
        at: Timestamp,
    ) -> Result<(), RepositoryError> {
        sqlx::query(DELETE)
            .bind(tenant.as_str())
            .bind(id.uuid())
            .bind(at.milliseconds())
            .execute(&mut *connection)
            .await
            .map_err(from_sqlx)?;
        delete_capabilities(connection, tenant, id).await
    }
}

async fn insert_capabilities(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    agent: &Agent,
) -> Result<(), RepositoryError> {
    let inserted = sqlx::query(INSERT_CAPABILITIES)
        .bind(tenant.as_str())
        .bind(agent.id.uuid())
        .bind(Json(&agent.capabilities))
        .execute(connection)
        .await;
    inserted.map(drop).map_err(from_sqlx)
}

async fn delete_capabilities(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    id: AgentId,
) -> Result<(), RepositoryError> {
    let deleted = sqlx::query(DELETE_CAPABILITIES)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .execute(connection)
        .await;
    deleted.map(drop).map_err(from_sqlx)
}
