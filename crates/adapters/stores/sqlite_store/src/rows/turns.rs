//! Rows of `turns`.

use domain::Seq;
use ports::{
    RepositoryError,
    write_store::{
        StepRow, SupersededMessages, TurnAssignment, TurnCalls, TurnEnd, TurnRow, TurnStart,
        TurnWait,
    },
};

use super::change::{Changes, json_unless_empty};

relational::statements! {
    const INSERT: &str = concat!(
        "insert into turns (tenant_id, id, conversation_id, agent_id, agent_version, status, \
            principal, input, message_id, turn_number, message_seq, reply_seq, degraded, tool_calls, \
            metadata, error, node_id, queued_seq, claim_operation, claim_key, created_at, \
            started_at, finished_at, client_message_id, retry_of, reuses_message, reply_id, sort_seq, \
            client_tools, continues, level, is_for_staff, instruction, files, \
            response_schema, queued_at) \
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, \
            ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, \
            case ?6 when 'queued' then ",
        now!(),
        " end)"
    );

    const END: &str = "\
        update turns set status = ?, reply_seq = ?, degraded = ?, tool_calls = ?, usage = ?, \
            error = ?, finished_at = ?, action_expires_at = ?, level = null, \
            reasoning = coalesce(?, reasoning) \
        where tenant_id = ? and id = ?";

    const START: &str = "\
        update turns set status = 'in_progress', node_id = ?, agent_version = ?, turn_number = ?, \
            message_seq = ?, is_for_staff = ?, started_at = ? \
        where tenant_id = ? and id = ?";

    const WAIT: &str = concat!(
        "update turns set node_id = null, reply_seq = ?, tool_calls = ?, action_expires_at = ?, \
            reasoning = coalesce(?, reasoning), level = ",
        domain::level!(),
        " where tenant_id = ? and id = ?"
    );

    /// The calls of superseded replies no longer wait for staff.
    const DISMISS: &str = "\
        update turns indexed by turns_by_conversation set action_expires_at = null \
        where tenant_id = ? and conversation_id = ? and reply_seq >= ? \
            and action_expires_at is not null and status not in ('queued', 'in_progress')";

    const ASSIGN: &str = "\
        update turns set node_id = ?, action_expires_at = null, level = null \
        where tenant_id = ? and id = ?";

    const SET_CALLS: &str = "\
        update turns set has_acted = ?1 \
        where tenant_id = ?2 and id = ?3 and (has_acted is null or has_acted < ?1)";

    const INSERT_STEP: &str = "\
        insert into turn_steps (tenant_id, turn_id, number, has_ended, body) \
        values (?, ?, ?, ?, ?) \
        on conflict (tenant_id, turn_id, number) do nothing";

    const CHANGE_STEP: &str = "\
        update turn_steps set has_ended = ?, body = ? \
        where tenant_id = ? and turn_id = ? and number = ? and has_ended = 0";
}

/// Inserts a new turn.
pub(super) fn insert<'r>(
    changes: &mut Changes<'r>,
    row: &'r TurnRow,
) -> Result<(), RepositoryError> {
    let turn = &row.turn;
    let idempotency = row.idempotency.as_ref();
    changes.add(
        INSERT,
        [
            row.tenant.as_str().into(),
            turn.id.into(),
            turn.conversation_id.into(),
            turn.agent_id.into(),
            turn.agent_version.into(),
            turn.status.as_str().into(),
            row.principal.as_str().into(),
            turn.input.as_str().into(),
            row.message_id.into(),
            row.turn_number.into(),
            row.message_seq.into(),
            row.reply_seq.into(),
            turn.degraded.into(),
            json_unless_empty(turn.tool_calls.is_empty(), &turn.tool_calls)?,
            json_unless_empty(turn.metadata.is_empty(), &turn.metadata)?,
            json_unless_empty(turn.error.is_none(), &turn.error)?,
            row.node.into(),
            row.queued_seq.map(|Seq(seq)| seq).into(),
            idempotency.map(|used| used.operation.as_str()).into(),
            idempotency.map(|used| used.key.as_str()).into(),
            turn.created_at.into(),
            turn.started_at.into(),
            turn.finished_at.into(),
            turn.client_message_id.as_deref().into(),
            turn.retry_of.into(),
            row.reuses_message.into(),
            row.reply_id.into(),
            row.sort_seq.0.into(),
            json_unless_empty(row.client_tools.is_empty(), &row.client_tools)?,
            json_unless_empty(turn.continues.is_none(), &turn.continues)?,
            row.level.map(i64::from).into(),
            row.is_for_staff.into(),
            turn.instruction.as_deref().into(),
            json_unless_empty(turn.files.is_empty(), &turn.files)?,
            json_unless_empty(row.response_schema.is_none(), &row.response_schema)?,
        ],
    );
    Ok(())
}

