//! Rows of `turns`.

use domain::{MessageId, NodeId, Seq, Timestamp, TurnId};
use ports::write_store::{
    StepRow, SupersededMessages, TurnAssignment, TurnCalls, TurnEnd, TurnRow, TurnStart, TurnWait,
};
use sqlx::types::Json;

use super::json_unless_empty;
use crate::{
    cte_batch::{CteBatch, Parameters},
    fragments::unnest,
};

macro_rules! insert_steps {
    () => {
        concat!(
            "insert into turn_steps (tenant_id, turn_id, number, has_ended, body) select * from ",
            unnest!(1 text, 2 uuid, 3 integer, 4 boolean, 5 text),
            " as n where true"
        )
    };
}

relational::statements! {
    const INSERT: &str = concat!(
        "insert into turns (tenant_id, id, conversation_id, agent_id, agent_version, status, \
            principal, input, message_id, turn_number, message_seq, reply_seq, degraded, tool_calls, \
            metadata, error, node_id, queued_seq, claim_operation, claim_key, created_at, \
            started_at, finished_at, client_message_id, retry_of, reuses_message, reply_id, sort_seq, \
            client_tools, continues, level, is_for_staff, instruction, files, \
            response_schema, queued_at) \
        select n.*, case n.status when 'queued' then clock_timestamp() end from ",
        unnest!(
            1 text, 2 uuid, 3 uuid, 4 uuid, 5 bigint, 6 text, 7 text, 8 text, 9 uuid,
            10 bigint, 11 bigint, 12 bigint, 13 boolean, 14 jsonb, 15 jsonb, 16 jsonb, 17 uuid,
            18 bigint, 19 text, 20 text, 21 timestamptz, 22 timestamptz, 23 timestamptz,
            24 text, 25 uuid, 26 boolean, 27 uuid, 28 bigint, 29 jsonb, 30 jsonb, 31 integer,
            32 boolean, 33 text, 34 jsonb, 35 jsonb
        ),
        " as n (tenant, id, conversation, agent, agent_version, status) \
        where true"
    );

    const END: &str = concat!(
        "update turns set status = n.status, reply_seq = n.reply_seq, degraded = n.degraded, \
        tool_calls = n.tool_calls, usage = n.usage, error = n.error, finished_at = n.finished, \
        action_expires_at = n.expires, level = null, \
        reasoning = coalesce(n.reasoning, turns.reasoning) \
        from ",
    unnest!(
        1 text, 2 uuid, 3 text, 4 bigint, 5 boolean, 6 jsonb, 7 jsonb, 8 jsonb, 9 timestamptz,
        10 timestamptz, 11 jsonb
    ),
    " as n (tenant, id, status, reply_seq, degraded, tool_calls, usage, error, finished, expires, \
            reasoning) \
        where turns.tenant_id = n.tenant and turns.id = n.id"
    );

    const START: &str = concat!(
        "update turns set status = 'in_progress', node_id = n.node, agent_version = n.agent_version, \
            turn_number = n.turn_number, message_seq = n.message_seq, is_for_staff = n.is_for_staff, \
            started_at = n.started \
        from ",
        unnest!(
            1 text, 2 uuid, 3 uuid, 4 bigint, 5 bigint, 6 bigint, 7 boolean, 8 timestamptz
        ),
        " as n (tenant, id, node, agent_version, turn_number, message_seq, is_for_staff, started) \
        where turns.tenant_id = n.tenant and turns.id = n.id"
    );

    const WAIT: &str = concat!(
        "update turns set node_id = null, reply_seq = n.reply_seq, tool_calls = n.tool_calls, \
            action_expires_at = n.expires, reasoning = coalesce(n.reasoning, turns.reasoning), level = ",
        domain::level!(),
        " from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 jsonb, 5 timestamptz, 6 jsonb),
        " as n (tenant, id, reply_seq, tool_calls, expires, reasoning) \
        where turns.tenant_id = n.tenant and turns.id = n.id"
    );

    /// The calls of superseded replies no longer wait for staff.
    const DISMISS: &str = concat!(
        "update turns t set action_expires_at = null from ",
        unnest!(1 text, 2 uuid, 3 bigint),
        " as n (tenant, conversation, from_seq) \
        where t.tenant_id = n.tenant and t.conversation_id = n.conversation \
            and t.reply_seq >= n.from_seq and t.action_expires_at is not null \
            and t.status not in ('queued', 'in_progress')"
    );

    const ASSIGN: &str = concat!(
        "update turns set node_id = n.node, action_expires_at = null, level = null from ",
        unnest!(1 text, 2 uuid, 3 uuid),
        " as n (tenant, id, node) where turns.tenant_id = n.tenant and turns.id = n.id"
    );

    const SET_CALLS: &str = concat!(
        "update turns set has_acted = n.may_act from ",
        unnest!(1 text, 2 uuid, 3 boolean),
        " as n (tenant, id, may_act) where turns.tenant_id = n.tenant and turns.id = n.id \
            and (turns.has_acted is null or turns.has_acted < n.may_act)"
    );

    const INSERT_STEPS: &str = insert_steps!();

    const INSERT_NEW_STEPS: &str =
        concat!(insert_steps!(), " on conflict (tenant_id, turn_id, number) do nothing");

    const CHANGE_STEPS: &str = concat!(
        "update turn_steps s set has_ended = n.has_ended, body = n.body from ",
        unnest!(1 text, 2 uuid, 3 integer, 4 boolean, 5 text),
        " as n (tenant, turn, number, has_ended, body) \
        where s.tenant_id = n.tenant and s.turn_id = n.turn and s.number = n.number \
            and not s.has_ended"
    );
}

