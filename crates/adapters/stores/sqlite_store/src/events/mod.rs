//! The event log.

mod statements;

use domain::{Agent, AgentId, Conversation, ConversationId, EventType, Message, Seq, TenantId};
use ports::{EventQuery, LogBounds, LoggedChange, RepositoryError};
use relational::{
    EventRecord, EventTurn,
    event_page::{MAX_COUNTED_EVENTS, MAX_SCANNED_EVENTS, clamp_position, full_visibility},
    page_budget, read,
    repositories::EventSql,
    stored::{
        StoredChange, StoredConversation, StoredMessage, StoredSnapshot, StoredTurn,
        events_with_bounds,
    },
};
use serde::Serialize;
use sqlx::{
    FromRow,
    query::Query,
    sqlite::{Sqlite, SqliteArguments, SqliteRow},
    types::Json,
};
use uuid::{Uuid, fmt::Simple};

use crate::{
    SqliteStore,
    error::{from_sqlx, in_table},
};

pub(crate) use statements::STATEMENTS;
use statements::{BOUNDS, CHANGES, CONVERSATIONS, COUNT, GREETINGS, HEADS, PAGE, SNAPSHOTS, TURNS};

impl EventSql for SqliteStore {
    async fn scan_events(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<(Vec<EventRecord>, LogBounds), RepositoryError> {
        let page = filtered(PAGE, tenant, query, MAX_SCANNED_EVENTS);
        events_with_bounds(tenant, &self.fetch_all(page).await?)
    }

    async fn count_events(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<i64, RepositoryError> {
        let count = filtered(COUNT, tenant, query, MAX_COUNTED_EVENTS);
        self.fetch_value("events", count).await
    }

    async fn event_turns(
        &self,
        tenant: &TenantId,
        ids: Vec<Uuid>,
    ) -> Result<Vec<EventTurn>, RepositoryError> {
        fetch_joined(
            self,
            TURNS,
            "turns",
            tenant,
            hexadecimal(ids),
            |row: StoredTurn| row.try_into(),
        )
        .await
    }

    async fn event_conversations(
        &self,
        tenant: &TenantId,
        ids: Vec<Uuid>,
    ) -> Result<Vec<Conversation>, RepositoryError> {
        let convert = |row: StoredConversation| row.try_into();
        fetch_joined(
            self,
            CONVERSATIONS,
            "conversations",
            tenant,
            hexadecimal(ids),
            convert,
        )
        .await
    }

    async fn event_greetings(
        &self,
        tenant: &TenantId,
        ids: Vec<Uuid>,
    ) -> Result<Vec<Message>, RepositoryError> {
        let convert = |row: StoredMessage| Ok(row.into());
        fetch_joined(
            self,
            GREETINGS,
            "messages",
            tenant,
            hexadecimal(ids),
            convert,
        )
        .await
    }

    async fn event_snapshots(
        &self,
        tenant: &TenantId,
        positions: Vec<i64>,
    ) -> Result<Vec<(Seq, Agent)>, RepositoryError> {
        let convert = |row: StoredSnapshot| Ok(row.into());
        fetch_joined(
            self,
            SNAPSHOTS,
            "agent_snapshots",
            tenant,
            positions,
            convert,
        )
        .await
    }

    async fn log_bounds(&self, tenant: &TenantId) -> Result<Option<(i64, i64)>, RepositoryError> {
        let bounds = sqlx::query(BOUNDS).bind(tenant.as_str());
        let row = self.fetch_optional(bounds).await?;
        row.map(|row| read::row("tenants", &row)).transpose()
    }

    async fn log_heads(&self) -> Result<Vec<(String, i64)>, RepositoryError> {
        let heads = sqlx::query_as(HEADS).fetch_all(&self.own_reader).await;
        heads.map_err(in_table("tenants"))
    }

    async fn logged_changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let changes = sqlx::query(CHANGES)
            .bind(tenant.as_str())
            .bind(since.0)
            .bind(page_budget::row_count(limit));
        let rows = changes.fetch_all(&self.own_reader).await;
        let rows = rows.map_err(from_sqlx)?;
        read::rows("events", rows, |row: StoredChange| Ok(row.into()))
    }
}

/// Runs a statement for all `keys` of a tenant at once.
async fn fetch_joined<R, V, K>(
    store: &SqliteStore,
    statement: &'static str,
    table: &'static str,
    tenant: &TenantId,
    keys: Vec<K>,
    into: impl Fn(R) -> Result<V, RepositoryError>,
) -> Result<Vec<V>, RepositoryError>
where
    R: for<'r> FromRow<'r, SqliteRow>,
    K: Serialize,
{
    let query = sqlx::query(statement)
        .bind(tenant.as_str())
        .bind(Json(keys));
    let rows = store.fetch_all(query).await?;
    read::rows(table, rows, into)
}

/// Binds the parameters of a statement on the events that pass the filters of `query`, among the
/// next `scanned`.
fn filtered(
    statement: &'static str,
    tenant: &TenantId,
    query: &EventQuery,
    scanned: i64,
) -> Query<'static, Sqlite, SqliteArguments> {
    let types: Vec<_> = query
        .types
        .iter()
        .map(EventType::as_str)
        .map(str::to_owned)
        .collect();
    let types = (!types.is_empty()).then_some(Json(types));
    let visibility = query.visibility.clone().unwrap_or_else(full_visibility);
    sqlx::query(statement)
        .bind(tenant.to_string())
        .bind(clamp_position(query.since))
        .bind(page_budget::row_count(query.limit))
        .bind(scanned)
        .bind(types)
        .bind(query.agent_id.map(AgentId::uuid))
        .bind(query.conversation_id.map(ConversationId::uuid))
        .bind(visibility.agents)
        .bind(visibility.conversations)
        .bind(visibility.principal.as_str().to_owned())
        .bind(visibility.user_id)
}

/// Converts ids to the form that statements expect.
fn hexadecimal(ids: Vec<Uuid>) -> Vec<Simple> {
    ids.into_iter().map(Uuid::simple).collect()
}
