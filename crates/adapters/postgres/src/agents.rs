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
use sqlx::{PgConnection, types::Json};
use uuid::Uuid;

use crate::{
    PostgresStore,
    error::{conflict_on, from_sqlx, in_table},
};

/// A page of agents joined to the tenant's head, so that both come from the same snapshot.
macro_rules! list {
    ($from:literal, $page_order:literal, $order:literal) => {
        concat!(
            "select t.head_seq, a.sort_seq, a.total, ",
            agent_columns!(),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select a.name_key, a.sort_seq, a.bytes, ",
                    agent_columns!(),
                    " from ",
                    $from,
                    " and a.deleted_at is null order by ",
                    $page_order,
                    " limit $2"
                ),
                $order
            ),
            " a on true where t.id = $1 order by a.place"
        )
    };
}

const INSERT: &str = "\
    insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, \
        version, created_at, updated_at, sort_seq) \
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const INSERT_CAPABILITIES: &str = "\
    insert into agent_capabilities (tenant_id, capability, agent_id, sort_seq) \
    select $1, unnest($3::text[]), $2, a.sort_seq from agents a \
    where a.tenant_id = $1 and a.id = $2";
const DELETE_CAPABILITIES: &str =
    "delete from agent_capabilities where tenant_id = $1 and agent_id = $2";
const FIND: &str = concat!(
    "select t.head_seq, ",
    agent_columns!(),
    " from tenants t left join agents a \
     on a.tenant_id = t.id and a.id = $2 and num_nonnulls(a.deleted_at) = 0 \
     where t.id = $1"
);
const LIST_ALL: &str = list!(
    "agents a where a.tenant_id = $1 and (a.sort_seq, a.id) < ($3, $4)",
    "a.sort_seq desc, a.id desc",
    "sort_seq desc, id desc"
);
const LIST_BY_NAME: &str = list!(
    "agents a where a.tenant_id = $1 and (a.name_key, a.id) > ($3, $4) and a.name_key < $5",
    "a.name_key, a.id",
    "name_key, id"
);
/// `offset 0` makes the planner look up the agent by its whole key, as in `join_reply`.
const LIST_BY_CAPABILITY: &str = list!(
    "agent_capabilities c cross join lateral (select * from agents a \
     where a.tenant_id = c.tenant_id and a.id = c.agent_id offset 0) a \
     where c.tenant_id = $1 and c.capability = $5 and (c.sort_seq, c.agent_id) < ($3, $4)",
    "c.sort_seq desc, c.agent_id desc",
    "sort_seq desc, id desc"
);
const VERSION: &str = "\
    select version from agents \
    where tenant_id = $1 and id = $2 and num_nonnulls(deleted_at) = 0";
const UPDATE: &str = "\
    update agents set name = $3, name_key = $4, personality = $5, capabilities = $6, config = $7, \
        version = $8, updated_at = $9 \
    where tenant_id = $1 and id = $2";
const DELETE: &str = "update agents set deleted_at = $3 where tenant_id = $1 and id = $2";

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
        };
        let rows = self.connections.fetch_all(page).await?;
        read::as_of_listing("agents", &rows, query.limit, |row: StoredAgent| {
            Ok(row.into())
        })
    }

    async fn agent_version(
        connection: &mut PgConnection,
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
        connection: &mut PgConnection,
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
            .bind(agent.created_at.date_time())
            .bind(agent.updated_at.date_time())
            .bind(sort_seq.0)
            .execute(&mut *connection)
            .await
            .map_err(conflict_on("agent"))?;
        insert_capabilities(connection, tenant, agent).await
    }

    async fn update_agent(
        connection: &mut PgConnection,
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
            .bind(agent.updated_at.date_time())
            .execute(&mut *connection)
            .await
            .map_err(from_sqlx)?;
        delete_capabilities(connection, tenant, agent.id).await?;
        insert_capabilities(connection, tenant, agent).await
    }

    async fn delete_agent(
        connection: &mut PgConnection,
        tenant: &TenantId,
        id: AgentId,
        at: Timestamp,
    ) -> Result<(), RepositoryError> {
        sqlx::query(DELETE)
            .bind(tenant.as_str())
            .bind(id.uuid())
            .bind(at.date_time())
            .execute(&mut *connection)
            .await
            .map_err(from_sqlx)?;
        delete_capabilities(connection, tenant, id).await
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

async fn insert_capabilities(
    connection: &mut PgConnection,
    tenant: &TenantId,
    agent: &Agent,
) -> Result<(), RepositoryError> {
    let inserted = sqlx::query(INSERT_CAPABILITIES)
        .bind(tenant.as_str())
        .bind(agent.id.uuid())
        .bind(&agent.capabilities)
        .execute(connection)
        .await;
    inserted.map(drop).map_err(from_sqlx)
}

async fn delete_capabilities(
    connection: &mut PgConnection,
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
