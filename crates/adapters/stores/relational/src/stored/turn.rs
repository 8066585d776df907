//! A turn as it is stored.

use domain::{
    AgentId, ClientTool, ContinuedCall, ConversationId, FileReference, Message, MessageId, NodeId,
    PrincipalId, Problem, Reasoning, ResponseSchema, Seq, ToolCall, Turn, TurnId, TurnStatus,
    Usage, config::Metadata,
};
use ports::{
    EventTurn, FoundTurn, RepositoryError,
    write_store::{KeyName, OpenTurn, TurnRow},
};
use sqlx::{FromRow, Row, types::Json};
use uuid::Uuid;

use super::message::StoredMessage;
use crate::column::{self, StoredTime};

/// The columns of a turn `r`; for readers who need no reasoning, with a null in its place.
#[macro_export]
macro_rules! turn_columns {
    () => {
        $crate::turn_columns!("r.reasoning")
    };
    ($reasoning:literal) => {
        concat!(
            "r.tenant_id, r.id, r.conversation_id, r.agent_id, r.agent_version, ",
            $crate::turn_status!("r"),
            " as status, r.principal, r.input, r.message_id, r.turn_number, r.message_seq, \
             r.reply_seq, r.degraded, r.tool_calls, r.usage, r.metadata, r.error, r.node_id, \
             r.queued_seq, r.claim_operation, r.claim_key, r.created_at, r.started_at, \
             r.finished_at, r.client_message_id, r.retry_of, r.reuses_message, r.is_for_staff, \
             r.reply_id as reply_message_id, r.sort_seq, r.level, r.client_tools, r.continues, \
             r.instruction, r.files, r.action_expires_at, r.response_schema, ",
            $reasoning,
            " as reasoning"
        )
    };
}

/// The status of the turn `$turn`. One that waits for an answer is in progress in its column. One that has
/// ended may still have calls that wait for staff.
#[macro_export]
macro_rules! turn_status {
    ($turn:literal) => {
        concat!(
            "case when ",
            $turn,
            ".status = 'in_progress' and ",
            $turn,
            ".action_expires_at is not null then 'requires_action' else ",
            $turn,
            ".status end"
        )
    };
}

/// The condition that nodes of this level may end or start the turn `$turn` by themselves.
#[macro_export]
macro_rules! level_permits {
    ($turn:literal) => {
        concat!("coalesce(", $turn, ".level, 0) <= ", domain::level!())
    };
}

/// The columns of the joined reply `m` of a turn.
#[macro_export]
macro_rules! reply_columns {
    () => {
        "m.id as reply_id, m.role as reply_role, m.content as reply_content, \
         m.created_at as reply_created_at, m.engine as reply_engine, \
         m.agent_version as reply_agent_version, m.finish_reason as reply_finish_reason, \
         m.input_tokens as reply_input_tokens, m.output_tokens as reply_output_tokens, \
         m.repaired as reply_repaired, m.model as reply_model"
    };
}

/// The columns of a turn without its reply.
#[derive(sqlx::FromRow)]
pub struct TurnColumns {
    tenant_id: String,
    id: Uuid,
    conversation_id: Uuid,
    agent_id: Uuid,
    agent_version: Option<i64>,
    status: String,
    principal: String,
    input: String,
    files: Option<Json<Vec<FileReference>>>,
    message_id: Uuid,
    turn_number: Option<i64>,
    message_seq: Option<i64>,
    reply_seq: Option<i64>,
    degraded: bool,
    tool_calls: Option<Json<Vec<ToolCall>>>,
    usage: Option<Json<Usage>>,
    metadata: Option<Json<Metadata>>,
    error: Option<Json<Problem>>,
    node_id: Option<Uuid>,
    queued_seq: Option<i64>,
    claim_operation: Option<String>,
    claim_key: Option<String>,
    created_at: StoredTime,
    started_at: Option<StoredTime>,
    finished_at: Option<StoredTime>,
    client_message_id: Option<String>,
    retry_of: Option<Uuid>,
    reuses_message: bool,
    is_for_staff: bool,
    reply_message_id: Option<Uuid>,
    sort_seq: i64,
    level: Option<i32>,
    client_tools: Option<Json<Vec<ClientTool>>>,
    continues: Option<Json<ContinuedCall>>,
    instruction: Option<String>,
    action_expires_at: Option<StoredTime>,
    response_schema: Option<Json<ResponseSchema>>,
    reasoning: Option<Json<Reasoning>>,
}

/// The id of a joined reply, if the turn has one.
#[derive(sqlx::FromRow)]
pub struct ReplyId {
    reply_id: Option<Uuid>,
}

/// The columns of a joined reply that exists.
#[derive(sqlx::FromRow)]
#[expect(clippy::struct_field_names, reason = "these are the names of columns")]
pub struct ReplyColumns {
    reply_role: String,
    reply_content: String,
    reply_created_at: StoredTime,
    reply_engine: Option<String>,
    reply_agent_version: Option<i64>,
    reply_finish_reason: Option<String>,
    reply_input_tokens: Option<i64>,
    reply_output_tokens: Option<i64>,
    reply_repaired: Option<bool>,
    reply_model: Option<String>,
}

/// A turn as it is stored, with its joined reply if it has one.
pub struct StoredTurn {
    turn: TurnColumns,
    reply: Option<StoredMessage>,
}

