//! Reads the facts of a decision under the lock of its tenants.

mod statements;

use domain::{AgentId, ConversationId, CredentialId, IdempotencyRecord, NodeId, TenantId, TurnId};
use ports::{
    ConversationName, Facts, FactsQuery, RepositoryError,
    write_store::{
        ConversationFacts, EventInDoubt, FeedbackKey, InTenant, LoggedQuery, NoteKey, RecordKey,
        RunningTurn, UploadDay,
    },
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
use sqlx::{FromRow, SqliteConnection, sqlite::SqliteRow, types::Json};
use uuid::{Uuid, fmt::Simple};

use crate::{
    SqliteStore,
    batch_query::{BatchQuery, fetch},
    error::from_sqlx,
    sweep,
};

pub(crate) use statements::STATEMENTS;
use statements::{
    AGENTS, CONVERSATIONS, CREDENTIALS, EXISTING_AGENTS, FEEDBACK, FILES, HEADS, JOURNALS,
    LIVE_NODES, LOGGED, NAMED, NOTES, RECORDS, RUNNING_TURNS, TURNS, UPLOADS, USERS,
    WHOLE_CREDENTIALS,
};

/// Adds the facts of `query`. The transaction is the lock of the tenants.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    entities(connection, query, facts).await?;
    // Apart, since later queries of a decision often name turns alone.
    let turns = BatchQuery::new(TURNS, query.turns.iter().map(turn_key))?;
    let running = BatchQuery::new(RUNNING_TURNS, query.running_turns.iter().map(running_key))?;
    let journals = BatchQuery::new(JOURNALS, query.journals.iter().map(turn_key))?;
    let whole = query.whole_credentials.iter().map(CredentialId::as_str);
    let whole = BatchQuery::new(WHOLE_CREDENTIALS, whole)?;
    let users = query.users.iter().map(|(of, id)| (of.as_str(), id));
    let users = BatchQuery::new(USERS, users)?;
    let notes = BatchQuery::new(NOTES, query.notes.iter().map(note_key))?;
    let ratings = BatchQuery::new(FEEDBACK, query.feedback.iter().map(feedback_key))?;
    let files = query.files.iter().map(|(of, id)| key(of, id.uuid()));
    let files = BatchQuery::new(FILES, files)?;
    let days = BatchQuery::new(UPLOADS, query.uploads.iter().map(upload_key))?;
    let queries = [
        turns, running, journals, whole, users, notes, ratings, files, days,
    ];
    let [
        found,
        running,
        journals,
        whole,
        users,
        notes,
        ratings,
        files,
        days,
    ] = fetch(connection, queries).await?;
    add(&mut facts.uploads, "uploads", days, uploads)?;
    add(&mut facts.notes, "conversation_notes", notes, note)?;
    add(&mut facts.feedback, "feedback", ratings, feedback)?;
    add(&mut facts.users, "users", users, user)?;
    add(&mut facts.turns, "turns", found, turn)?;
    add(&mut facts.running_turns, "turns", running, running_turn)?;
    add(
        &mut facts.whole_credentials,
        "credentials",
        whole,
        whole_credential::<Json<Vec<String>>>,
    )?;
    add_steps(facts, read::rows("turn_steps", journals, Ok)?)?;
    add_files(facts, read::rows("files", files, Ok)?)?;
    for key in &query.open_turns {
        let open = open_turns::<SqliteStore>(connection, key).await?;
        facts.open_turns.insert(key.clone(), open);
    }
    if let Some(query) = &query.logged {
        facts.logged.extend(logged(connection, query).await?);
    }
    if let Some(query) = &query.swept {
        let swept = sweep::swept(connection, query).await?;
        facts.swept.extend(swept);
    }
    Ok(())
}

