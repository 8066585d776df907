//! Agents.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    Agent, AgentConfig, AgentId, AsOf, IdempotencyEntry, Listed, Page, Seq, Stamp, TenantId,
    text::search_key,
};
use ports::{
    AgentFilter, AgentQuery, AgentRepository, Committed, Deletion, Idempotent, RepositoryError,
};
use relational::{ClaimRow, event_rows, page_budget, plan, text_range::prefix_end};
use sqlx::{PgConnection, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    PostgresStore, claims,
    error::{conflict_on, from_sqlx, in_table},
    row, rows, tenants, turns,
};

macro_rules! columns {
    () => {
        "a.id, a.name, a.personality, a.capabilities, a.config, a.version, a.created_at, \
         a.updated_at"
    };
}

/// A page of agents joined to the tenant's head, so that both come from the same snapshot.
macro_rules! list {
    ($from:literal, $page_order:literal, $order:literal) => {
        concat!(
            "select t.head_seq, a.sort_seq, a.total, ",
            columns!(),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select a.name_key, a.sort_seq, a.bytes, ",
                    columns!(),
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
    columns!(),
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

#[derive(sqlx::FromRow)]
struct AgentRow {
    id: Uuid,
    name: String,
    personality: String,
    capabilities: Json<Vec<String>>,
    config: Json<AgentConfig>,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
}

impl TryFrom<AgentRow> for Agent {
    type Error = RepositoryError;

    fn try_from(row: AgentRow) -> Result<Self, RepositoryError> {
        Ok(Self {
            id: AgentId::new(row.id),
            name: row.name,
            personality: row.personality,
            capabilities: row.capabilities.0,
            config: row.config.0,
            version: row.version,
            created_at: row::time(row.created_at),
            updated_at: row::time(row.updated_at),
        })
    }
}

/// Agents in PostgreSQL.
pub(crate) struct PostgresAgents {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl AgentRepository for PostgresAgents {
    async fn insert(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
        claim: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Committed>, RepositoryError> {
        let (tenant, agent) = (tenant.clone(), agent.clone());
        let (stamp, claim) = (stamp.clone(), claim.cloned());
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move {
                    insert(connection, &tenant, &agent, &stamp, claim.as_ref()).await
                })
            })
            .await
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: AgentId,
    ) -> Result<AsOf<Option<Arc<Agent>>>, RepositoryError> {
        let find = sqlx::query(FIND).bind(tenant.as_str()).bind(id.uuid());
        let row = self.store.connections.fetch_optional(find).await?;
        row::as_of_one("agents", row.as_ref(), |row: AgentRow| {
            row.try_into().map(Arc::new)
        })
    }

    async fn list(
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
            .bind(row::one_more(query.limit));
        let after = query.after.as_ref();
        let before = after.map_or((Seq(i64::MAX), Uuid::max()), |after| {
            (after.sort_seq, after.id.uuid())
        });
        let page = match &query.filter {
            AgentFilter::All => page.bind(before.0.0).bind(before.1),
            AgentFilter::NamePrefix(prefix) => {
                let prefix = search_key(prefix);
                let end = prefix_end(&prefix).unwrap_or_else(above_all_names);
                let start = (prefix, Uuid::nil());
                // The later of the two, so that a position from outside cannot leave the range.
                let (name_key, id) = match after {
                    Some(after) => start.max((after.name_key.clone(), after.id.uuid())),
                    None => start,
                };
                let (name_key, id) = match name_key.split_once('\0') {
                    // Stored text contains no NUL: text after it sorts after the part before it.
                    Some((before, _)) => (before.to_owned(), Uuid::max()),
                    None => (name_key, id),
                };
                let end = end.split('\0').next().unwrap_or_default().to_owned();
                page.bind(name_key).bind(id).bind(end)
            }
            AgentFilter::Capability(capability) => {
                page.bind(before.0.0).bind(before.1).bind(capability)
            }
        };
        let rows = self.store.connections.fetch_all(page).await?;
        row::as_of_listing("agents", &rows, query.limit, |row: AgentRow| row.try_into())
    }

    async fn update(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
    ) -> Result<Option<Committed>, RepositoryError> {
        let (tenant, agent, stamp) = (tenant.clone(), agent.clone(), stamp.clone());
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move { update(connection, &tenant, &agent, &stamp).await })
            })
            .await
    }

    async fn delete(
        &self,
        tenant: &TenantId,
        id: AgentId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<Deletion, RepositoryError> {
        let (tenant, stamp) = (tenant.clone(), stamp.clone());
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move { delete(connection, &tenant, id, expected, &stamp).await })
            })
            .await
    }
}

