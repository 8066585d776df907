//! Reads the facts of a batch under the lock of its tenants.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::{
    AgentId, ConversationId, IdempotencyRecord, NodeId, PrincipalId, Seq, TenantId, TurnId,
};
use ports::RepositoryError;
use relational::{
    ClaimKey, ConversationFacts, EventInDoubt, Facts, FactsQuery, InTenant, TurnRow, column,
};
use sqlx::{
    FromRow, PgConnection, Row as _,
    postgres::{PgArguments, PgRow, Postgres},
    query::Query,
};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    claims::IdempotencyRecordRow,
    error::{from_sqlx, in_table},
    row,
    turn_row::{TurnWithReply, join_reply, reply_columns, turn_columns},
};

/// The tenant lock. It is a statement of its own, because other conditions in it would see the
/// state from before the wait. Everything that decisions depend on is read by later statements.
const LOCK: &str = "\
    select id, head_seq from tenants where id = any($1) order by id for update";
/// Returns at least one row, for the nodes. The laterals with their limits make the planner look up
/// each conversation by its key: for joins, it might read a whole tenant in every batch.
const CONVERSATIONS_AND_NODES: &str = "\
    select n.live_nodes, c.* \
    from (select array(select id from nodes where id = any($3) and not swept) as live_nodes) n \
    left join (select c.tenant_id, c.id, c.agent_id, a.version as agent_version, c.user_id, \
        c.message_count, c.turn_count, c.updated_at, o.running, o.waiting, o.first_waiting \
    from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
    cross join lateral ( \
        select * from conversations c where c.tenant_id = q.tenant_id and c.id = q.id \
            and num_nonnulls(c.deleted_at) = 0 limit 1) c \
    cross join lateral ( \
        select a.version from agents a where a.tenant_id = c.tenant_id and a.id = c.agent_id \
            and num_nonnulls(a.deleted_at) = 0 limit 1) a \
    cross join lateral ( \
        select (array_agg(r.id) filter (where r.status = 'in_progress'))[1] as running, \
            count(*) filter (where r.status = 'queued') as waiting, \
            (array_agg(r.id order by r.queued_seq) \
                filter (where r.status = 'queued'))[1] as first_waiting \
        from turns r where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
            and r.conversation_id = c.id and r.status in ('queued', 'in_progress')) o) c on true";
const AGENTS: &str = "\
    select a.tenant_id, a.id, a.version \
    from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
    join agents a on a.tenant_id = q.tenant_id and a.id = q.id \
    where num_nonnulls(a.deleted_at) = 0";
const TURNS: &str = concat!(
    "select ",
    turn_columns!(),
    ", ",
    reply_columns!(),
    " from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
     join turns r on r.tenant_id = q.tenant_id and r.id = q.id",
    join_reply!()
);
const CLAIMS: &str = "\
    select r.tenant_id, r.principal, r.operation, r.key, r.fingerprint, r.turn_id, \
        r.released_into, r.answer, r.created_at \
    from unnest($1::text[], $2::text[], $3::text[], $4::text[]) \
        as q (tenant_id, principal, operation, key) \
    join idempotency_records r on r.tenant_id = q.tenant_id and r.principal = q.principal \
        and r.operation = q.operation and r.key = q.key";
const LOGGED: &str = "\
    select e.tenant_id, e.seq, e.type, e.conversation_id, e.turn_id \
    from unnest($1::text[], $2::bigint[]) as q (tenant_id, seq) \
    join events e on e.tenant_id = q.tenant_id and e.seq > q.seq \
    where e.conversation_id = any($3) \
    order by e.tenant_id, e.seq";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] =
    &[LOCK, CONVERSATIONS_AND_NODES, AGENTS, TURNS, CLAIMS, LOGGED];

#[derive(sqlx::FromRow)]
struct ConversationFactsRow {
    tenant_id: String,
    id: Uuid,
    agent_id: Uuid,
    agent_version: i64,
    user_id: Option<String>,
    message_count: i64,
    turn_count: i64,
    updated_at: OffsetDateTime,
    running: Option<Uuid>,
    waiting: i64,
    first_waiting: Option<Uuid>,
}