/// Adds the facts that one round trip to SQLite's thread reads.
async fn entities(
    connection: &mut SqliteConnection,
    query: &FactsQuery,
    facts: &mut Facts,
) -> Result<(), RepositoryError> {
    let conversations = query.conversations.iter().chain(&query.new_conversations);
    let conversations = conversations.map(|(of, id)| key(of, id.uuid()));
    let credentials = query.credentials.iter().map(|key| &key.id);
    let credentials = credentials.chain(&query.new_credentials);
    let queries = [
        BatchQuery::new(HEADS, query.tenants.iter().map(TenantId::as_str))?,
        BatchQuery::new(CONVERSATIONS, conversations)?,
        BatchQuery::new(AGENTS, query.agents.iter().map(agent_key))?,
        BatchQuery::new(EXISTING_AGENTS, query.new_agents.iter().map(agent_key))?,
        BatchQuery::new(NAMED, query.new_names.iter().map(name_columns))?,
        BatchQuery::new(CREDENTIALS, credentials.map(CredentialId::as_str))?,
        BatchQuery::new(RECORDS, query.idempotency.iter().map(key_columns))?,
        BatchQuery::new(LIVE_NODES, query.nodes.iter().map(|id| id.uuid().simple()))?,
    ];
    let [
        heads,
        conversations,
        agents,
        existing,
        named,
        credentials,
        records,
        live_nodes,
    ] = fetch(connection, queries).await?;
    add(&mut facts.heads, "tenants", heads, head)?;
    add(
        &mut facts.conversations,
        "conversations",
        conversations,
        conversation,
    )?;
    add(&mut facts.agents, "agents", agents, agent_version)?;
    add(&mut facts.existing_agents, "agents", existing, agent_id)?;
    add(&mut facts.named, "conversations", named, self::named)?;
    add(
        &mut facts.credentials,
        "credentials",
        credentials,
        credential,
    )?;
    add(
        &mut facts.idempotency,
        "idempotency_records",
        records,
        record,
    )?;
    add(&mut facts.live_nodes, "nodes", live_nodes, |(id,)| {
        Ok(NodeId::new(id))
    })
}

/// Adds the rows of a statement on `table` to `facts`.
fn add<S, T, C>(
    facts: &mut C,
    table: &'static str,
    rows: Vec<SqliteRow>,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<(), RepositoryError>
where
    S: for<'r> FromRow<'r, SqliteRow>,
    C: Extend<T>,
{
    let found: Vec<T> = read::rows(table, rows, into)?;
    facts.extend(found);
    Ok(())
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

fn note_key(note: &NoteKey) -> (&str, Simple, Simple) {
    let (conversation, id) = (note.conversation_id.uuid(), note.id.uuid());
    (note.tenant.as_str(), conversation.simple(), id.simple())
}

fn upload_key(day: &UploadDay) -> (&str, &str, i64) {
    let ends_at = day.ends_at.milliseconds();
    (day.tenant.as_str(), day.principal.as_str(), ends_at)
}

fn running_key(turn: &RunningTurn) -> (&str, Simple, Simple) {
    let (id, node) = (turn.id.uuid().simple(), turn.node.uuid().simple());
    (turn.tenant.as_str(), id, node)
}

fn feedback_key((tenant, of): &InTenant<FeedbackKey>) -> (&str, Simple, i64, &str) {
    let conversation = of.conversation_id.uuid().simple();
    let principal = principal_column(of);
    (tenant.as_str(), conversation, of.message_seq, principal)
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
    query: &LoggedQuery,
) -> Result<Vec<EventInDoubt>, RepositoryError> {
    let since = query.since.iter();
    let since: Vec<_> = since.map(|(of, head)| (of.as_str(), head.0)).collect();
    let conversations = query.conversations.iter().map(|id| id.uuid().simple());
    let agents = query.agents.iter().map(|id| id.uuid().simple());
    let rows = sqlx::query(LOGGED)
        .bind(Json(&since))
        .bind(Json(conversations.collect::<Vec<_>>()))
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
