//! Reads the facts of a batch under the lock of its tenants.

mod statements;

use std::collections::{HashMap, HashSet};

use domain::{ConversationId, CredentialId, IdempotencyRecord, NodeId, TenantId, TurnId};
use ports::{ConversationName, RepositoryError};
use relational::{
    ConversationFacts, EventInDoubt, Facts, FactsQuery, InTenant, RecordKey, TurnRow, read,
    repositories::TurnSql as _,
    stored::{
        StoredConversationFacts, StoredEventInDoubt, StoredRecordWithKey,
        facts::{agent_id, agent_version, credential, head, named, turn},
    },
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
};

pub(crate) use statements::STATEMENTS;
use statements::{
    AGENTS, CONVERSATIONS_AND_NODES, CREDENTIALS, EXISTING_AGENTS, HEADS_AND_AGENTS, LOCK, LOGGED,
    NAMED, RECORDS, TURNS,
};

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

/// The tenants, users and keys of names. A user is empty if the conversation has no user.
fn name_texts(names: &[InTenant<ConversationName>]) -> [Vec<&str>; 3] {
    let column = |text: fn(&InTenant<ConversationName>) -> &str| names.iter().map(text).collect();
    [
        column(|(tenant, _)| tenant.as_str()),
        column(|(_, name)| name.user_id.as_deref().unwrap_or_default()),
        column(|(_, name)| name.key.as_str()),
    ]
}

/// The agents of names.
fn name_agents(names: &[InTenant<ConversationName>]) -> Vec<Uuid> {
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
