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
use serde::Serialize;
use sqlx::{
    FromRow, Row,
    query::Query,
    sqlite::{Sqlite, SqliteArguments, SqliteRow},
};
use uuid::{Uuid, fmt::Simple};

use crate::{
    SqliteStore,
    conversation_row::{ConversationRow, conversation_columns, visible},
    error::{from_sqlx, in_table},
    messages::{MessageRow, message_columns},
    row,
    turn_row::{TurnWithReply, join_reply, reply_columns, turn_columns},
};

/// The condition on events `e`: after a position, within the scan length, and passing the filters.
macro_rules! filtered {
    () => {
        "where e.tenant_id = ?1 and e.seq > ?2 and e.seq <= ?2 + ?4 \
            and (?5 is null or e.type in (select value from json_each(?5))) \
            and (?6 is null or e.agent_id = ?6) \
            and (?7 is null or e.conversation_id = ?7) \
            and case when e.conversation_id is null then ?8 \
                else (?9 or exists (select 1 from turns r where r.tenant_id = e.tenant_id \
                        and r.id = e.turn_id and r.principal = ?10)) \
                    and (?11 is null or e.user_id = ?11) end"
    };
}

/// Scans at most as many events as one page may, instead of the whole log for one match. Events
/// without a conversation belong to agents. Without the tenant's row there is no log. Only the size
/// of the content is read. Input and reply of a turn count twice, since an event contains them in
/// the turn and as the message.
const PAGE: &str = concat!(
    "select t.first_seq, t.head_seq, e.seq, e.type, e.time, e.agent_id, e.conversation_id, \
        e.user_id, e.turn_id, e.actor, e.data, \
        exists (select 1 from agents a where a.tenant_id = t.id and a.id = e.agent_id \
            and a.deleted_at is null) as agent_exists, \
        exists (select 1 from conversations c where c.tenant_id = t.id \
            and c.id = e.conversation_id and c.deleted_at is null) as conversation_exists, \
        (select r.principal from turns r where r.tenant_id = t.id and r.id = e.turn_id) as asker, \
        coalesce( \
            (select octet_length(s.agent) from agent_snapshots s \
                where s.tenant_id = t.id and s.seq = e.seq), \
            (select 2 * (octet_length(json_quote(r.input)) + coalesce((select octet_length(json_quote(m.content)) \
                    from messages m where m.tenant_id = r.tenant_id \
                        and m.conversation_id = r.conversation_id and m.seq = r.reply_seq), 0)) \
                    + coalesce(octet_length(r.tool_calls), 0) \
                    + coalesce(octet_length(r.metadata), 0) \
                from turns r where r.tenant_id = t.id and r.id = e.turn_id), \
            (select octet_length(c.metadata) + coalesce((select octet_length(json_quote(m.content)) \
                    from messages m where m.tenant_id = c.tenant_id \
                        and m.conversation_id = c.id and m.seq = 1), 0) \
                from conversations c where c.tenant_id = t.id and c.id = e.conversation_id \
                    and e.type in ('conversation.created', 'conversation.updated')), \
            0) as bytes \
    from tenants t left join ( select * from events e ",
    filtered!(),
    " order by e.seq limit ?3) e \
        on ?2 + 1 >= t.first_seq and ?2 <= t.head_seq \
    where t.id = ?1 order by e.seq"
);
/// Counts at most as many events as the limit allows.
const COUNT: &str = concat!(
    "select count(*) from (select 1 from events e ",
    filtered!(),
    " limit ?3) e"
);
const TURNS: &str = concat!(
    "select ",
    turn_columns!(),
    ", ",
    reply_columns!(),
    " from json_each(?2) q cross join turns r on r.tenant_id = ?1 and r.id = unhex(q.value)",
    join_reply!()
);
const CONVERSATIONS: &str = concat!(
    "select ",
    conversation_columns!(),
    " from json_each(?2) q cross join conversations c \
     on c.tenant_id = ?1 and c.id = unhex(q.value) where ",
    visible!()
);
const GREETINGS: &str = concat!(
    "select ",
    message_columns!(),
    " from json_each(?2) q cross join messages m \
     on m.tenant_id = ?1 and m.conversation_id = unhex(q.value) and m.seq = 1 \
     where m.turn_id is null"
);
const SNAPSHOTS: &str = "\
    select s.seq, s.agent from json_each(?2) q cross join agent_snapshots s \
    on s.tenant_id = ?1 and s.seq = q.value";