/// The end of a range without an upper bound: greater than every name that the API accepts.
fn above_all_names() -> String {
    char::MAX.to_string().repeat(4_096)
}

async fn insert(
    connection: &mut PgConnection,
    tenant: &TenantId,
    agent: &Agent,
    stamp: &Stamp,
    claim: Option<&IdempotencyEntry>,
) -> Result<Idempotent<Committed>, RepositoryError> {
    let head = tenants::lock(connection, tenant).await?;
    if let Some(record) = claims::existing_record(connection, tenant, claim).await? {
        return Ok(Idempotent::Replayed(record));
    }
    let (mut rows, committed) = plan::log_change(tenant, head, stamp, |position| {
        event_rows::agent_created(position, agent)
    });
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
        .bind(committed.last.0)
        .execute(&mut *connection)
        .await
        .map_err(conflict_on("agent"))?;
    insert_capabilities(connection, tenant, agent).await?;
    rows.claims.extend(ClaimRow::without_turn(tenant, claim));
    rows::write(connection, &rows).await?;
    Ok(Idempotent::Applied(committed))
}

async fn insert_capabilities(
    connection: &mut PgConnection,
    tenant: &TenantId,
    agent: &Agent,
) -> Result<(), RepositoryError> {
    sqlx::query(INSERT_CAPABILITIES)
        .bind(tenant.as_str())
        .bind(agent.id.uuid())
        .bind(&agent.capabilities)
        .execute(connection)
        .await
        .map_err(from_sqlx)?;
    Ok(())
}

async fn delete_capabilities(
    connection: &mut PgConnection,
    tenant: &TenantId,
    id: AgentId,
) -> Result<(), RepositoryError> {
    sqlx::query(DELETE_CAPABILITIES)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .execute(connection)
        .await
        .map_err(from_sqlx)?;
    Ok(())
}

async fn version(
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

async fn update(
    connection: &mut PgConnection,
    tenant: &TenantId,
    agent: &Agent,
    stamp: &Stamp,
) -> Result<Option<Committed>, RepositoryError> {
    let head = tenants::lock(connection, tenant).await?;
    let Some(stored) = version(connection, tenant, agent.id).await? else {
        return Ok(None);
    };
    plan::check_version("agent", stored, Some(agent.version - 1))?;
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
    insert_capabilities(connection, tenant, agent).await?;
    let (rows, committed) = plan::log_change(tenant, head, stamp, |position| {
        event_rows::agent_updated(position, agent)
    });
    rows::write(connection, &rows).await?;
    Ok(Some(committed))
}

async fn delete(
    connection: &mut PgConnection,
    tenant: &TenantId,
    id: AgentId,
    expected: Option<i64>,
    stamp: &Stamp,
) -> Result<Deletion, RepositoryError> {
    let head = tenants::lock(connection, tenant).await?;
    let Some(version) = version(connection, tenant, id).await? else {
        return Ok(Deletion::NotFound);
    };
    plan::check_version("agent", version, expected)?;
    let open = turns::open_of_agent(connection, tenant, id).await?;
    sqlx::query(DELETE)
        .bind(tenant.as_str())
        .bind(id.uuid())
        .bind(stamp.time.date_time())
        .execute(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    delete_capabilities(connection, tenant, id).await?;
    let (rows, committed) = plan::log_deletion(tenant, head, &open, stamp, |position| {
        event_rows::agent_deleted(position, id, version)
    });
    rows::write(connection, &rows).await?;
    Ok(Deletion::Deleted(committed))
}
