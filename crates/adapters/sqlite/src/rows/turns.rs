//! Rows of `turns`.

use domain::{Seq, Timestamp};
use ports::RepositoryError;
use relational::{TurnEnd, TurnRow, TurnStart};
use serde::Serialize;
use uuid::fmt::Simple;

use crate::script::{Script, to_json};

const INSERT: &str = concat!(
    given!(),
    "insert into turns (tenant_id, id, conversation_id, agent_id, agent_version, status, \
        principal, input, message_id, turn_number, message_seq, reply_seq, degraded, tool_calls, \
        metadata, error, node_id, queued_seq, claim_operation, claim_key, created_at, \
        started_at, finished_at, client_message_id, retry_of, reuses_message, reply_id, sort_seq, \
        queued_at) \
    select entry ->> 'tenant', unhex(entry ->> 'id'), unhex(entry ->> 'conversation'), \
        unhex(entry ->> 'agent'), entry ->> 'agentVersion', entry ->> 'status', \
        entry ->> 'principal', entry ->> 'input', unhex(entry ->> 'message'), \
        entry ->> 'turnNumber', entry ->> 'messageSeq', entry ->> 'replySeq', \
        entry ->> 'degraded', entry ->> 'toolCalls', entry ->> 'metadata', entry ->> 'error', \
        unhex(entry ->> 'node'), entry ->> 'queuedSeq', entry ->> 'claimOperation', \
        entry ->> 'claimKey', entry ->> 'created', entry ->> 'started', entry ->> 'finished', \
        entry ->> 'clientMessage', unhex(entry ->> 'retryOf'), entry ->> 'reusesMessage', \
        unhex(entry ->> 'reply'), entry ->> 'sortSeq', \
        case entry ->> 'status' when 'queued' then ",
    now!(),
    " end from given"
);
const END: &str = concat!(
    given!(),
    "update turns set status = n.status, reply_seq = n.reply_seq, degraded = n.degraded, \
        tool_calls = n.tool_calls, error = n.error, finished_at = n.finished \
    from (select entry ->> 'tenant' as tenant, unhex(entry ->> 'id') as id, \
        entry ->> 'status' as status, entry ->> 'replySeq' as reply_seq, \
        entry ->> 'degraded' as degraded, entry ->> 'toolCalls' as tool_calls, \
        entry ->> 'error' as error, entry ->> 'finished' as finished \
        from given) n \
    where turns.tenant_id = n.tenant and turns.id = n.id"
);
const START: &str = concat!(
    given!(),
    "update turns set status = 'in_progress', node_id = n.node, agent_version = n.agent_version, \
        turn_number = n.turn_number, message_seq = n.message_seq, started_at = n.started \
    from (select entry ->> 'tenant' as tenant, unhex(entry ->> 'id') as id, \
        unhex(entry ->> 'node') as node, entry ->> 'agentVersion' as agent_version, \
        entry ->> 'turnNumber' as turn_number, entry ->> 'messageSeq' as message_seq, \
        entry ->> 'started' as started \
        from given) n \
    where turns.tenant_id = n.tenant and turns.id = n.id"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, END, START];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewTurn<'r> {
    tenant: &'r str,
    id: Simple,
    conversation: Simple,
    agent: Simple,
    agent_version: Option<i64>,
    status: &'static str,
    principal: &'r str,
    input: &'r str,
    message: Simple,
    turn_number: Option<i64>,
    message_seq: Option<i64>,
    reply_seq: Option<i64>,
    degraded: bool,
    tool_calls: Option<String>,
    metadata: Option<String>,
    error: Option<String>,
    node: Option<Simple>,
    queued_seq: Option<i64>,
    claim_operation: Option<&'r str>,
    claim_key: Option<&'r str>,
    created: i64,
    started: Option<i64>,
    finished: Option<i64>,
    client_message: Option<&'r str>,
    retry_of: Option<Simple>,
    reuses_message: bool,
    reply: Option<Simple>,
    sort_seq: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct End<'r> {
    tenant: &'r str,
    id: Simple,
    status: &'static str,
    reply_seq: Option<i64>,
    degraded: bool,
    tool_calls: Option<String>,
    error: Option<String>,
    finished: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Start<'r> {
    tenant: &'r str,
    id: Simple,
    node: Simple,
    agent_version: i64,
    turn_number: i64,
    message_seq: i64,
    started: i64,
}

