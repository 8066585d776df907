//! Rows of `messages`.

use domain::FinishReason;
use ports::RepositoryError;
use relational::{MessageCopy, MessageRow, MessageTurn, SupersededMessages};
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

const SUPERSEDE: &str = concat!(
    given!(),
    "update messages set superseded_at = n.at \
    from (select entry ->> 'tenant' as tenant, unhex(entry ->> 'conversation') as conversation, \
        entry ->> 'fromSeq' as from_seq, entry ->> 'at' as at from given) n \
    where messages.tenant_id = n.tenant and messages.conversation_id = n.conversation \
        and messages.seq >= n.from_seq and messages.superseded_at is null"
);
const SET_TURNS: &str = concat!(
    given!(),
    "update messages set turn_id = n.turn \
    from (select entry ->> 'tenant' as tenant, unhex(entry ->> 'conversation') as conversation, \
        entry ->> 'seq' as seq, unhex(entry ->> 'turn') as turn from given) n \
    where messages.tenant_id = n.tenant and messages.conversation_id = n.conversation \
        and messages.seq = n.seq"
);
const COPY: &str = concat!(
    given!(),
    "insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, \
        created_at, engine, agent_version, finish_reason, input_tokens, output_tokens) \
    select m.tenant_id, n.copy, row_number() over (partition by n.copy order by m.seq), m.id, \
        m.turn_id, m.role, m.content, m.created_at, m.engine, m.agent_version, m.finish_reason, \
        m.input_tokens, m.output_tokens \
    from (select entry ->> 'tenant' as tenant, unhex(entry ->> 'from') as source, \
        entry ->> 'toSeq' as to_seq, unhex(entry ->> 'into') as copy from given) n \
    cross join messages m on m.tenant_id = n.tenant and m.conversation_id = n.source \
        and m.seq <= n.to_seq \
    where m.superseded_at is null"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, SUPERSEDE, SET_TURNS, COPY];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Superseded<'r> {
    tenant: &'r str,
    conversation: Simple,
    from_seq: i64,
    at: i64,
}

#[derive(Serialize)]
struct Answered<'r> {
    tenant: &'r str,
    conversation: Simple,
    seq: i64,
    turn: Simple,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Copied<'r> {
    tenant: &'r str,
    from: Simple,
    to_seq: i64,
    into: Simple,
}

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

/// Marks messages as superseded.
pub(super) fn supersede(
    script: &mut Script,
    rows: &[SupersededMessages],
) -> Result<(), RepositoryError> {
    script.add(SUPERSEDE, rows, |row| {
        Ok(Superseded {
            tenant: row.tenant.as_str(),
            conversation: row.conversation_id.uuid().simple(),
            from_seq: row.from_seq,
            at: row.at.milliseconds(),
        })
    })
}

/// Updates messages that another turn answers.
pub(super) fn set_turns(script: &mut Script, rows: &[MessageTurn]) -> Result<(), RepositoryError> {
    script.add(SET_TURNS, rows, |row| {
        Ok(Answered {
            tenant: row.tenant.as_str(),
            conversation: row.conversation_id.uuid().simple(),
            seq: row.seq,
            turn: row.turn_id.uuid().simple(),
        })
    })
}

/// Copies messages into new conversations.
pub(super) fn copy(script: &mut Script, rows: &[MessageCopy]) -> Result<(), RepositoryError> {
    script.add(COPY, rows, |row| {
        Ok(Copied {
            tenant: row.tenant.as_str(),
            from: row.from.uuid().simple(),
            to_seq: row.to_seq,
            into: row.into.uuid().simple(),
        })
    })
}
