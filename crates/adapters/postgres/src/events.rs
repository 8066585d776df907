//! The event log.

use std::collections::HashMap;

use async_trait::async_trait;
use domain::{
    Agent, AgentId, Conversation, ConversationId, EventType, Message, PrincipalId, Seq, TenantId,
    TurnId,
};
use ports::{EventLog, EventPage, EventQuery, LogBounds, LogHead, LoggedChange, RepositoryError};
use relational::{
    EventContent, EventRecord, EventRow, EventScan, EventTurn, column,
    event_page::{MAX_COUNTED_EVENTS, MAX_SCANNED_EVENTS, clamp_position, full_visibility},
};
use serde_json::Value;
use sqlx::{
    Encode, FromRow, Postgres, Row, Type,
    postgres::{PgArguments, PgRow},
    query::Query,
    types::Json,
};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    PostgresStore,
    conversation_row::{ConversationRow, conversation_columns, visible},
    error::in_table,
    messages::{MessageRow, message_columns},
    row,
    turn_row::{TurnWithReply, join_reply, reply_columns, turn_columns},
};

/// The condition on events `e`: after a position, within the scan length, and passing the filters.
macro_rules! filtered {
    () => {
        "where e.tenant_id = $1 and e.seq > $2 and e.seq <= $2 + $4 \
            and ($5::text[] is null or e.type = any($5)) \
            and ($6::uuid is null or e.agent_id = $6) \
            and ($7::uuid is null or e.conversation_id = $7) \
            and case when e.conversation_id is null then $8 \
                else ($9 or exists (select 1 from turns r where r.tenant_id = e.tenant_id \
                        and r.id = e.turn_id and r.principal = $10)) \
                    and ($11::text is null or e.user_id = $11) end"
    };
}

/// Scans at most as many events as one page may, instead of the whole log for one match. Events
/// without a conversation belong to agents. Without the tenant's row there is no log. Only the size
/// of the content is read, and computed where a node of an earlier version did not store it. Input
/// and reply of a turn count twice, since an event contains them in the turn and as the message.
const PAGE: &str = concat!(
    "select t.first_seq, t.head_seq, e.seq, e.type, e.time, e.agent_id, e.conversation_id, \
        e.user_id, e.turn_id, e.actor, \
        case when e.type not in ('agent.created', 'agent.updated') then e.data end as data, \
        exists (select 1 from agents a where a.tenant_id = t.id and a.id = e.agent_id \
            and num_nonnulls(a.deleted_at) = 0) as agent_exists, \
        exists (select 1 from conversations c where c.tenant_id = t.id \
            and c.id = e.conversation_id and num_nonnulls(c.deleted_at) = 0) as conversation_exists, \
        (select r.principal from turns r where r.tenant_id = t.id and r.id = e.turn_id) as asker, \
        coalesce( \
            case when e.type in ('agent.created', 'agent.updated') \
                then coalesce(e.bytes, octet_length(e.data::text)) end, \
            (select 2 * (octet_length(to_json(r.input)::text) + coalesce((select octet_length(to_json(m.content)::text) \
                    from messages m where m.tenant_id = r.tenant_id \
                        and m.conversation_id = r.conversation_id and m.seq = r.reply_seq), 0)) \
                    + coalesce(octet_length(r.tool_calls::text), 0) \
                    + coalesce(octet_length(r.metadata::text), 0) \
                from turns r where r.tenant_id = t.id and r.id = e.turn_id), \
            (select octet_length(c.metadata::text) + coalesce((select octet_length(to_json(m.content)::text) \
                    from messages m where m.tenant_id = c.tenant_id \
                        and m.conversation_id = c.id and m.seq = 1), 0) \
                from conversations c where c.tenant_id = t.id and c.id = e.conversation_id \
                    and e.type in ('conversation.created', 'conversation.updated')), \
            0)::bigint as bytes \
    from tenants t left join lateral ( select * from events e ",
    filtered!(),
    " order by e.seq limit $3) e \
        on $2 + 1 >= t.first_seq and $2 <= t.head_seq \
    where t.id = $1 order by e.seq"
);
/// Counts at most as many events as the limit allows.
const COUNT: &str = concat!(
    "select count(*) from (select 1 from events e ",
    filtered!(),
    " limit $3) e"
);
/// `offset 0` makes the planner look up the turn by its whole key, as in `join_reply`.
const TURNS: &str = concat!(
    "select ",
    turn_columns!(),
    ", ",
    reply_columns!(),
    " from unnest($2::uuid[]) q (id) cross join lateral (select * from turns r \
     where r.tenant_id = $1 and r.id = q.id offset 0) r ",
    join_reply!()
);
const CONVERSATIONS: &str = concat!(
    "select ",
    conversation_columns!(),
    " from conversations c where c.tenant_id = $1 and c.id = any($2) and ",
    visible!()
);
const GREETINGS: &str = concat!(
    "select ",
    message_columns!(),
    " from unnest($2::uuid[]) as q (id) cross join lateral (select * from messages m \
     where m.tenant_id = $1 and m.conversation_id = q.id and m.seq = 1 limit 1) m \
     where m.turn_id is null"
);
const SNAPSHOTS: &str = "\
    select seq, data as agent from events where tenant_id = $1 and seq = any($2)";
