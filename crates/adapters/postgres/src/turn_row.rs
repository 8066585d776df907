//! A turn as it is stored.

use domain::{
    AgentId, ConversationId, Message, MessageId, NodeId, PrincipalId, Problem, Seq, TenantId,
    ToolCall, Turn, TurnId, config::Metadata,
};
use ports::RepositoryError;
use relational::{ClaimName, EventTurn, TurnRow, column};
use sqlx::{FromRow, Row, postgres::PgRow, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{messages::MessageRow, row};

/// The columns of a turn `r`.
macro_rules! turn_columns {
    () => {
        "r.tenant_id, r.id, r.conversation_id, r.agent_id, r.agent_version, r.status, \
         r.principal, r.input, r.message_id, r.turn_number, r.message_seq, r.reply_seq, \
         r.degraded, r.tool_calls, r.metadata, r.error, r.node_id, r.queued_seq, \
         r.claim_operation, r.claim_key, r.created_at, r.started_at, r.finished_at"
    };
}
pub(crate) use turn_columns;

/// The columns of the joined reply `m` of a turn.
macro_rules! reply_columns {
    () => {
        "m.id as reply_id, m.role as reply_role, m.content as reply_content, \
         m.created_at as reply_created_at, m.engine as reply_engine, \
         m.agent_version as reply_agent_version, m.finish_reason as reply_finish_reason, \
         m.input_tokens as reply_input_tokens, m.output_tokens as reply_output_tokens"
    };
}
pub(crate) use reply_columns;

/// The join of the reply `m` to a turn `r`. `offset 0` makes the planner look up the row by its
/// whole key: otherwise it might search by the tenant alone while tables are empty.
macro_rules! join_reply {
    () => {
        " left join lateral (select * from messages m where m.tenant_id = r.tenant_id \
         and m.conversation_id = r.conversation_id and m.seq = r.reply_seq offset 0) m on true "
    };
}
pub(crate) use join_reply;

#[derive(sqlx::FromRow)]
struct StoredTurn {
    tenant_id: String,
    id: Uuid,
    conversation_id: Uuid,
    agent_id: Uuid,
    agent_version: Option<i64>,
    status: String,
    principal: String,
    input: String,
    message_id: Uuid,
    turn_number: Option<i64>,
    message_seq: Option<i64>,
    reply_seq: Option<i64>,
    degraded: bool,
    tool_calls: Option<Json<Vec<ToolCall>>>,
    metadata: Option<Json<Metadata>>,
    error: Option<Json<Problem>>,
    node_id: Option<Uuid>,
    queued_seq: Option<i64>,
    claim_operation: Option<String>,
    claim_key: Option<String>,
    created_at: OffsetDateTime,
    started_at: Option<OffsetDateTime>,
    finished_at: Option<OffsetDateTime>,
}

/// A turn with its joined reply, if it has one.
pub(crate) struct TurnWithReply {
    turn: StoredTurn,
    reply: Option<MessageRow>,
}

impl<'r> FromRow<'r, PgRow> for TurnWithReply {
    fn from_row(row: &'r PgRow) -> Result<Self, sqlx::Error> {
        let turn = StoredTurn::from_row(row)?;
        let reply = match (row.try_get("reply_id")?, turn.reply_seq) {
            (Some(id), Some(seq)) => Some(MessageRow {
                id,
                conversation_id: turn.conversation_id,
                turn_id: Some(turn.id),
                seq,
                role: row.try_get("reply_role")?,
                content: row.try_get("reply_content")?,
                created_at: row.try_get("reply_created_at")?,
                engine: row.try_get("reply_engine")?,
                agent_version: row.try_get("reply_agent_version")?,
                finish_reason: row.try_get("reply_finish_reason")?,
                input_tokens: row.try_get("reply_input_tokens")?,
                output_tokens: row.try_get("reply_output_tokens")?,
            }),
            _ => None,
        };
        Ok(Self { turn, reply })
    }
}

impl TryFrom<StoredTurn> for TurnRow {
    type Error = RepositoryError;

    fn try_from(row: StoredTurn) -> Result<Self, RepositoryError> {
        let tenant: TenantId = column::parse("turns.tenant_id", &row.tenant_id)?;
        let claim = ClaimName::from_columns(row.claim_operation.clone(), row.claim_key.clone());
        Ok(Self {
            tenant,
            principal: PrincipalId::new(row.principal.as_str()),
            message_id: MessageId::new(row.message_id),
            message_seq: row.message_seq,
            turn_number: row.turn_number,
            reply_seq: row.reply_seq,
            node: row.node_id.map(NodeId::new),
            queued_seq: row.queued_seq.map(Seq),
            claim,
            turn: turn(row)?,
        })
    }
}

fn turn(row: StoredTurn) -> Result<Turn, RepositoryError> {
    Ok(Turn {
        id: TurnId::new(row.id),
        conversation_id: ConversationId::new(row.conversation_id),
        agent_id: AgentId::new(row.agent_id),
        agent_version: row.agent_version,
        status: column::turn_status(&row.status)?,
        reply: None,
        engine: None,
        degraded: row.degraded,
        finish_reason: None,
        usage: None,
        tool_calls: row.tool_calls.map_or_else(Vec::new, |calls| calls.0),
        metadata: row.metadata.map_or_else(Metadata::new, |pairs| pairs.0),
        error: row.error.map(|error| error.0),
        created_at: row::time(row.created_at),
        started_at: row.started_at.map(row::time),
        finished_at: row.finished_at.map(row::time),
        input: row.input,
    })
}

impl TryFrom<TurnWithReply> for EventTurn {
    type Error = RepositoryError;

    fn try_from(row: TurnWithReply) -> Result<Self, RepositoryError> {
        Ok(TurnRow::try_from(row)?.into())
    }
}

impl TryFrom<TurnWithReply> for TurnRow {
    type Error = RepositoryError;

    fn try_from(row: TurnWithReply) -> Result<Self, RepositoryError> {
        let reply = row.reply.map(Message::try_from).transpose()?;
        Ok(Self::try_from(row.turn)?.with_reply(reply))
    }
}
