//! Reads the facts of a batch under the lock of its tenants.

use std::collections::HashMap;

use domain::{AgentId, ConversationId, CredentialId, IdempotencyRecord, NodeId, TenantId, TurnId};
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
use sqlx::{SqliteConnection, types::Json};
use uuid::{Uuid, fmt::Simple};

use crate::{
    SqliteStore,
    error::from_sqlx,
    fragments::join_reply,
    script::{self, BatchQuery},
};

const HEADS: &str = "\
    select t.id, t.head_seq from json_each(?) q cross join tenants t on t.id = q.value";
const CONVERSATIONS: &str = "\
    select c.tenant_id, c.id, c.agent_id, a.version as agent_version, c.user_id, \
        c.version, c.message_count as last_message_seq, c.superseded_count, \
        case c.superseded_count when 0 then c.message_count else coalesce((select max(m.seq) \
            from messages m where m.tenant_id = c.tenant_id and m.conversation_id = c.id \
            and m.superseded_at is null), 0) end as visible_message_seq, c.turn_count, c.created_at, c.updated_at, c.last_message_at, \
        (select r.id from turns r where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
            and r.conversation_id = c.id and r.status in ('queued', 'in_progress') \
            and r.status = 'in_progress') as running, \
        (select count(*) from turns r where r.tenant_id = c.tenant_id \
            and r.agent_id = c.agent_id and r.conversation_id = c.id \
            and r.status in ('queued', 'in_progress') and r.status = 'queued') as waiting, \
        (select r.id from turns r where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
            and r.conversation_id = c.id and r.status in ('queued', 'in_progress') \
            and r.status = 'queued' order by r.queued_seq limit 1) as first_waiting \
    from json_each(?) q \
    cross join conversations c \
        on c.tenant_id = q.value ->> 0 and c.id = unhex(q.value ->> 1) \
    cross join agents a on a.tenant_id = c.tenant_id and a.id = c.agent_id \
    where c.deleted_at is null and a.deleted_at is null";
const AGENTS: &str = "\
    select a.tenant_id, a.id, a.version from json_each(?) q \
    cross join agents a on a.tenant_id = q.value ->> 0 and a.id = unhex(q.value ->> 1) \
    where a.deleted_at is null";
const EXISTING_AGENTS: &str = "\
    select a.tenant_id, a.id from json_each(?) q \
    cross join agents a on a.tenant_id = q.value ->> 0 and a.id = unhex(q.value ->> 1)";
const TURNS: &str = concat!(
    "select ",
    turn_columns!(),
    ", ",
    reply_columns!(),
    " from json_each(?) q \
     cross join turns r on r.tenant_id = q.value ->> 0 and r.id = unhex(q.value ->> 1)",
    join_reply!()
);
const NAMED: &str = "\
    select c.tenant_id, c.agent_id, c.user_id, c.key, c.id from json_each(?) q \
    cross join conversations c on c.tenant_id = q.value ->> 0 \
        and c.agent_id = unhex(q.value ->> 1) and coalesce(c.user_id, '') = q.value ->> 2 \
        and c.key = q.value ->> 3 \
    where c.key is not null and c.deleted_at is null";
const CREDENTIALS: &str = "\
    select c.id, c.tenant_id, c.kind, c.revoked_at is not null \
    from json_each(?) q cross join credentials c on c.id = q.value";
const RECORDS: &str = "\
    select r.tenant_id, r.principal, r.operation, r.key, r.fingerprint, r.turn_id, \
        r.released_into, r.released_by, r.answer, r.created_at \
    from json_each(?) q cross join idempotency_records r \
        on r.tenant_id = q.value ->> 0 and r.principal = q.value ->> 1 \
        and r.operation = q.value ->> 2 and r.key = q.value ->> 3";
const LIVE_NODES: &str = "\
    select n.id from json_each(?) q cross join nodes n on n.id = unhex(q.value) \
    where n.swept = 0";
const LOGGED: &str = "\
    select e.tenant_id, e.seq, e.type, e.time, e.actor, e.agent_id, e.conversation_id, e.turn_id \
    from json_each(?) q cross join events e \
        on e.tenant_id = q.value ->> 0 and e.seq > q.value ->> 1 \
    where e.conversation_id in (select unhex(value) from json_each(?)) \
        or e.conversation_id is null \
            and e.agent_id in (select unhex(value) from json_each(?)) \
    order by e.tenant_id, e.seq";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    HEADS,
    CONVERSATIONS,
    AGENTS,
    EXISTING_AGENTS,
    TURNS,
    NAMED,
    CREDENTIALS,
    RECORDS,
    LIVE_NODES,
    LOGGED,
];