/// Inserts new turns.
pub(super) fn insert(batch: &mut CteBatch, rows: &[TurnRow]) {
    batch.add(INSERT, rows, |insert, rows| {
        insert
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.turn.id.uuid())
            .column(rows, |row| row.turn.conversation_id.uuid())
            .column(rows, |row| row.turn.agent_id.uuid())
            .column(rows, |row| row.turn.agent_version)
            .column(rows, |row| row.turn.status.as_str())
            .column(rows, |row| row.principal.as_str())
            .column(rows, |row| row.turn.input.as_str())
            .column(rows, |row| row.message_id.uuid())
            .column(rows, |row| row.turn_number)
            .column(rows, |row| row.message_seq)
            .column(rows, |row| row.reply_seq)
            .column(rows, |row| row.turn.degraded)
            .column(rows, |row| {
                json_unless_empty(row.turn.tool_calls.is_empty(), &row.turn.tool_calls)
            })
            .column(rows, |row| {
                json_unless_empty(row.turn.metadata.is_empty(), &row.turn.metadata)
            })
            .column(rows, |row| row.turn.error.as_ref().map(Json))
            .column(rows, |row| row.node.map(NodeId::uuid))
            .column(rows, |row| row.queued_seq.map(|Seq(seq)| seq))
            .column(rows, |row| {
                row.idempotency
                    .as_ref()
                    .map(|idempotency| idempotency.operation.as_str())
            })
            .column(rows, |row| {
                row.idempotency
                    .as_ref()
                    .map(|idempotency| idempotency.key.as_str())
            })
            .column(rows, |row| row.turn.created_at.date_time())
            .column(rows, |row| row.turn.started_at.map(Timestamp::date_time))
            .column(rows, |row| row.turn.finished_at.map(Timestamp::date_time))
            .column(rows, |row| row.turn.client_message_id.as_deref())
            .column(rows, |row| row.turn.retry_of.map(TurnId::uuid))
            .column(rows, |row| row.reuses_message)
            .column(rows, |row| row.reply_id.map(MessageId::uuid))
            .column(rows, |row| row.sort_seq.0)
            .column(rows, |row| {
                json_unless_empty(row.client_tools.is_empty(), &row.client_tools)
            })
            .column(rows, |row| row.turn.continues.as_ref().map(Json))
            .column(rows, |row| row.level)
            .column(rows, |row| row.is_for_staff)
            .column(rows, |row| row.turn.instruction.as_deref())
            .column(rows, |row| {
                json_unless_empty(row.turn.files.is_empty(), &row.turn.files)
            })
            .column(rows, |row| row.response_schema.as_ref().map(Json))
    });
}

