//! A complete turn whose reply was computed before it was stored.

use domain::{
    EventType, Stamp, TurnStatus,
    admission::{Admission, OnBusy},
};
use ports::{CompletedTurn, RecordTurnOutcome, RepositoryError};

use super::{
    Planner, committed,
    conversation_state::{ConversationState, Rejection, started_row, turn_ids},
};
use crate::WriteOutcome;

pub(super) fn plan(
    planner: &mut Planner<'_>,
    completed_turn: &CompletedTurn,
) -> Result<WriteOutcome, RepositoryError> {
    let facts = planner.facts;
    let state = match ConversationState::resolve(facts, &completed_turn.begin) {
        Ok(state) => state,
        Err(rejection) => return Ok(WriteOutcome::CompletedTurn(rejection.into())),
    };
    match state.admit(OnBusy::Reject) {
        Admission::Start => state.check(facts, &completed_turn.begin)?,
        Admission::Queue | Admission::Busy => {
            return Ok(WriteOutcome::CompletedTurn(RecordTurnOutcome::Busy));
        }
    }
    Ok(WriteOutcome::CompletedTurn(write(
        planner,
        completed_turn,
        &state,
    )))
}

fn write(
    planner: &mut Planner<'_>,
    completed_turn: &CompletedTurn,
    state: &ConversationState<'_>,
) -> RecordTurnOutcome {
    let CompletedTurn {
        begin,
        reply,
        finished_at,
    } = completed_turn;
    let finished_at = (*finished_at).max(begin.stamp.time);
    let tenant = &begin.tenant;
    let ids = turn_ids(begin, state);
    let finished = Stamp {
        time: finished_at,
        actor: begin.stamp.actor.clone(),
    };
    let created = planner.log_conversation_created(begin, state);
    let started = planner.log_turn(tenant, &begin.stamp, EventType::TurnStarted, ids);
    let last = planner.log_turn(tenant, &finished, EventType::TurnCompleted, ids);

    let mut row = started_row(begin, state);
    if let Some(message) = row.user_message() {
        planner.push_message(tenant, message);
    }
    let reply_seq = state.message_count() + 2;
    planner.push_message(tenant, reply.message(&row.turn, reply_seq, finished_at));
    row.reply_seq = Some(reply_seq);
    row.turn.status = TurnStatus::Completed;
    row.turn.degraded = reply.degraded;
    row.turn.tool_calls.clone_from(&reply.tool_calls);
    row.turn.finished_at = Some(finished_at);
    planner.rows.turns.push(row);
    planner.write_conversation(begin, state, 2, finished_at);
    planner.push_record(begin);
    RecordTurnOutcome::Recorded {
        committed: committed(created.unwrap_or(started), last),
        message_seq: state.message_count() + 1,
    }
}

impl From<Rejection> for RecordTurnOutcome {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Replayed(record) => Self::Replayed(record),
            Rejection::AgentNotFound => Self::AgentNotFound,
            Rejection::ConversationNotFound => Self::ConversationNotFound,
        }
    }
}