const BOUNDS: &str = "select first_seq, head_seq from tenants where id = $1";
const HEADS: &str = "select id, head_seq from tenants order by id";
const CHANGES: &str = "\
    select seq, type, agent_id, conversation_id, turn_id from events \
    where tenant_id = $1 and seq > $2 order by seq limit $3";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    PAGE,
    COUNT,
    TURNS,
    CONVERSATIONS,
    GREETINGS,
    SNAPSHOTS,
    BOUNDS,
    HEADS,
    CHANGES,
];

#[derive(sqlx::FromRow)]
struct EventRecordRow {
    seq: i64,
    r#type: String,
    time: OffsetDateTime,
    agent_id: Option<Uuid>,
    conversation_id: Option<Uuid>,
    user_id: Option<String>,
    turn_id: Option<Uuid>,
    actor: String,
    data: Option<Value>,
    asker: Option<String>,
    agent_exists: bool,
    conversation_exists: bool,
    bytes: i64,
}

impl EventRecordRow {
    fn into_record(self, tenant: &TenantId) -> Result<EventRecord, RepositoryError> {
        let row = EventRow {
            tenant: tenant.clone(),
            seq: Seq(self.seq),
            kind: column::event_type(&self.r#type)?,
            time: row::time(self.time),
            agent_id: self.agent_id.map(AgentId::new),
            conversation_id: self.conversation_id.map(ConversationId::new),
            user_id: self.user_id,
            turn_id: self.turn_id.map(TurnId::new),
            actor: PrincipalId::new(self.actor),
            data: self.data,
            snapshot: None,
        };
        Ok(EventRecord {
            row,
            asker: self.asker.map(PrincipalId::new),
            agent_exists: self.agent_exists,
            conversation_exists: self.conversation_exists,
            bytes: self.bytes,
        })
    }
}

#[derive(sqlx::FromRow)]
struct SnapshotRow {
    seq: i64,
    agent: Json<Agent>,
}

impl TryFrom<SnapshotRow> for (Seq, Agent) {
    type Error = RepositoryError;