/// Inserts new turns.
pub(super) fn insert(script: &mut Script, rows: &[TurnRow]) -> Result<(), RepositoryError> {
    script.add(INSERT, rows, new_turn)
}

fn new_turn(row: &TurnRow) -> Result<NewTurn<'_>, RepositoryError> {
    let turn = &row.turn;
    let idempotency = row.idempotency.as_ref();
    Ok(NewTurn {
        tenant: row.tenant.as_str(),
        id: turn.id.uuid().simple(),
        conversation: turn.conversation_id.uuid().simple(),
        agent: turn.agent_id.uuid().simple(),
        agent_version: turn.agent_version,
        status: turn.status.as_str(),
        principal: row.principal.as_str(),
        input: &turn.input,
        message: row.message_id.uuid().simple(),
        turn_number: row.turn_number,
        message_seq: row.message_seq,
        reply_seq: row.reply_seq,
        degraded: turn.degraded,
        tool_calls: json_unless_empty(turn.tool_calls.is_empty(), &turn.tool_calls)?,
        metadata: json_unless_empty(turn.metadata.is_empty(), &turn.metadata)?,
        error: json_unless_empty(turn.error.is_none(), &turn.error)?,
        node: row.node.map(|node| node.uuid().simple()),
        queued_seq: row.queued_seq.map(|Seq(seq)| seq),
        claim_operation: idempotency.map(|idempotency| idempotency.operation.as_str()),
        claim_key: idempotency.map(|idempotency| idempotency.key.as_str()),
        created: turn.created_at.milliseconds(),
        started: turn.started_at.map(Timestamp::milliseconds),
        finished: turn.finished_at.map(Timestamp::milliseconds),
        client_message: turn.client_message_id.as_deref(),
        retry_of: turn.retry_of.map(|turn| turn.uuid().simple()),
        reuses_message: row.reuses_message,
        reply: row.reply_id.map(|id| id.uuid().simple()),
        sort_seq: row.sort_seq.0,
    })
}

/// Updates turns that end.
pub(super) fn end(script: &mut Script, rows: &[TurnEnd]) -> Result<(), RepositoryError> {
    script.add(END, rows, |row| {
        Ok(End {
            tenant: row.tenant.as_str(),
            id: row.id.uuid().simple(),
            status: row.status.as_str(),
            reply_seq: row.reply_seq,
            degraded: row.degraded,
            tool_calls: json_unless_empty(row.tool_calls.is_empty(), &row.tool_calls)?,
            error: json_unless_empty(row.error.is_none(), &row.error)?,
            finished: row.finished_at.milliseconds(),
        })
    })
}

/// Updates queued turns that start.
pub(super) fn start(script: &mut Script, rows: &[TurnStart]) -> Result<(), RepositoryError> {
    script.add(START, rows, |row| {
        Ok(Start {
            tenant: row.tenant.as_str(),
            id: row.id.uuid().simple(),
            node: row.node.uuid().simple(),
            agent_version: row.agent_version,
            turn_number: row.turn_number,
            message_seq: row.message_seq,
            started: row.started_at.milliseconds(),
        })
    })
}

/// The value as JSON text, or null if it is empty.
fn json_unless_empty(
    is_empty: bool,
    value: &impl Serialize,
) -> Result<Option<String>, RepositoryError> {
    if is_empty {
        return Ok(None);
    }
    to_json(value).map(Some)
}