const BOUNDS: &str = "select first_seq, head_seq from tenants where id = ?1";
const HEADS: &str = "select id, head_seq from tenants order by id";
const CHANGES: &str = "\
    select seq, type, agent_id, conversation_id, turn_id from events \
    where tenant_id = ?1 and seq > ?2 order by seq limit ?3";

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
    time: i64,
    agent_id: Option<Uuid>,
    conversation_id: Option<Uuid>,
    user_id: Option<String>,
    turn_id: Option<Uuid>,
    actor: String,
    data: Option<String>,
    asker: Option<String>,
    agent_exists: bool,
    conversation_exists: bool,
    bytes: i64,
}

impl EventRecordRow {
    fn into_record(self, tenant: &TenantId) -> Result<EventRecord, RepositoryError> {
        let data = self.data.as_deref();
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
            data: data
                .map(|text| row::from_json("events.data", text))
                .transpose()?,
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
    agent: String,
}

impl TryFrom<SnapshotRow> for (Seq, Agent) {
    type Error = RepositoryError;

    fn try_from(row: SnapshotRow) -> Result<Self, RepositoryError> {
        let agent = row::from_json("agent_snapshots.agent", &row.agent)?;
        Ok((Seq(row.seq), agent))
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

/// The event log in SQLite.
pub(crate) struct SqliteEvents {
    pub(crate) store: SqliteStore,
}

#[async_trait]
impl EventLog for SqliteEvents {
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
        let row = filtered(COUNT, tenant, query, MAX_COUNTED_EVENTS)?
            .fetch_one(&self.store.readers)
            .await
            .map_err(from_sqlx)?;
        let count: i64 = row.try_get(0).map_err(in_table("events"))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError> {
        let bounds: Option<(i64, i64)> = sqlx::query_as(BOUNDS)
            .bind(tenant.as_str())
            .fetch_optional(&self.store.readers)
            .await
            .map_err(in_table("tenants"))?;
        let (first, head) = bounds.unwrap_or(EMPTY_LOG);
        Ok(LogBounds::new(Seq(first), Seq(head)))
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        let heads: Vec<(String, i64)> = sqlx::query_as(HEADS)
            .fetch_all(&self.store.own_reader)
            .await
            .map_err(in_table("tenants"))?;
        let read = |(id, head): (String, i64)| {
            Ok(LogHead {
                tenant: column::parse("tenants.id", &id)?,
                head: Seq(head),
            })
        };
        heads.into_iter().map(read).collect()
    }

    async fn changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let rows: Vec<ChangeRow> = sqlx::query_as(CHANGES)
            .bind(tenant.as_str())
            .bind(since.0)
            .bind(row::row_count(limit))
            .fetch_all(&self.store.own_reader)
            .await
            .map_err(in_table("events"))?;
        Ok(rows.into_iter().map(LoggedChange::from).collect())
    }
}

/// The first and newest positions of an empty log.
const EMPTY_LOG: (i64, i64) = (1, 0);

impl SqliteEvents {
    async fn scan(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<EventScan, RepositoryError> {
        let rows = filtered(PAGE, tenant, query, MAX_SCANNED_EVENTS)?
            .fetch_all(&self.store.readers)
            .await
            .map_err(from_sqlx)?;
        let (mut first, mut head) = EMPTY_LOG;
        let mut records = Vec::new();
        for row in &rows {
            first = row.try_get("first_seq").map_err(in_table("tenants"))?;
            head = row.try_get("head_seq").map_err(in_table("tenants"))?;
            let is_event = row
                .try_get::<Option<i64>, _>("seq")
                .map_err(in_table("events"))?;
            if is_event.is_some() {
                let record = EventRecordRow::from_row(row).map_err(in_table("events"))?;
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
        let turns = hexadecimal(scan.turn_ids().into_iter().map(TurnId::uuid));
        let turns: Vec<TurnWithReply> = self.fetch_joined(TURNS, "turns", tenant, turns).await?;
        let conversations = scan.conversation_ids().into_iter();
        let conversations = hexadecimal(conversations.map(ConversationId::uuid));
        let conversations: Vec<ConversationRow> = self
            .fetch_joined(CONVERSATIONS, "conversations", tenant, conversations)
            .await?;
        let greetings = hexadecimal(scan.greeting_ids().into_iter().map(ConversationId::uuid));
        let greetings: Vec<MessageRow> = self
            .fetch_joined(GREETINGS, "messages", tenant, greetings)
            .await?;
        let snapshots: Vec<SnapshotRow> = self
            .fetch_joined(
                SNAPSHOTS,
                "agent_snapshots",
                tenant,
                scan.snapshot_positions(),
            )
            .await?;
        let snapshots = snapshots.into_iter().map(<(Seq, Agent)>::try_from);
        Ok(EventContent {
            turns: index_by(turns, EventTurn::id)?,
            conversations: index_by(conversations, |conversation: &Conversation| conversation.id)?,
            greetings: index_by(greetings, |message: &Message| message.conversation_id)?,
            snapshots: snapshots.collect::<Result<_, _>>()?,
        })
    }

    /// Reads the rows with the given keys; runs no statement without keys.
    async fn fetch_joined<R>(
        &self,
        statement: &'static str,
        table: &'static str,
        tenant: &TenantId,
        keys: Vec<impl Serialize>,
    ) -> Result<Vec<R>, RepositoryError>
    where
        R: for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        sqlx::query_as(statement)
            .bind(tenant.as_str())
            .bind(row::to_json(&keys)?)
            .fetch_all(&self.store.readers)
            .await
            .map_err(in_table(table))
    }
}

/// Binds the parameters of a statement on the events that pass the filters of `query`, among the
/// next `scanned`.
fn filtered(
    statement: &'static str,
    tenant: &TenantId,
    query: &EventQuery,
    scanned: i64,
) -> Result<Query<'static, Sqlite, SqliteArguments>, RepositoryError> {
    let types: Vec<_> = query.types.iter().copied().map(EventType::as_str).collect();
    let types = if types.is_empty() {
        None
    } else {
        Some(row::to_json(&types)?)
    };
    let visibility = query.visibility.clone().unwrap_or_else(full_visibility);
    Ok(sqlx::query(statement)
        .bind(tenant.to_string())
        .bind(clamp_position(query.since))
        .bind(row::row_count(query.limit))
        .bind(scanned)
        .bind(types)
        .bind(query.agent_id.map(AgentId::uuid))
        .bind(query.conversation_id.map(ConversationId::uuid))
        .bind(visibility.agents)
        .bind(visibility.conversations)
        .bind(visibility.principal.as_str().to_owned())
        .bind(visibility.user_id))
}

/// Converts ids to the form that statements expect.
fn hexadecimal(ids: impl Iterator<Item = Uuid>) -> Vec<Simple> {
    ids.map(Uuid::simple).collect()
}

fn index_by<R, K, V>(rows: Vec<R>, key: impl Fn(&V) -> K) -> Result<HashMap<K, V>, RepositoryError>
where
    K: std::hash::Hash + Eq,
    V: TryFrom<R, Error = RepositoryError>,
{
    let read = |row| {
        let value = V::try_from(row)?;
        Ok((key(&value), value))
    };
    rows.into_iter().map(read).collect()
}