    fn try_from(row: SnapshotRow) -> Result<Self, RepositoryError> {
        Ok((Seq(row.seq), row.agent.0))
    }
}

#[derive(sqlx::FromRow)]
struct ChangeRow {
    seq: i64,
    r#type: String,
    agent_id: Option<Uuid>,
    conversation_id: Option<Uuid>,
    turn_id: Option<Uuid>,
}

impl From<ChangeRow> for LoggedChange {
    fn from(row: ChangeRow) -> Self {
        Self {
            seq: Seq(row.seq),
            kind: column::event_type(&row.r#type).ok(),
            agent_id: row.agent_id.map(AgentId::new),
            conversation_id: row.conversation_id.map(ConversationId::new),
            turn_id: row.turn_id.map(TurnId::new),
        }
    }
}

/// The event log in PostgreSQL.
pub(crate) struct PostgresEvents {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl EventLog for PostgresEvents {
    async fn page(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<EventPage, RepositoryError> {
        let scan = self.scan(tenant, query).await?;
        let mut content = self.content(tenant, &scan).await?;
        scan.into_page(&mut content)
    }

    async fn count(&self, tenant: &TenantId, query: &EventQuery) -> Result<usize, RepositoryError> {
        let count = filtered(COUNT, tenant, query, MAX_COUNTED_EVENTS);
        let count: i64 = self.store.connections.fetch_value("events", count).await?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError> {
        let read = sqlx::query(BOUNDS).bind(tenant.as_str());
        let row = self.store.connections.fetch_optional(read).await?;
        let bounds: Option<(i64, i64)> = row.map(|row| row::read("tenants", &row)).transpose()?;
        let (first, head) = bounds.unwrap_or(EMPTY_LOG);
        Ok(LogBounds::new(Seq(first), Seq(head)))
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        let rows = self.store.connections.fetch_all(sqlx::query(HEADS)).await?;
        let read = |row| {
            let (id, head): (String, i64) = row::read("tenants", row)?;
            Ok(LogHead {
                tenant: column::parse("tenants.id", &id)?,
                head: Seq(head),
            })
        };
        rows.iter().map(read).collect()
    }

    async fn changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let changes = sqlx::query(CHANGES)
            .bind(tenant.as_str())
            .bind(since.0)
            .bind(row::row_count(limit));
        let rows = self.store.connections.fetch_all(changes).await?;
        rows.iter()
            .map(|row| Ok(row::read::<ChangeRow>("events", row)?.into()))
            .collect()
    }
}

/// The first and newest positions of an empty log.
const EMPTY_LOG: (i64, i64) = (1, 0);

impl PostgresEvents {
    async fn scan(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<EventScan, RepositoryError> {
        let page = filtered(PAGE, tenant, query, MAX_SCANNED_EVENTS);
        let rows = self.store.connections.fetch_all(page).await?;
        let (mut first, mut head) = EMPTY_LOG;
        let mut records = Vec::new();
        for row in &rows {
            first = row.try_get("first_seq").map_err(in_table("tenants"))?;
            head = row.try_get("head_seq").map_err(in_table("tenants"))?;
            let is_event = row
                .try_get::<Option<i64>, _>("seq")
                .map_err(in_table("events"))?;
            if is_event.is_some() {
                let record = row::read::<EventRecordRow>("events", row)?;
                records.push(record.into_record(tenant)?);
            }
        }
        let bounds = LogBounds::new(Seq(first), Seq(head));
        Ok(EventScan::new(records, bounds, query))
    }

    async fn content(
        &self,
        tenant: &TenantId,
        scan: &EventScan,
    ) -> Result<EventContent, RepositoryError> {
        let turns = scan.turn_ids().into_iter().map(TurnId::uuid).collect();
        let turns = self.fetch_joined::<TurnWithReply, _, _>(TURNS, "turns", tenant, turns);
        let turns = index_by(turns.await?, EventTurn::id);
        let conversations = scan
            .conversation_ids()
            .into_iter()
            .map(ConversationId::uuid)
            .collect();
        let conversations = self
            .fetch_joined::<ConversationRow, _, _>(
                CONVERSATIONS,
                "conversations",
                tenant,
                conversations,
            )
            .await?;
        let greetings = scan.greeting_ids().into_iter();
        let greetings = greetings.map(ConversationId::uuid).collect();
        let greetings = self
            .fetch_joined::<MessageRow, _, _>(GREETINGS, "messages", tenant, greetings)
            .await?;
        let snapshots = self
            .fetch_joined::<SnapshotRow, _, _>(
                SNAPSHOTS,
                "events",
                tenant,
                scan.snapshot_positions(),
            )
            .await?;
        Ok(EventContent {
            turns,
            conversations: index_by(conversations, |conversation: &Conversation| conversation.id),
            greetings: index_by(greetings, |message: &Message| message.conversation_id),
            snapshots: snapshots.into_iter().collect(),
        })
    }

    /// Reads the rows with the given keys, one by one; runs no statement without keys.
    async fn fetch_joined<R, V, K>(
        &self,
        statement: &'static str,
        table: &'static str,
        tenant: &TenantId,
        keys: Vec<K>,
    ) -> Result<Vec<V>, RepositoryError>
    where
        R: for<'r> FromRow<'r, PgRow>,
        V: TryFrom<R, Error = RepositoryError>,
        Vec<K>: Encode<'static, Postgres> + Type<Postgres> + Send + 'static,
    {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let query = sqlx::query(statement).bind(tenant.as_str()).bind(keys);
        let rows = self.store.connections.fetch_all(query).await?;
        let read = |row| V::try_from(row::read(table, &row)?);
        rows.into_iter().map(read).collect()
    }
}

/// Binds the parameters of a statement on the events that pass the filters of `query`, among the
/// next `scanned`.
fn filtered(
    statement: &'static str,
    tenant: &TenantId,
    query: &EventQuery,
    scanned: i64,
) -> Query<'static, Postgres, PgArguments> {
    let types: Vec<_> = query.types.iter().copied().map(EventType::as_str).collect();
    let types = (!types.is_empty()).then_some(types);
    let visibility = query.visibility.clone().unwrap_or_else(full_visibility);
    sqlx::query(statement)
        .bind(tenant.as_str())
        .bind(clamp_position(query.since))
        .bind(row::row_count(query.limit))
        .bind(scanned)
        .bind(types)
        .bind(query.agent_id.map(AgentId::uuid))
        .bind(query.conversation_id.map(ConversationId::uuid))
        .bind(visibility.agents)
        .bind(visibility.conversations)
        .bind(visibility.principal.as_str())
        .bind(visibility.user_id.as_deref())
}

fn index_by<K, V>(values: Vec<V>, key: impl Fn(&V) -> K) -> HashMap<K, V>
where
    K: std::hash::Hash + Eq,
{
    let index_by = values.into_iter().map(|value| (key(&value), value));
    index_by.collect()
}