/// Updates a turn that ends.
pub(super) fn end<'r>(changes: &mut Changes<'r>, row: &'r TurnEnd) -> Result<(), RepositoryError> {
    changes.add(
        END,
        [
            row.status.as_str().into(),
            row.reply_seq.into(),
            row.degraded.into(),
            json_unless_empty(row.tool_calls.is_empty(), &row.tool_calls)?,
            json_unless_empty(row.usage.is_none(), &row.usage)?,
            json_unless_empty(row.error.is_none(), &row.error)?,
            row.finished_at.into(),
            row.action_expires_at.into(),
            json_unless_empty(row.reasoning.is_none(), &row.reasoning)?,
            row.tenant.as_str().into(),
            row.id.into(),
        ],
    );
    Ok(())
}

/// Updates a queued turn that starts.
pub(super) fn start<'r>(changes: &mut Changes<'r>, row: &'r TurnStart) {
    changes.add(
        START,
        [
            row.node.into(),
            row.agent_version.into(),
            row.turn_number.into(),
            row.message_seq.into(),
            row.is_for_staff.into(),
            row.started_at.into(),
            row.tenant.as_str().into(),
            row.id.into(),
        ],
    );
}

/// Lets a turn in progress wait for an answer.
pub(super) fn wait<'r>(
    changes: &mut Changes<'r>,
    row: &'r TurnWait,
) -> Result<(), RepositoryError> {
    changes.add(
        WAIT,
        [
            row.reply_seq.into(),
            json_unless_empty(row.tool_calls.is_empty(), &row.tool_calls)?,
            row.expires_at.into(),
            json_unless_empty(row.reasoning.is_none(), &row.reasoning)?,
            row.tenant.as_str().into(),
            row.id.into(),
        ],
    );
    Ok(())
}

/// Dismisses the calls of superseded replies that wait for staff.
pub(super) fn dismiss<'r>(changes: &mut Changes<'r>, row: &'r SupersededMessages) {
    changes.add(
        DISMISS,
        [
            row.tenant.as_str().into(),
            row.conversation_id.into(),
            row.from_seq.into(),
        ],
    );
}

/// Gives a turn in progress to another node.
pub(super) fn assign<'r>(changes: &mut Changes<'r>, row: &'r TurnAssignment) {
    changes.add(
        ASSIGN,
        [row.node.into(), row.tenant.as_str().into(), row.id.into()],
    );
}

/// Updates a turn that calls tools.
pub(super) fn set_calls<'r>(changes: &mut Changes<'r>, row: &'r TurnCalls) {
    changes.add(
        SET_CALLS,
        [
            row.may_act.into(),
            row.tenant.as_str().into(),
            row.id.into(),
        ],
    );
}

/// Inserts an entry of a journal.
pub(super) fn insert_step<'r>(changes: &mut Changes<'r>, row: &'r StepRow) {
    changes.add(
        INSERT_STEP,
        [
            row.tenant.as_str().into(),
            row.turn_id.into(),
            step_number(row).into(),
            row.step.has_ended().into(),
            row.step.to_json().into(),
        ],
    );
}

/// Updates an entry whose call was answered, is made or has ended.
pub(super) fn change_step<'r>(changes: &mut Changes<'r>, row: &'r StepRow) {
    changes.add(
        CHANGE_STEP,
        [
            row.step.has_ended().into(),
            row.step.to_json().into(),
            row.tenant.as_str().into(),
            row.turn_id.into(),
            step_number(row).into(),
        ],
    );
}

fn step_number(row: &StepRow) -> i64 {
    i64::try_from(row.number).unwrap_or(i64::MAX)
}