#[derive(sqlx::FromRow)]
struct ClaimRow {
    tenant_id: String,
    principal: String,
    operation: String,
    key: String,
    #[sqlx(flatten)]
    record: IdempotencyRecordRow,
}

#[derive(sqlx::FromRow)]
struct LoggedRow {
    tenant_id: String,
    seq: i64,
    r#type: String,
    conversation_id: Option<Uuid>,
    turn_id: Option<Uuid>,
}

type Conversations = HashMap<InTenant<ConversationId>, ConversationFacts>;

/// Locks the tenants of `query`, then reads its facts.
pub(crate) async fn read(
    connection: &mut PgConnection,
    query: &FactsQuery,
) -> Result<Facts, RepositoryError> {
    let heads = lock(connection, query).await?;
    let (conversations, live_nodes) = conversations_and_nodes(connection, query).await?;
    let mut facts = Facts {
        heads,
        conversations,
        claims: claims(connection, &query.claims).await?,
        live_nodes,
        logged: logged(connection, query).await?,
        ..Facts::default()
    };
    let mut wanted = query.more_agents(&facts.conversations);
    wanted.extend(query.agents.iter().cloned());
    facts.agents = agents(connection, &wanted).await?;
    let mut wanted = query.more_turns(&facts);
    wanted.extend(query.ended.iter().cloned());
    facts.turns = turns(connection, &wanted).await?;
    Ok(facts)
}

/// Reads the rows of a statement on `table`.
async fn rows<R>(
    connection: &mut PgConnection,
    query: Query<'static, Postgres, PgArguments>,
    table: &'static str,
) -> Result<Vec<R>, RepositoryError>
where
    R: for<'r> FromRow<'r, PgRow>,
{
    let rows = query.fetch_all(connection).await.map_err(from_sqlx)?;
    rows.iter().map(|row| row::read(table, row)).collect()
}

/// Runs `statement` once for all `wanted` ids; runs nothing without ids.
async fn fetch_by_ids<R, Id>(
    connection: &mut PgConnection,
    statement: &'static str,
    table: &'static str,
    wanted: &[InTenant<Id>],
    uuid: impl Fn(&Id) -> Uuid,
) -> Result<Vec<R>, RepositoryError>
where
    R: for<'r> FromRow<'r, PgRow>,
{
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let tenants: Vec<_> = wanted.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let ids: Vec<_> = wanted.iter().map(|(_, id)| uuid(id)).collect();
    rows(
        connection,
        sqlx::query(statement).bind(tenants).bind(ids),
        table,
    )
    .await
}

fn tenant(text: &str) -> Result<TenantId, RepositoryError> {
    column::parse("tenants.id", text)
}

async fn lock(
    connection: &mut PgConnection,
    query: &FactsQuery,
) -> Result<BTreeMap<TenantId, Seq>, RepositoryError> {
    let ids: Vec<_> = query.tenants.iter().map(TenantId::as_str).collect();
    let heads: Vec<(String, i64)> =
        rows(connection, sqlx::query(LOCK).bind(ids), "tenants").await?;
    heads
        .into_iter()
        .map(|(id, head)| Ok((tenant(&id)?, Seq(head))))
        .collect()
}

async fn conversations_and_nodes(
    connection: &mut PgConnection,
    query: &FactsQuery,
) -> Result<(Conversations, HashSet<NodeId>), RepositoryError> {
    let wanted = query.conversations.iter();
    let tenants: Vec<_> = wanted.clone().map(|(tenant, _)| tenant.as_str()).collect();
    let statement = sqlx::query(CONVERSATIONS_AND_NODES)
        .bind(tenants)
        .bind(wanted.map(|(_, id)| id.uuid()).collect::<Vec<_>>())
        .bind(query.nodes.iter().map(|id| id.uuid()).collect::<Vec<_>>());
    let rows = statement.fetch_all(connection).await.map_err(from_sqlx)?;
    let live_nodes: Vec<Uuid> = match rows.first() {
        Some(row) => row.try_get("live_nodes").map_err(in_table("nodes"))?,
        None => Vec::new(),
    };
    let mut conversations = Conversations::new();
    for row in &rows {
        let id: Option<Uuid> = row.try_get("id").map_err(in_table("conversations"))?;
        if id.is_some() {
            let (key, facts) = conversation(row::read("conversations", row)?)?;
            conversations.insert(key, facts);
        }
    }
    let live_nodes = live_nodes.into_iter().map(NodeId::new).collect();
    Ok((conversations, live_nodes))
}

