//! Reads the facts of a decision under the lock of its tenants.

mod statements;

use domain::{CredentialId, IdempotencyRecord, NodeId, TenantId};
use ports::{
    ConversationName, Facts, FactsQuery, RepositoryError,
    write_store::{EventInDoubt, InTenant, LoggedQuery, RecordKey},
};
use relational::{
    read,
    repositories::open_turns,
    stored::{
        StoredConversationFacts, StoredEventInDoubt, StoredRecordWithKey,
        facts::{
            add_files, add_steps, agent_id, agent_version, credential, feedback, head, named, note,
            running_turn, turn, uploads, user, whole_credential,
        },
        principal_column,
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
    sweep,
};

pub(crate) use statements::STATEMENTS;
use statements::{
    AGENTS, CONVERSATIONS_AND_NODES, CREDENTIALS, EXISTING_AGENTS, FEEDBACK, FILES,
    HEADS_AND_AGENTS, JOURNALS, LOCK, LOGGED, NAMED, NOTES, RECORDS, RUNNING_TURNS, TURNS, UPLOADS,
    USERS, WHOLE_CREDENTIALS,
};

/// Locks the tenants of `query`, then adds its facts.
pub(crate) async fn read(
    connection: &mut PgConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    let locked = query.locked_tenants();
    if !locked.is_empty() {
        let ids: Vec<_> = locked.into_iter().map(TenantId::as_str).collect();
        let lock = sqlx::query(LOCK).bind(ids);
        add(connection, &mut facts.heads, lock, "tenants", head).await?;
    }
    conversations_and_nodes(connection, query, facts).await?;
    if !query.idempotency.is_empty() {
        idempotency(connection, &query.idempotency, facts).await?;
    }
    if let Some(query) = &query.logged {
        facts.logged.extend(logged(connection, query).await?);
    }
    if !query.agents.is_empty() {
        let agents = by_ids(AGENTS, &query.agents, |id| id.uuid());
        let found = &mut facts.agents;
        add(connection, found, agents, "agents", agent_version).await?;
    }
    if !query.new_agents.is_empty() {
        let existing = by_ids(EXISTING_AGENTS, &query.new_agents, |id| id.uuid());
        let found = &mut facts.existing_agents;
        add(connection, found, existing, "agents", agent_id).await?;
    }
    if !query.new_names.is_empty() {
        let [tenants, owners, keys] = name_texts(&query.new_names);
        let named = sqlx::query(NAMED)
            .bind(tenants)
            .bind(name_agents(&query.new_names))
            .bind(owners)
            .bind(keys);
        let found = &mut facts.named;
        add(connection, found, named, "conversations", self::named).await?;
    }
    credentials(connection, query, facts).await?;
    users(connection, query, facts).await?;
    notes(connection, query, facts).await?;
    ratings(connection, query, facts).await?;
    if !query.turns.is_empty() {
        let turns = by_ids(TURNS, &query.turns, |id| id.uuid());
        add(connection, &mut facts.turns, turns, "turns", turn).await?;
    }
    if !query.journals.is_empty() {
        let journals = by_ids(JOURNALS, &query.journals, |id| id.uuid());
        let rows = journals.fetch_all(&mut *connection).await;
        let rows = read::rows("turn_steps", rows.map_err(from_sqlx)?, Ok)?;
        add_steps(facts, rows)?;
    }
    files(connection, query, facts).await?;
    running_turns(connection, query, facts).await?;
    for key in &query.open_turns {
        let open = open_turns::<PostgresStore>(connection, key).await?;
        facts.open_turns.insert(key.clone(), open);
    }
    if let Some(query) = &query.swept {
        let swept = sweep::swept(connection, query).await?;
        facts.swept.extend(swept);
    }
    Ok(())
}

async fn users(
    connection: &mut PgConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    if query.users.is_empty() {
        return Ok(());
    }
    let users = query.users.iter();
    let tenants: Vec<_> = users.clone().map(|(of, _)| of.as_str()).collect();
    let ids: Vec<_> = users.map(|(_, id)| id.as_str()).collect();
    let users = sqlx::query(USERS).bind(tenants).bind(ids);
    add(connection, &mut facts.users, users, "users", user).await
}

async fn notes(
    connection: &mut PgConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    if query.notes.is_empty() {
        return Ok(());
    }
    let notes = query.notes.iter();
    let tenants: Vec<_> = notes.clone().map(|note| note.tenant.as_str()).collect();
    let conversations = notes.clone().map(|note| note.conversation_id.uuid());
    let conversations: Vec<_> = conversations.collect();
    let ids: Vec<_> = notes.map(|note| note.id.uuid()).collect();
    let notes = sqlx::query(NOTES)
        .bind(tenants)
        .bind(conversations)
        .bind(ids);
    let found = &mut facts.notes;
    add(connection, found, notes, "conversation_notes", note).await
}

async fn files(
    connection: &mut PgConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    if !query.files.is_empty() {
        let files = by_ids(FILES, &query.files, |id| id.uuid());
        let rows = files.fetch_all(&mut *connection).await;
        add_files(facts, read::rows("files", rows.map_err(from_sqlx)?, Ok)?)?;
    }
    counted_uploads(connection, query, facts).await
}

async fn counted_uploads(
    connection: &mut PgConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    if query.uploads.is_empty() {
        return Ok(());
    }
    let days = query.uploads.iter();
    let tenants: Vec<_> = days.clone().map(|day| day.tenant.as_str()).collect();
    let principals: Vec<_> = days.clone().map(|day| day.principal.as_str()).collect();
    let ends: Vec<_> = days.map(|day| day.ends_at.date_time()).collect();
    let query = sqlx::query(UPLOADS)
        .bind(tenants)
        .bind(principals)
        .bind(ends);
    add(connection, &mut facts.uploads, query, "uploads", uploads).await
}

async fn ratings(
    connection: &mut PgConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    if query.feedback.is_empty() {
        return Ok(());
    }
    let keys = query.feedback.iter();
    let tenants: Vec<_> = keys.clone().map(|(of, _)| of.as_str()).collect();
    let conversations = keys.clone().map(|(_, key)| key.conversation_id.uuid());
    let seqs: Vec<_> = keys.clone().map(|(_, key)| key.message_seq).collect();
    let principals: Vec<_> = keys.map(|(_, key)| principal_column(key)).collect();
    let ratings = sqlx::query(FEEDBACK)
        .bind(tenants)
        .bind(conversations.collect::<Vec<_>>())
        .bind(seqs)
        .bind(principals);
    let found = &mut facts.feedback;
    add(connection, found, ratings, "feedback", feedback).await
}

async fn running_turns(
    connection: &mut PgConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    if query.running_turns.is_empty() {
        return Ok(());
    }
    let turns = query.running_turns.iter();
    let tenants: Vec<_> = turns.clone().map(|turn| turn.tenant.as_str()).collect();
    let ids: Vec<_> = turns.clone().map(|turn| turn.id.uuid()).collect();
    let nodes: Vec<_> = turns.map(|turn| turn.node.uuid()).collect();
    let running = sqlx::query(RUNNING_TURNS)
        .bind(tenants)
        .bind(ids)
        .bind(nodes);
    let found = &mut facts.running_turns;
    add(connection, found, running, "turns", running_turn).await
}

async fn credentials(
    connection: &mut PgConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    let ids = query.credentials.iter().map(|key| &key.id);
    let ids: Vec<_> = ids.chain(&query.new_credentials).collect();
    if !ids.is_empty() {
        let ids: Vec<_> = ids.into_iter().map(CredentialId::as_str).collect();
        let credentials = sqlx::query(CREDENTIALS).bind(ids);
        let found = &mut facts.credentials;
        add(connection, found, credentials, "credentials", credential).await?;
    }
    if !query.whole_credentials.is_empty() {
        let ids = query.whole_credentials.iter().map(CredentialId::as_str);
        let whole = sqlx::query(WHOLE_CREDENTIALS).bind(ids.collect::<Vec<_>>());
        let found = &mut facts.whole_credentials;
        let convert = whole_credential::<Vec<String>>;
        add(connection, found, whole, "credentials", convert).await?;
    }
    Ok(())
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

/// Adds the rows of a statement on `table` to `facts`.
async fn add<R, T>(
    connection: &mut PgConnection,
    facts: &mut impl Extend<T>,
    query: Query<'static, Postgres, PgArguments>,
    table: &'static str,
    into: impl Fn(R) -> Result<T, RepositoryError>,
) -> Result<(), RepositoryError>
where
    R: for<'r> FromRow<'r, PgRow>,
{
    let rows = query.fetch_all(connection).await.map_err(from_sqlx)?;
    let found: Vec<T> = read::rows(table, rows, into)?;
    facts.extend(found);
    Ok(())
}

/// Binds all `wanted` ids to `statement`.
fn by_ids<'i, Id: 'i>(
    statement: &'static str,
    wanted: impl IntoIterator<Item = &'i InTenant<Id>> + Copy,
    uuid: impl Fn(&Id) -> Uuid,
) -> Query<'static, Postgres, PgArguments> {
    let tenants = wanted.into_iter().map(|(tenant, _)| tenant.as_str());
    let tenants: Vec<_> = tenants.collect();
    let ids: Vec<_> = wanted.into_iter().map(|(_, id)| uuid(id)).collect();
    sqlx::query(statement).bind(tenants).bind(ids)
}

async fn conversations_and_nodes(
    connection: &mut PgConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    let wanted = query.conversations.iter().chain(&query.new_conversations);
    let tenants: Vec<_> = wanted.clone().map(|(tenant, _)| tenant.as_str()).collect();
    if tenants.is_empty() && query.nodes.is_empty() {
        return Ok(());
    }
    let statement = sqlx::query(CONVERSATIONS_AND_NODES)
        .bind(tenants)
        .bind(wanted.map(|(_, id)| id.uuid()).collect::<Vec<_>>())
        .bind(query.nodes.iter().map(|id| id.uuid()).collect::<Vec<_>>());
    let rows = statement.fetch_all(connection).await.map_err(from_sqlx)?;
    let live_nodes: Vec<Uuid> = match rows.first() {
        Some(row) => row.try_get("live_nodes").map_err(in_table("nodes"))?,
        None => Vec::new(),
    };
    facts
        .live_nodes
        .extend(live_nodes.into_iter().map(NodeId::new));
    for row in &rows {
        let id: Option<Uuid> = row.try_get("id").map_err(in_table("conversations"))?;
        if id.is_some() {
            let found: StoredConversationFacts = read::row("conversations", row)?;
            facts.conversations.extend([found.try_into()?]);
        }
    }
    Ok(())
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
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    let column = |text: fn(&RecordKey) -> &str| wanted.iter().map(text).collect::<Vec<_>>();
    let query = sqlx::query(RECORDS)
        .bind(column(|key| key.tenant.as_str()))
        .bind(column(|key| key.principal.as_str()))
        .bind(column(|key| &key.operation))
        .bind(column(|key| &key.key));
    add(
        connection,
        &mut facts.idempotency,
        query,
        "idempotency_records",
        record,
    )
    .await
}

fn record(row: StoredRecordWithKey) -> Result<(RecordKey, IdempotencyRecord), RepositoryError> {
    row.try_into()
}

async fn logged(
    connection: &mut PgConnection,
    query: &LoggedQuery,
) -> Result<Vec<EventInDoubt>, RepositoryError> {
    let tenants: Vec<_> = query.since.keys().map(TenantId::as_str).collect();
    let heads: Vec<_> = query.since.values().map(|seq| seq.0).collect();
    let conversations = query.conversations.iter().map(|id| id.uuid());
    let agents = query.agents.iter().map(|id| id.uuid());
    let query = sqlx::query(LOGGED)
        .bind(tenants)
        .bind(heads)
        .bind(conversations.collect::<Vec<_>>())
        .bind(agents.collect::<Vec<_>>());
    let rows = query.fetch_all(connection).await.map_err(from_sqlx)?;
    let events: Vec<Option<EventInDoubt>> =
        read::rows("events", rows, StoredEventInDoubt::into_event)?;
    Ok(events.into_iter().flatten().collect())
}