/// Updates turns that end.
pub(super) fn end(batch: &mut CteBatch, rows: &[TurnEnd]) {
    batch.add(END, rows, |end, rows| {
        end.column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
            .column(rows, |row| row.status.as_str())
            .column(rows, |row| row.reply_seq)
            .column(rows, |row| row.degraded)
            .column(rows, |row| {
                json_unless_empty(row.tool_calls.is_empty(), &row.tool_calls)
            })
            .column(rows, |row| row.usage.map(Json))
            .column(rows, |row| row.error.as_ref().map(Json))
            .column(rows, |row| row.finished_at.date_time())
            .column(rows, |row| row.action_expires_at.map(Timestamp::date_time))
            .column(rows, |row| row.reasoning.as_ref().map(Json))
    });
}

/// Updates queued turns that start.
pub(super) fn start(batch: &mut CteBatch, rows: &[TurnStart]) {
    batch.add(START, rows, |start, rows| {
        start
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
            .column(rows, |row| row.node.uuid())
            .column(rows, |row| row.agent_version)
            .column(rows, |row| row.turn_number)
            .column(rows, |row| row.message_seq)
            .column(rows, |row| row.is_for_staff)
            .column(rows, |row| row.started_at.date_time())
    });
}

/// Lets turns in progress wait for an answer.
pub(super) fn wait(batch: &mut CteBatch, rows: &[TurnWait]) {
    batch.add(WAIT, rows, |wait, rows| {
        wait.column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
            .column(rows, |row| row.reply_seq)
            .column(rows, |row| {
                json_unless_empty(row.tool_calls.is_empty(), &row.tool_calls)
            })
            .column(rows, |row| row.expires_at.map(Timestamp::date_time))
            .column(rows, |row| row.reasoning.as_ref().map(Json))
    });
}

/// Dismisses the calls of superseded replies that wait for staff.
pub(super) fn dismiss(batch: &mut CteBatch, rows: &[SupersededMessages]) {
    batch.add(DISMISS, rows, |dismiss, rows| {
        dismiss
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.conversation_id.uuid())
            .column(rows, |row| row.from_seq)
    });
}

/// Gives turns in progress to other nodes.
pub(super) fn assign(batch: &mut CteBatch, rows: &[TurnAssignment]) {
    batch.add(ASSIGN, rows, |assign, rows| {
        assign
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
            .column(rows, |row| row.node.map(NodeId::uuid))
    });
}

/// Updates turns that call tools.
pub(super) fn set_calls(batch: &mut CteBatch, rows: &[TurnCalls]) {
    batch.add(SET_CALLS, rows, |set, rows| {
        set.column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
            .column(rows, |row| row.may_act)
    });
}

/// Inserts entries of journals. Fails if one is stored already.
pub(super) fn insert_steps(batch: &mut CteBatch, rows: &[StepRow]) {
    batch.add(INSERT_STEPS, rows, step_columns);
}

/// Inserts entries of journals, except those that are stored already.
pub(super) fn insert_new_steps(batch: &mut CteBatch, rows: &[StepRow]) {
    batch.add(INSERT_NEW_STEPS, rows, step_columns);
}

fn step_columns(insert: Parameters, rows: &[StepRow]) -> Parameters {
    insert
        .column(rows, |row| row.tenant.as_str())
        .column(rows, |row| row.turn_id.uuid())
        .column(rows, step_number)
        .column(rows, |row| row.step.has_ended())
        .column(rows, |row| row.step.to_json())
}

/// Updates entries whose calls were answered, are made or have ended.
pub(super) fn change_steps(batch: &mut CteBatch, rows: &[StepRow]) {
    batch.add(CHANGE_STEPS, rows, step_columns);
}

fn step_number(row: &StepRow) -> i32 {
    i32::try_from(row.number).unwrap_or(i32::MAX)
}
