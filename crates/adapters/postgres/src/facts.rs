//! Reads the facts of a batch under the lock of its tenants.

use std::collections::{HashMap, HashSet};

use domain::{ConversationId, CredentialId, IdempotencyRecord, NodeId, TenantId, TurnId};
use ports::{ConversationName, RepositoryError};
use relational::{
    ConversationFacts, EventInDoubt, Facts, FactsQuery, InTenant, RecordKey, TurnRow, read,
    reply_columns,
    repositories::TurnSql as _,
    stored::{
        StoredConversationFacts, StoredEventInDoubt, StoredRecordWithKey,
        facts::{agent_id, agent_version, credential, head, named, turn},
    },
    turn_columns,
};
use sqlx::{
    FromRow, PgConnection, Row as _,
    postgres::{PgArguments, PgRow, Postgres},
    query::Query,
};
use uuid::Uuid;

use crate::{
    PostgresStore,
    error::{from_sqlx, in_table},
    fragments::join_reply,
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
        c.version, c.message_count as last_message_seq, c.superseded_count, \
        case c.superseded_count when 0 then c.message_count else coalesce((select max(m.seq) \
            from messages m where m.tenant_id = c.tenant_id and m.conversation_id = c.id \
            and num_nonnulls(m.superseded_at) = 0), 0) end as visible_message_seq, c.turn_count, c.created_at, c.updated_at, c.last_message_at, \
        o.running, o.waiting, o.first_waiting \
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
/// Heads, without an agent, and versions of agents, in one snapshot.
const HEADS_AND_AGENTS: &str = "\
    select t.id, null::uuid, t.head_seq from tenants t where t.id = any($1) \
    union all \
    select a.tenant_id, a.id, a.version \
    from unnest($2::text[], $3::uuid[]) as q (tenant_id, id) \
    join agents a on a.tenant_id = q.tenant_id and a.id = q.id \
    where num_nonnulls(a.deleted_at) = 0";
const EXISTING_AGENTS: &str = "\
    select a.tenant_id, a.id from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
    join agents a on a.tenant_id = q.tenant_id and a.id = q.id";
const TURNS: &str = concat!(
    "select ",
    turn_columns!(),
    ", ",
    reply_columns!(),
    " from unnest($1::text[], $2::uuid[]) as q (tenant_id, id) \
     join turns r on r.tenant_id = q.tenant_id and r.id = q.id",
    join_reply!()
);
/// `deleted_at is null` stands as in the condition of the index.
const NAMED: &str = "\
    select c.tenant_id, c.agent_id, c.user_id, c.key, c.id \
    from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q (tenant_id, agent, owner, key) \
    cross join lateral (select * from conversations c where c.tenant_id = q.tenant_id \
        and c.agent_id = q.agent and coalesce(c.user_id, '') = q.owner and c.key = q.key \
        and c.deleted_at is null limit 1) c";
const CREDENTIALS: &str = "\
    select id, tenant_id, kind, revoked_at is not null from credentials where id = any($1)";
const RECORDS: &str = "\
    select r.tenant_id, r.principal, r.operation, r.key, r.fingerprint, r.turn_id, \
        r.released_into, r.released_by, r.answer, r.created_at \
    from unnest($1::text[], $2::text[], $3::text[], $4::text[]) \
        as q (tenant_id, principal, operation, key) \
    join idempotency_records r on r.tenant_id = q.tenant_id and r.principal = q.principal \
        and r.operation = q.operation and r.key = q.key";
const LOGGED: &str = "\
    select e.tenant_id, e.seq, e.type, e.time, e.actor, e.agent_id, e.conversation_id, e.turn_id \
    from unnest($1::text[], $2::bigint[]) as q (tenant_id, seq) \
    join events e on e.tenant_id = q.tenant_id and e.seq > q.seq \
    where e.conversation_id = any($3) \
        or e.conversation_id is null and e.agent_id = any($4) \
    order by e.tenant_id, e.seq";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    LOCK,
    CONVERSATIONS_AND_NODES,
    AGENTS,
    HEADS_AND_AGENTS,
    EXISTING_AGENTS,
    TURNS,
    NAMED,
    CREDENTIALS,
    RECORDS,
    LOGGED,
];

type Conversations = HashMap<InTenant<ConversationId>, ConversationFacts>;

/// Locks the tenants of `query`, then reads its facts.
pub(crate) async fn read(
    connection: &mut PgConnection,
    query: &FactsQuery,
) -> Result<Facts, RepositoryError> {
    let ids: Vec<_> = query.tenants.iter().map(TenantId::as_str).collect();
    let lock = sqlx::query(LOCK).bind(ids);
    let heads = fetch(connection, lock, "tenants", head).await?;
    let (conversations, live_nodes) = conversations_and_nodes(connection, query).await?;
    let mut facts = Facts {
        heads,
        conversations,
        idempotency: idempotency(connection, &query.idempotency).await?,
        live_nodes,
        is_in_doubt: !query.logged_since.is_empty(),
        logged: logged(connection, query).await?,
        ..Facts::default()
    };
    let mut wanted = query.more_agents(&facts.conversations);
    wanted.extend(query.agents.iter().cloned());
    if !wanted.is_empty() {
        let agents = by_ids(AGENTS, &wanted, |id| id.uuid());
        facts.agents = fetch(connection, agents, "agents", agent_version).await?;
    }
    if !query.new_agents.is_empty() {
        let existing = by_ids(EXISTING_AGENTS, &query.new_agents, |id| id.uuid());
        facts.existing_agents = fetch(connection, existing, "agents", agent_id).await?;
    }
    if !query.names.is_empty() {
        let [tenants, owners, keys] = name_texts(&query.names);
        let named = sqlx::query(NAMED)
            .bind(tenants)
            .bind(name_agents(&query.names))
            .bind(owners)
            .bind(keys);
        facts.named = fetch(connection, named, "conversations", self::named).await?;
    }
    for ((tenant, id), agent) in query.deletions_with_open_turns(&facts.conversations) {
        let open = PostgresStore::open_turns(connection, &tenant, agent, Some(id)).await?;
        facts.open_turns.insert((tenant, id), open);
    }
    if !query.credentials.is_empty() {
        let ids = query.credentials.iter().map(CredentialId::as_str);
        let credentials = sqlx::query(CREDENTIALS).bind(ids.collect::<Vec<_>>());
        facts.credentials = fetch(connection, credentials, "credentials", credential).await?;
    }
    let mut wanted = query.more_turns(&facts);
    wanted.extend(query.ended.iter().cloned());
    facts.turns = turns(connection, &wanted).await?;
    Ok(facts)
}

