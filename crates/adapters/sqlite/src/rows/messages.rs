//! Rows of `messages`.

use domain::FinishReason;
use ports::RepositoryError;
use relational::MessageRow;
use serde::Serialize;
use uuid::fmt::Simple;

use crate::script::Script;

const INSERT: &str = concat!(
    given!(),
    "insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, \
        created_at, engine, agent_version, finish_reason, input_tokens, output_tokens) \
    select entry ->> 'tenant', unhex(entry ->> 'conversation'), entry ->> 'seq', \
        unhex(entry ->> 'id'), unhex(entry ->> 'turn'), entry ->> 'role', entry ->> 'content', \
        entry ->> 'created', entry ->> 'engine', entry ->> 'agentVersion', \
        entry ->> 'finishReason', entry ->> 'inputTokens', entry ->> 'outputTokens' \
    from given"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewMessage<'r> {
    tenant: &'r str,
    conversation: Simple,
    seq: i64,
    id: Simple,
    turn: Option<Simple>,
    role: &'static str,
    content: &'r str,
    created: i64,
    engine: Option<&'r str>,
    agent_version: Option<i64>,
    finish_reason: Option<&'static str>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
}

/// Inserts new messages.
pub(super) fn insert(script: &mut Script, rows: &[MessageRow]) -> Result<(), RepositoryError> {
    script.add(INSERT, rows, |row| {
        let message = &row.message;
        Ok(NewMessage {
            tenant: row.tenant.as_str(),
            conversation: message.conversation_id.uuid().simple(),
            seq: message.seq,
            id: message.id.uuid().simple(),
            turn: message.turn_id.map(|turn| turn.uuid().simple()),
            role: message.role.as_str(),
            content: &message.content,
            created: message.created_at.milliseconds(),
            engine: message.engine.as_deref(),
            agent_version: message.agent_version,
            finish_reason: message.finish_reason.map(FinishReason::as_str),
            input_tokens: message.usage.map(|usage| usage.input_tokens),
            output_tokens: message.usage.map(|usage| usage.output_tokens),
        })
    })
}