impl<'r, R: Row> FromRow<'r, R> for StoredTurn
where
    TurnColumns: FromRow<'r, R>,
    ReplyId: FromRow<'r, R>,
    ReplyColumns: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let turn = TurnColumns::from_row(row)?;
        let reply = match (ReplyId::from_row(row)?.reply_id, turn.reply_seq) {
            (Some(id), Some(seq)) => {
                let reply = ReplyColumns::from_row(row)?;
                Some(StoredMessage {
                    id,
                    conversation_id: turn.conversation_id,
                    turn_id: Some(turn.id),
                    seq,
                    role: reply.reply_role,
                    content: reply.reply_content,
                    files: None,
                    created_at: reply.reply_created_at,
                    author: None,
                    own_client_message_id: None,
                    engine: reply.reply_engine,
                    model: reply.reply_model,
                    agent_version: reply.reply_agent_version,
                    finish_reason: reply.reply_finish_reason,
                    input_tokens: reply.reply_input_tokens,
                    output_tokens: reply.reply_output_tokens,
                    repaired: reply.reply_repaired,
                    superseded_at: None,
                })
            }
            _ => None,
        };
        Ok(Self { turn, reply })
    }
}

impl TryFrom<TurnColumns> for TurnRow {
    type Error = RepositoryError;

    fn try_from(row: TurnColumns) -> Result<Self, RepositoryError> {
        let has_known_status = TurnStatus::known(&row.status).is_some();
        let turn = Turn {
            id: TurnId::new(row.id),
            conversation_id: ConversationId::new(row.conversation_id),
            agent_id: AgentId::new(row.agent_id),
            agent_version: row.agent_version,
            status: TurnStatus::read(&row.status),
            reply: None,
            engine: None,
            model: None,
            degraded: row.degraded,
            finish_reason: None,
            output: None,
            repaired: false,
            reasoning: row.reasoning.map(|reasoning| reasoning.0),
            usage: row.usage.map(|usage| usage.0),
            tool_calls: column::tool_calls(
                row.tool_calls,
                TurnStatus::read(&row.status),
                row.action_expires_at.is_some(),
            ),
            metadata: row.metadata.map_or_else(Metadata::new, |pairs| pairs.0),
            error: row.error.map(|error| error.0),
            created_at: row.created_at.0,
            started_at: row.started_at.map(|time| time.0),
            finished_at: row.finished_at.map(|time| time.0),
            input: row.input,
            files: row.files.map_or_else(Vec::new, |files| files.0),
            client_message_id: row.client_message_id,
            retry_of: row.retry_of.map(TurnId::new),
            continues: row.continues.map(|call| call.0),
            instruction: row.instruction,
        };
        Ok(Self {
            tenant: column::parse("turns.tenant_id", &row.tenant_id)?,
            turn,
            principal: PrincipalId::new(row.principal),
            message_id: MessageId::new(row.message_id),
            reuses_message: row.reuses_message,
            is_for_staff: row.is_for_staff,
            reply_id: row.reply_message_id.map(MessageId::new),
            sort_seq: Seq(row.sort_seq),
            message_seq: row.message_seq,
            turn_number: row.turn_number,
            reply_seq: row.reply_seq,
            node: row.node_id.filter(|_| has_known_status).map(NodeId::new),
            queued_seq: row.queued_seq.map(Seq),
            idempotency: KeyName::from_columns(row.claim_operation, row.claim_key),
            level: row.level,
            action_expires_at: row.action_expires_at.map(|time| time.0),
            client_tools: row.client_tools.map_or_else(Vec::new, |tools| tools.0),
            response_schema: row.response_schema.map(|schema| schema.0),
        })
    }
}

impl TryFrom<StoredTurn> for TurnRow {
    type Error = RepositoryError;

    fn try_from(row: StoredTurn) -> Result<Self, RepositoryError> {
        let reply = row.reply.map(Message::from);
        Ok(Self::try_from(row.turn)?.with_reply(reply))
    }
}

impl TryFrom<StoredTurn> for EventTurn {
    type Error = RepositoryError;

    fn try_from(row: StoredTurn) -> Result<Self, RepositoryError> {
        Ok(TurnRow::try_from(row)?.into())
    }
}

impl TryFrom<StoredTurn> for Turn {
    type Error = RepositoryError;

    fn try_from(row: StoredTurn) -> Result<Self, RepositoryError> {
        Ok(TurnRow::try_from(row)?.turn)
    }
}

/// A turn with the user that its conversation belongs to, as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredTurnWithUser {
    #[sqlx(flatten)]
    turn: StoredTurn,
    owner: Option<String>,
}

impl TryFrom<StoredTurnWithUser> for FoundTurn {
    type Error = RepositoryError;

    fn try_from(row: StoredTurnWithUser) -> Result<Self, RepositoryError> {
        Ok(TurnRow::try_from(row.turn)?.into_found_turn(row.owner))
    }
}

/// The part of an open turn that the deletion of its agent or conversation needs, as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredOpenTurn {
    id: Uuid,
    conversation_id: Uuid,
    agent_id: Uuid,
    user_id: Option<String>,
    latest_time: StoredTime,
}

impl From<StoredOpenTurn> for OpenTurn {
    fn from(row: StoredOpenTurn) -> Self {
        Self {
            id: TurnId::new(row.id),
            conversation_id: ConversationId::new(row.conversation_id),
            agent_id: AgentId::new(row.agent_id),
            user_id: row.user_id,
            latest_time: row.latest_time.0,
        }
    }
}
