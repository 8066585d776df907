//! A complete turn whose reply was computed before it was stored.

use domain::{EventType, Stamp, TurnStatus};
use ports::{CompletedTurn, RecordTurnOutcome, RepositoryError};

use super::{
    Planner, committed,
    conversation_state::{ConversationState, Rejection},
    new_turn::{LastMessage, turn_ids},
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
    if state.has_open_turns() {
        return Ok(WriteOutcome::CompletedTurn(RecordTurnOutcome::Busy));
    }
    state.check(facts, &completed_turn.begin)?;
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
    let finished = Stamp {
        time: finished_at,
        actor: begin.stamp.actor.clone(),
    };
    let first = planner.head(tenant).plus(1);
    let place = state.place(planner.facts, begin);
    let mut row = planner.start_turn(begin, state, &place);
    let ids = turn_ids(begin, state);
    let last = planner.log_turn(tenant, &finished, EventType::TurnCompleted, ids);
    planner.push_message(
        tenant,
        reply.message(&row.turn, place.reply_seq, finished_at),
    );
    row.reply_seq = Some(place.reply_seq);
    row.turn.status = TurnStatus::Completed;
    row.turn.degraded = reply.degraded;
    row.turn.tool_calls.clone_from(&reply.tool_calls);
    row.turn.finished_at = Some(finished_at);
    planner.rows.turns.push(row);
    let after = LastMessage {
        seq: place.reply_seq,
        content: &reply.content,
        at: finished_at,
    };
    planner.write_conversation(begin, state, after);
    planner.push_record(begin);
    RecordTurnOutcome::Recorded {
        committed: committed(first, last),
        place,
    }
}

impl From<Rejection> for RecordTurnOutcome {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Replayed(record) => Self::Replayed(*record),
            Rejection::AgentNotFound => Self::AgentNotFound,
            Rejection::ConversationNotFound => Self::ConversationNotFound,
        }
    }
}
