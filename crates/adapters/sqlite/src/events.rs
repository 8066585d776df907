//! The log.

use std::collections::HashMap;

use async_trait::async_trait;
use domain::{
    AgentId, Conversation, ConversationId, EventType, Message, PrincipalId, Seq, TenantId, TurnId,
};
use ports::{EventLog, EventPage, EventQuery, LogBounds, LogHead, LoggedChange, RepositoryError};
use relational::{
    EventContent, EventRecord, EventRow, EventScan, EventTurn, column,
    event_page::{MOST_SCANNED, calculable, everything},
};
use sqlx::{FromRow, Row, sqlite::SqliteRow};
use uuid::Uuid;

use crate::{
    SqliteStore,
    conversation_row::{ConversationRow, conversation_columns, visible},
    error::{from_sqlx, in_table},
    facts::kind,
    messages::{MessageRow, message_columns},
    row,
    turn_row::{AnsweredTurn, join_reply, reply_columns, turn_columns},
};

/// Scans as many events as one page may, not the whole log for one that fits. Agents' events are those
/// that concern no conversation. Without the tenant's row there is no log at all.
const PAGE: &str = "\
    select t.first_seq, t.head_seq, e.seq, e.type, e.time, e.agent_id, e.conversation_id, \
        e.user_id, e.turn_id, e.actor, e.data, \
        exists (select 1 from agents a where a.tenant_id = t.id and a.id = e.agent_id \
            and a.deleted_at is null) as agent_exists, \
        exists (select 1 from conversations c where c.tenant_id = t.id \
            and c.id = e.conversation_id and c.deleted_at is null) as conversation_exists, \
        (select r.principal from turns r where r.tenant_id = t.id and r.id = e.turn_id) as asker \
    from tenants t left join ( \
        select * from events e \
        where e.tenant_id = ?1 and e.seq > ?2 and e.seq <= ?2 + ?4 \
            and (?5 is null or e.type in (select value from json_each(?5))) \
            and (?6 is null or e.agent_id = ?6) \
            and (?7 is null or e.conversation_id = ?7) \
            and case when e.conversation_id is null then ?8 \
                else (?9 or exists (select 1 from turns r where r.tenant_id = e.tenant_id \
                        and r.id = e.turn_id and r.principal = ?10)) \
                    and (?11 is null or e.user_id = ?11) end \
        order by e.seq limit ?3) e \
        on ?2 + 1 >= t.first_seq and ?2 <= t.head_seq \
    where t.id = ?1 order by e.seq";
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
const BOUNDS: &str = "select first_seq, head_seq from tenants where id = ?1";
const HEADS: &str = "select id, head_seq from tenants order by id";
const CHANGES: &str = "\
    select seq, type, agent_id, conversation_id, turn_id from events \
    where tenant_id = ?1 and seq > ?2 order by seq limit ?3";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    PAGE,
    TURNS,
    CONVERSATIONS,
    GREETINGS,
    BOUNDS,
    HEADS,
    CHANGES,
];

#[derive(sqlx::FromRow)]
struct RecordRow {
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
}

impl RecordRow {
    fn into_record(self, tenant: &TenantId) -> Result<EventRecord, RepositoryError> {
        let data = self.data.as_deref();
        let row = EventRow {
            tenant: tenant.clone(),
            seq: Seq(self.seq),
            kind: kind(&self.r#type)?,
            time: row::time(self.time),
            agent_id: self.agent_id.map(AgentId::new),
            conversation_id: self.conversation_id.map(ConversationId::new),
            user_id: self.user_id,
            turn_id: self.turn_id.map(TurnId::new),
            actor: PrincipalId::new(self.actor),
            data: data
                .map(|text| row::from_json("events.data", text))
                .transpose()?,
        };
        Ok(EventRecord {
            row,
            asker: self.asker.map(PrincipalId::new),
            agent_exists: self.agent_exists,
            conversation_exists: self.conversation_exists,
        })
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
            kind: kind(&row.r#type).ok(),
            agent_id: row.agent_id.map(AgentId::new),
            conversation_id: row.conversation_id.map(ConversationId::new),
            turn_id: row.turn_id.map(TurnId::new),
        }
    }
}

/// The log in SQLite.
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
        let content = self.content(tenant, &scan).await?;
        scan.into_page(query.since, query.limit, &content)
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
            .bind(row::count(limit))
            .fetch_all(&self.store.own_reader)
            .await
            .map_err(in_table("events"))?;
        Ok(rows.into_iter().map(LoggedChange::from).collect())
    }
}

/// First and newest event of a log that has none.
const EMPTY_LOG: (i64, i64) = (1, 0);

impl SqliteEvents {
    async fn scan(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<EventScan, RepositoryError> {
        let types: Vec<_> = query.types.iter().copied().map(EventType::as_str).collect();
        let types = if types.is_empty() {
            None
        } else {
            Some(row::to_json(&types)?)
        };
        let visibility = query.visibility.clone().unwrap_or_else(everything);
        let rows = sqlx::query(PAGE)
            .bind(tenant.as_str())
            .bind(calculable(query.since))
            .bind(row::count(query.limit))
            .bind(MOST_SCANNED)
            .bind(types)
            .bind(query.agent_id.map(AgentId::uuid))
            .bind(query.conversation_id.map(ConversationId::uuid))
            .bind(visibility.agents)
            .bind(visibility.conversations)
            .bind(visibility.principal.as_str())
            .bind(visibility.user_id.as_deref())
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
                let record = RecordRow::from_row(row).map_err(in_table("events"))?;
                records.push(record.into_record(tenant)?);
            }
        }
        Ok(EventScan {
            records,
            first: Seq(first),
            head: Seq(head),
        })
    }

    async fn content(
        &self,
        tenant: &TenantId,
        scan: &EventScan,
    ) -> Result<EventContent, RepositoryError> {
        let turns = scan.turn_ids().into_iter().map(TurnId::uuid);
        let turns: Vec<AnsweredTurn> = self.joined(TURNS, "turns", tenant, turns).await?;
        let conversations = scan
            .conversation_ids()
            .into_iter()
            .map(ConversationId::uuid);
        let conversations: Vec<ConversationRow> = self
            .joined(CONVERSATIONS, "conversations", tenant, conversations)
            .await?;
        let greetings = scan.greeting_ids().into_iter().map(ConversationId::uuid);
        let greetings: Vec<MessageRow> = self
            .joined(GREETINGS, "messages", tenant, greetings)
            .await?;
        Ok(EventContent {
            turns: keyed(turns, EventTurn::id)?,
            conversations: keyed(conversations, |conversation: &Conversation| conversation.id)?,
            greetings: keyed(greetings, |message: &Message| message.conversation_id)?,
        })
    }

    /// Reads what `ids` name; asks for nothing without any.
    async fn joined<R>(
        &self,
        statement: &'static str,
        table: &'static str,
        tenant: &TenantId,
        ids: impl Iterator<Item = Uuid>,
    ) -> Result<Vec<R>, RepositoryError>
    where
        R: for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        let ids: Vec<_> = ids.map(Uuid::simple).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        sqlx::query_as(statement)
            .bind(tenant.as_str())
            .bind(row::to_json(&ids)?)
            .fetch_all(&self.store.readers)
            .await
            .map_err(in_table(table))
    }
}

fn keyed<R, K, V>(rows: Vec<R>, key: impl Fn(&V) -> K) -> Result<HashMap<K, V>, RepositoryError>
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