/// Reads the facts of `query`. The transaction is the lock of the tenants.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
    query: &FactsQuery,
) -> Result<Facts, RepositoryError> {
    let conversations = query.conversations.iter();
    let conversations = conversations.map(|(of, id)| key(of, id.uuid()));
    let queries = [
        BatchQuery::new(HEADS, query.tenants.iter().map(TenantId::as_str))?,
        BatchQuery::new(CONVERSATIONS, conversations)?,
        BatchQuery::new(AGENTS, query.agents.iter().map(agent_key))?,
        BatchQuery::new(EXISTING_AGENTS, query.new_agents.iter().map(agent_key))?,
        BatchQuery::new(TURNS, query.ended.iter().map(turn_key))?,
        BatchQuery::new(NAMED, query.names.iter().map(name_columns))?,
        BatchQuery::new(
            CREDENTIALS,
            query.credentials.iter().map(CredentialId::as_str),
        )?,
        BatchQuery::new(RECORDS, query.idempotency.iter().map(key_columns))?,
        BatchQuery::new(LIVE_NODES, query.nodes.iter().map(|id| id.uuid().simple()))?,
    ];
    let [
        heads,
        conversations,
        agents,
        existing,
        turns,
        named,
        credentials,
        idempotency,
        live_nodes,
    ] = script::fetch(connection, queries).await?;
    let mut facts = Facts {
        heads: read::rows("tenants", heads, head)?,
        conversations: read::rows("conversations", conversations, conversation)?,
        agents: read::rows("agents", agents, agent_version)?,
        existing_agents: read::rows("agents", existing, agent_id)?,
        turns: read::rows("turns", turns, turn)?,
        named: read::rows("conversations", named, self::named)?,
        credentials: read::rows("credentials", credentials, credential)?,
        idempotency: read::rows("idempotency_records", idempotency, record)?,
        live_nodes: read::rows("nodes", live_nodes, |(id,)| Ok(NodeId::new(id)))?,
        is_in_doubt: !query.logged_since.is_empty(),
        logged: logged(connection, query).await?,
        ..Facts::default()
    };
    read_more(connection, query, &mut facts).await?;
    Ok(facts)
}

/// Reads the facts that depend on those read so far; usually there are none.
async fn read_more(
    connection: &mut SqliteConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    let agents = query.more_agents(&facts.conversations);
    if !agents.is_empty() {
        let query = BatchQuery::new(AGENTS, agents.iter().map(agent_key))?;
        let [found] = script::fetch(connection, [query]).await?;
        facts.agents.extend(read::rows::<_, _, _, Vec<_>>(
            "agents",
            found,
            agent_version,
        )?);
    }
    for ((tenant, id), agent) in query.deletions_with_open_turns(&facts.conversations) {
        let open = SqliteStore::open_turns(connection, &tenant, agent, Some(id)).await?;
        facts.open_turns.insert((tenant, id), open);
    }
    let turns = query.more_turns(facts);
    if !turns.is_empty() {
        facts.turns.extend(self::turns(connection, &turns).await?);
    }
    Ok(())
}

/// Reads turns with their replies.
pub(crate) async fn turns(
    connection: &mut SqliteConnection,
    wanted: &[InTenant<TurnId>],
) -> Result<HashMap<InTenant<TurnId>, TurnRow>, RepositoryError> {
    let query = BatchQuery::new(TURNS, wanted.iter().map(turn_key))?;
    let [found] = script::fetch(connection, [query]).await?;
    read::rows("turns", found, turn)
}

fn conversation(
    row: StoredConversationFacts,
) -> Result<(InTenant<ConversationId>, ConversationFacts), RepositoryError> {
    row.try_into()
}

fn record(row: StoredRecordWithKey) -> Result<(RecordKey, IdempotencyRecord), RepositoryError> {
    row.try_into()
}

fn agent_key((tenant, id): &InTenant<AgentId>) -> (&str, Simple) {
    key(tenant, id.uuid())
}

fn turn_key((tenant, id): &InTenant<TurnId>) -> (&str, Simple) {
    key(tenant, id.uuid())
}

/// The columns of a conversation's name. The user is empty if there is none.
pub(crate) fn name_columns(
    (tenant, name): &InTenant<ConversationName>,
) -> (&str, Simple, &str, &str) {
    (
        tenant.as_str(),
        name.agent_id.uuid().simple(),
        name.user_id.as_deref().unwrap_or_default(),
        name.key.as_str(),
    )
}

pub(crate) fn key_columns(key: &RecordKey) -> (&str, &str, &str, &str) {
    (
        key.tenant.as_str(),
        key.principal.as_str(),
        &key.operation,
        &key.key,
    )
}

async fn logged(
    connection: &mut SqliteConnection,
    query: &FactsQuery,
) -> Result<Vec<EventInDoubt>, RepositoryError> {
    if query.logged_since.is_empty() {
        return Ok(Vec::new());
    }
    let since = query.logged_since.iter();
    let since: Vec<_> = since.map(|(of, head)| (of.as_str(), head.0)).collect();
    let conversations = query.conversations.iter();
    let conversations: Vec<_> = conversations.map(|(_, id)| id.uuid().simple()).collect();
    let agents = query
        .changed_agents
        .iter()
        .map(|(_, id)| id.uuid().simple());
    let rows = sqlx::query(LOGGED)
        .bind(Json(&since))
        .bind(Json(&conversations))
        .bind(Json(agents.collect::<Vec<_>>()))
        .fetch_all(connection)
        .await
        .map_err(from_sqlx)?;
    let events: Vec<Option<EventInDoubt>> =
        read::rows("events", rows, StoredEventInDoubt::into_event)?;
    Ok(events.into_iter().flatten().collect())
}

fn key(tenant: &TenantId, id: Uuid) -> (&str, Simple) {
    (tenant.as_str(), id.simple())
}