fn conversation(
    row: ConversationFactsRow,
) -> Result<(InTenant<ConversationId>, ConversationFacts), RepositoryError> {
    let facts = ConversationFacts {
        agent_id: AgentId::new(row.agent_id),
        agent_version: row.agent_version,
        user_id: row.user_id,
        message_count: row.message_count,
        turn_count: row.turn_count,
        updated_at: row::time(row.updated_at),
        running: row.running.map(TurnId::new),
        waiting: u32::try_from(row.waiting).unwrap_or(u32::MAX),
        first_waiting: row.first_waiting.map(TurnId::new),
    };
    let key = (tenant(&row.tenant_id)?, ConversationId::new(row.id));
    Ok((key, facts))
}

async fn agents(
    connection: &mut PgConnection,
    wanted: &[InTenant<AgentId>],
) -> Result<HashMap<InTenant<AgentId>, i64>, RepositoryError> {
    let rows: Vec<(String, Uuid, i64)> =
        fetch_by_ids(connection, AGENTS, "agents", wanted, |id| id.uuid()).await?;
    rows.into_iter()
        .map(|(of, id, version)| Ok(((tenant(&of)?, AgentId::new(id)), version)))
        .collect()
}

/// Reads turns with their replies.
pub(crate) async fn turns(
    connection: &mut PgConnection,
    wanted: &[InTenant<TurnId>],
) -> Result<HashMap<InTenant<TurnId>, TurnRow>, RepositoryError> {
    let rows: Vec<TurnWithReply> =
        fetch_by_ids(connection, TURNS, "turns", wanted, |id| id.uuid()).await?;
    rows.into_iter()
        .map(|row| {
            let row = TurnRow::try_from(row)?;
            Ok(((row.tenant.clone(), row.turn.id), row))
        })
        .collect()
}

async fn claims(
    connection: &mut PgConnection,
    wanted: &[ClaimKey],
) -> Result<HashMap<ClaimKey, IdempotencyRecord>, RepositoryError> {
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let column = |text: fn(&ClaimKey) -> &str| wanted.iter().map(text).collect::<Vec<_>>();
    let query = sqlx::query(CLAIMS)
        .bind(column(|key| key.tenant.as_str()))
        .bind(column(|key| key.principal.as_str()))
        .bind(column(|key| &key.operation))
        .bind(column(|key| &key.key));
    let rows: Vec<ClaimRow> = rows(connection, query, "idempotency_records").await?;
    rows.into_iter()
        .map(|row| {
            let key = ClaimKey {
                tenant: tenant(&row.tenant_id)?,
                principal: PrincipalId::new(row.principal),
                operation: row.operation,
                key: row.key,
            };
            Ok((key, row.record.try_into()?))
        })
        .collect()
}

async fn logged(
    connection: &mut PgConnection,
    query: &FactsQuery,
) -> Result<Vec<EventInDoubt>, RepositoryError> {
    if query.logged_since.is_empty() {
        return Ok(Vec::new());
    }
    let since = &query.logged_since;
    let tenants: Vec<_> = since.keys().map(TenantId::as_str).collect();
    let conversations = query.conversations.iter().map(|(_, id)| id.uuid());
    let query = sqlx::query(LOGGED)
        .bind(tenants)
        .bind(since.values().map(|seq| seq.0).collect::<Vec<_>>())
        .bind(conversations.collect::<Vec<_>>());
    let rows: Vec<LoggedRow> = rows(connection, query, "events").await?;
    rows.into_iter()
        // This process does not write events of an unknown type.
        .filter_map(|row| Some((column::event_type(&row.r#type).ok()?, row)))
        .map(|(kind, row)| {
            Ok(EventInDoubt {
                tenant: tenant(&row.tenant_id)?,
                seq: Seq(row.seq),
                kind,
                conversation_id: row.conversation_id.map(ConversationId::new),
                turn_id: row.turn_id.map(TurnId::new),
            })
        })
        .collect()
}