/// Reads the heads of the tenants and the versions of the agents of `query`, without a lock.
pub(crate) async fn read_ahead(
    connection: &mut PgConnection,
    query: &FactsQuery,
) -> Result<Facts, RepositoryError> {
    let tenants: Vec<_> = query.tenants.iter().map(TenantId::as_str).collect();
    let agents = query.agents.iter();
    let of: Vec<_> = agents.clone().map(|(tenant, _)| tenant.as_str()).collect();
    let rows: Vec<(String, Option<Uuid>, i64)> = sqlx::query_as(HEADS_AND_AGENTS)
        .bind(tenants)
        .bind(of)
        .bind(agents.map(|(_, id)| id.uuid()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await
        .map_err(in_table("agents"))?;
    let mut facts = Facts::default();
    for (tenant, agent, number) in rows {
        match agent {
            Some(id) => facts.agents.extend([agent_version((tenant, id, number))?]),
            None => facts.heads.extend([head((tenant, number))?]),
        }
    }
    Ok(facts)
}

/// Reads turns with their replies.
pub(crate) async fn turns(
    connection: &mut PgConnection,
    wanted: &[InTenant<TurnId>],
) -> Result<HashMap<InTenant<TurnId>, TurnRow>, RepositoryError> {
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let turns = by_ids(TURNS, wanted, |id| id.uuid());
    fetch(connection, turns, "turns", turn).await
}

/// Reads the rows of a statement on `table`.
async fn fetch<R, T, C: FromIterator<T>>(
    connection: &mut PgConnection,
    query: Query<'static, Postgres, PgArguments>,
    table: &'static str,
    into: impl Fn(R) -> Result<T, RepositoryError>,
) -> Result<C, RepositoryError>
where
    R: for<'r> FromRow<'r, PgRow>,
{
    let rows = query.fetch_all(connection).await.map_err(from_sqlx)?;
    read::rows(table, rows, into)
}

/// Binds all `wanted` ids to `statement`.
fn by_ids<Id>(
    statement: &'static str,
    wanted: &[InTenant<Id>],
    uuid: impl Fn(&Id) -> Uuid,
) -> Query<'static, Postgres, PgArguments> {
    let tenants: Vec<_> = wanted.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let ids: Vec<_> = wanted.iter().map(|(_, id)| uuid(id)).collect();
    sqlx::query(statement).bind(tenants).bind(ids)
}

async fn conversations_and_nodes(
    connection: &mut PgConnection,
    query: &FactsQuery,
) -> Result<(Conversations, HashSet<NodeId>), RepositoryError> {
    if query.conversations.is_empty() && query.nodes.is_empty() {
        return Ok((Conversations::new(), HashSet::new()));
    }
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
            let found: StoredConversationFacts = read::row("conversations", row)?;
            conversations.extend([found.try_into()?]);
        }
    }
    let live_nodes = live_nodes.into_iter().map(NodeId::new).collect();
    Ok((conversations, live_nodes))
}

/// The tenants, users and keys of names. A user is empty if there is none.
pub(crate) fn name_texts(names: &[InTenant<ConversationName>]) -> [Vec<&str>; 3] {
    let column = |text: fn(&InTenant<ConversationName>) -> &str| names.iter().map(text).collect();
    [
        column(|(tenant, _)| tenant.as_str()),
        column(|(_, name)| name.user_id.as_deref().unwrap_or_default()),
        column(|(_, name)| name.key.as_str()),
    ]
}

/// The agents of names.
pub(crate) fn name_agents(names: &[InTenant<ConversationName>]) -> Vec<Uuid> {
    let agents = names.iter().map(|(_, name)| name.agent_id.uuid());
    agents.collect()
}

async fn idempotency(
    connection: &mut PgConnection,
    wanted: &[RecordKey],
) -> Result<HashMap<RecordKey, IdempotencyRecord>, RepositoryError> {
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let column = |text: fn(&RecordKey) -> &str| wanted.iter().map(text).collect::<Vec<_>>();
    let query = sqlx::query(RECORDS)
        .bind(column(|key| key.tenant.as_str()))
        .bind(column(|key| key.principal.as_str()))
        .bind(column(|key| &key.operation))
        .bind(column(|key| &key.key));
    fetch(
        connection,
        query,
        "idempotency_records",
        |row: StoredRecordWithKey| row.try_into(),
    )
    .await
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
    let agents = query.changed_agents.iter().map(|(_, id)| id.uuid());
    let query = sqlx::query(LOGGED)
        .bind(tenants)
        .bind(since.values().map(|seq| seq.0).collect::<Vec<_>>())
        .bind(conversations.collect::<Vec<_>>())
        .bind(agents.collect::<Vec<_>>());
    let events = fetch(connection, query, "events", StoredEventInDoubt::into_event);
    let events: Vec<Option<EventInDoubt>> = events.await?;
    Ok(events.into_iter().flatten().collect())
}
