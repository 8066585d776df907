//! Rows of the event log as they are stored.

use domain::{
    Agent, AgentId, ConversationId, EventType, PrincipalId, Seq, Stamp, TenantId, TurnId,
};
use ports::{
    EventRecord, LogBounds, LoggedChange, RepositoryError,
    write_store::{EventInDoubt, EventRow},
};
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

use crate::{
    column::{self, StoredTime},
    read::{self, ReadAs},
};

/// An event as a page of the log reads it.
#[derive(sqlx::FromRow)]
pub struct StoredEvent {
    seq: i64,
    r#type: String,
    time: StoredTime,
    agent_id: Option<Uuid>,
    conversation_id: Option<Uuid>,
    user_id: Option<String>,
    turn_id: Option<Uuid>,
    actor: String,
    data: Option<Value>,
    started_by: Option<String>,
    agent_exists: bool,
    conversation_exists: bool,
    bytes: i64,
}

impl StoredEvent {
    fn into_record(self, tenant: &TenantId) -> EventRecord {
        let row = EventRow {
            tenant: tenant.clone(),
            seq: Seq(self.seq),
            kind: EventType::read(&self.r#type),
            time: self.time.0,
            agent_id: self.agent_id.map(AgentId::new),
            conversation_id: self.conversation_id.map(ConversationId::new),
            user_id: self.user_id,
            turn_id: self.turn_id.map(TurnId::new),
            actor: PrincipalId::new(self.actor),
            data: self.data,
            snapshot: None,
        };
        EventRecord {
            row,
            started_by: self.started_by.map(PrincipalId::new),
            agent_exists: self.agent_exists,
            conversation_exists: self.conversation_exists,
            bytes: self.bytes,
        }
    }
}

/// The first and newest positions of an empty log.
pub(crate) const EMPTY_LOG: (i64, i64) = (1, 0);

/// The columns of a page of the log that describe the log. `seq` is null if no event was found.
#[derive(sqlx::FromRow)]
pub struct LogColumns {
    first_seq: i64,
    head_seq: i64,
    seq: Option<i64>,
}

/// Reads the rows of a statement that joins the events of a page to their tenant.
pub(crate) fn events_with_bounds<R: ReadAs<LogColumns> + ReadAs<StoredEvent>>(
    tenant: &TenantId,
    rows: &[R],
) -> Result<(Vec<EventRecord>, LogBounds), RepositoryError> {
    let (mut first, mut head) = EMPTY_LOG;
    let mut records = Vec::new();
    for row in rows {
        let log: LogColumns = read::row("tenants", row)?;
        (first, head) = (log.first_seq, log.head_seq);
        if log.seq.is_some() {
            let event: StoredEvent = read::row("events", row)?;
            records.push(event.into_record(tenant));
        }
    }
    Ok((records, LogBounds::new(Seq(first), Seq(head))))
}

/// The agent after an event, as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredSnapshot {
    seq: i64,
    agent: Json<Agent>,
}

impl From<StoredSnapshot> for (Seq, Agent) {
    fn from(row: StoredSnapshot) -> Self {
        (Seq(row.seq), row.agent.0)
    }
}

/// The type and subject of an event, as they are stored.
#[derive(sqlx::FromRow)]
pub struct StoredChange {
    seq: i64,
    r#type: String,
    agent_id: Option<Uuid>,
    conversation_id: Option<Uuid>,
    user_id: Option<String>,
    turn_id: Option<Uuid>,
    is_move: bool,
}

impl From<StoredChange> for LoggedChange {
    fn from(row: StoredChange) -> Self {
        Self {
            seq: Seq(row.seq),
            kind: EventType::known(&row.r#type),
            agent_id: row.agent_id.map(AgentId::new),
            conversation_id: row.conversation_id.map(ConversationId::new),
            user_id: row.user_id,
            turn_id: row.turn_id.map(TurnId::new),
            is_move: row.is_move,
        }
    }
}

/// An event that an attempt in doubt may have written, as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredEventInDoubt {
    tenant_id: String,
    seq: i64,
    r#type: String,
    time: StoredTime,
    actor: String,
    agent_id: Option<Uuid>,
    conversation_id: Option<Uuid>,
    turn_id: Option<Uuid>,
}

impl StoredEventInDoubt {
    /// Converts the row; `None` for an event of an unknown type, which this process cannot have
    /// written.
    pub fn into_event(self) -> Result<Option<EventInDoubt>, RepositoryError> {
        let Some(kind) = EventType::known(&self.r#type) else {
            return Ok(None);
        };
        Ok(Some(EventInDoubt {
            tenant: column::parse("tenants.id", &self.tenant_id)?,
            seq: Seq(self.seq),
            kind,
            stamp: Stamp {
                time: self.time.0,
                actor: PrincipalId::new(self.actor),
            },
            agent_id: self.agent_id.map(AgentId::new),
            conversation_id: self.conversation_id.map(ConversationId::new),
            turn_id: self.turn_id.map(TurnId::new),
        }))
    }
}
