//! The event log.

use std::{collections::HashMap, future::Future, hash::Hash};

use async_trait::async_trait;
use domain::{Agent, Conversation, ConversationId, Message, Seq, TenantId, TurnId};
use ports::{EventLog, EventPage, EventQuery, LogBounds, LogHead, LoggedChange, RepositoryError};
use uuid::Uuid;

use crate::{
    EventContent, EventRecord, EventScan, EventTurn, column, store::Store, stored::EMPTY_LOG,
};

/// The SQL on the event log.
pub trait EventSql: Store {
    /// Reads the events that pass the filters of `query`, with the bounds of the log.
    fn scan_events(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> impl Future<Output = Result<(Vec<EventRecord>, LogBounds), RepositoryError>> + Send;

    /// Counts the events that pass the filters of `query`.
    fn count_events(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> impl Future<Output = Result<i64, RepositoryError>> + Send;

    /// Reads turns with their replies.
    fn event_turns(
        &self,
        tenant: &TenantId,
        ids: Vec<Uuid>,
    ) -> impl Future<Output = Result<Vec<EventTurn>, RepositoryError>> + Send;

    /// Reads conversations that are not deleted.
    fn event_conversations(
        &self,
        tenant: &TenantId,
        ids: Vec<Uuid>,
    ) -> impl Future<Output = Result<Vec<Conversation>, RepositoryError>> + Send;

    /// Reads the greetings of conversations.
    fn event_greetings(
        &self,
        tenant: &TenantId,
        conversation_ids: Vec<Uuid>,
    ) -> impl Future<Output = Result<Vec<Message>, RepositoryError>> + Send;

    /// Reads the agents after the events at `positions`.
    fn event_snapshots(
        &self,
        tenant: &TenantId,
        positions: Vec<i64>,
    ) -> impl Future<Output = Result<Vec<(Seq, Agent)>, RepositoryError>> + Send;

    /// The columns `first_seq` and `head_seq` of a tenant.
    fn log_bounds(
        &self,
        tenant: &TenantId,
    ) -> impl Future<Output = Result<Option<(i64, i64)>, RepositoryError>> + Send;

    /// The columns `id` and `head_seq` of all tenants, by id.
    fn log_heads(&self)
    -> impl Future<Output = Result<Vec<(String, i64)>, RepositoryError>> + Send;

    /// `EventLog::changes`.
    fn logged_changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<LoggedChange>, RepositoryError>> + Send;
}

/// The event log in a store.
pub struct Events<S>(pub S);

#[async_trait]
impl<S: EventSql> EventLog for Events<S> {
    async fn page(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<EventPage, RepositoryError> {
        let (records, bounds) = self.0.scan_events(tenant, query).await?;
        let scan = EventScan::new(records, bounds, query);
        let mut content = content(&self.0, tenant, &scan).await?;
        scan.into_page(&mut content)
    }

    async fn count(&self, tenant: &TenantId, query: &EventQuery) -> Result<usize, RepositoryError> {
        let count = self.0.count_events(tenant, query).await?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError> {
        let bounds = self.0.log_bounds(tenant).await?;
        let (first, head) = bounds.unwrap_or(EMPTY_LOG);
        Ok(LogBounds::new(Seq(first), Seq(head)))
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        let heads = self.0.log_heads().await?;
        let convert = |(id, head): (String, i64)| {
            Ok(LogHead {
                tenant: column::parse("tenants.id", &id)?,
                head: Seq(head),
            })
        };
        heads.into_iter().map(convert).collect()
    }

    async fn changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        self.0.logged_changes(tenant, since, limit).await
    }
}

/// Reads the content of the events of `scan`, one kind at a time; runs no statement for a kind that
/// does not occur.
async fn content<S: EventSql>(
    store: &S,
    tenant: &TenantId,
    scan: &EventScan,
) -> Result<EventContent, RepositoryError> {
    let mut content = EventContent::default();
    let turns = uuids(scan.turn_ids(), TurnId::uuid);
    if !turns.is_empty() {
        content.turns = index_by(store.event_turns(tenant, turns).await?, EventTurn::id);
    }
    let conversations = uuids(scan.conversation_ids(), ConversationId::uuid);
    if !conversations.is_empty() {
        let found = store.event_conversations(tenant, conversations).await?;
        content.conversations = index_by(found, |conversation| conversation.id);
    }
    let greetings = uuids(scan.greeting_ids(), ConversationId::uuid);
    if !greetings.is_empty() {
        let found = store.event_greetings(tenant, greetings).await?;
        content.greetings = index_by(found, |message| message.conversation_id);
    }
    let snapshots = scan.snapshot_positions();
    if !snapshots.is_empty() {
        let found = store.event_snapshots(tenant, snapshots).await?;
        content.snapshots = found.into_iter().collect();
    }
    Ok(content)
}

fn uuids<Id>(ids: Vec<Id>, uuid: impl Fn(Id) -> Uuid) -> Vec<Uuid> {
    ids.into_iter().map(uuid).collect()
}

fn index_by<K: Hash + Eq, V>(values: Vec<V>, key: impl Fn(&V) -> K) -> HashMap<K, V> {
    let index = values.into_iter().map(|value| (key(&value), value));
    index.collect()
}
