//! Reads the facts of a batch under the lock of its tenants.

mod statements;

use std::collections::HashMap;

use domain::{AgentId, ConversationId, CredentialId, IdempotencyRecord, NodeId, TenantId, TurnId};
use ports::{ConversationName, RepositoryError};
use relational::{
    ConversationFacts, EventInDoubt, Facts, FactsQuery, InTenant, RecordKey, TurnRow, read,
    repositories::TurnSql as _,
    stored::{
        StoredConversationFacts, StoredEventInDoubt, StoredRecordWithKey,
        facts::{agent_id, agent_version, credential, head, named, turn},
    },
};
use sqlx::{SqliteConnection, types::Json};
use uuid::{Uuid, fmt::Simple};

use crate::{
    SqliteStore,
    batch_query::{BatchQuery, fetch},
    error::from_sqlx,
};

pub(crate) use statements::STATEMENTS;
use statements::{
    AGENTS, CONVERSATIONS, CREDENTIALS, EXISTING_AGENTS, HEADS, LIVE_NODES, LOGGED, NAMED, RECORDS,
    TURNS,
};

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
    ] = fetch(connection, queries).await?;
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
        let [found] = fetch(connection, [query]).await?;
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
    let [found] = fetch(connection, [query]).await?;
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

/// The columns of a conversation's name. The user is empty if the conversation has no user.
fn name_columns((tenant, name): &InTenant<ConversationName>) -> (&str, Simple, &str, &str) {
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
