//! The start of a turn, which runs at once or is queued.

use domain::{EventType, admission::Admission};
use ports::{BeginOutcome, BeginTurn, RepositoryError};

use super::{
    Planner, committed,
    conversation_state::{ConversationState, Rejection, started_row, turn_ids, turn_row},
};
use crate::WriteOutcome;

pub(super) fn plan(
    planner: &mut Planner<'_>,
    begin: &BeginTurn,
) -> Result<WriteOutcome, RepositoryError> {
    let facts = planner.facts;
    let state = match ConversationState::resolve(facts, begin) {
        Ok(state) => state,
        Err(rejection) => return Ok(WriteOutcome::Begin(rejection.into())),
    };
    if !facts.live_nodes.contains(&begin.node) {
        return Ok(WriteOutcome::Begin(BeginOutcome::NodeDead));
    }
    let outcome = match state.admit(begin.on_busy) {
        Admission::Start => {
            state.check(facts, begin)?;
            start(planner, begin, &state)
        }
        Admission::Queue => queue(planner, begin, &state),
        Admission::Busy => BeginOutcome::Busy,
    };
    Ok(WriteOutcome::Begin(outcome))
}

fn start(
    planner: &mut Planner<'_>,
    begin: &BeginTurn,
    state: &ConversationState<'_>,
) -> BeginOutcome {
    let created = planner.log_conversation_created(begin, state);
    let started = planner.log_turn(
        &begin.tenant,
        &begin.stamp,
        EventType::TurnStarted,
        turn_ids(begin, state),
    );
    let mut row = started_row(begin, state);
    row.node = Some(begin.node);
    if let Some(message) = row.user_message() {
        planner.push_message(&begin.tenant, message);
    }
    planner.rows.turns.push(row);
    planner.write_conversation(begin, state, 1, begin.stamp.time);
    planner.push_record(begin);
    BeginOutcome::Started {
        committed: committed(created.unwrap_or(started), started),
        message_seq: state.message_count() + 1,
        turn_number: state.turn_count(),
    }
}

/// Queues a turn. It adds no message and does not change its conversation. The version of the
/// agent that will reply is not known yet.
fn queue(
    planner: &mut Planner<'_>,
    begin: &BeginTurn,
    state: &ConversationState<'_>,
) -> BeginOutcome {
    let queued = planner.log_turn(
        &begin.tenant,
        &begin.stamp,
        EventType::TurnQueued,
        turn_ids(begin, state),
    );
    let mut row = turn_row(begin);
    row.queued_seq = Some(queued);
    planner.rows.turns.push(row);
    planner.push_record(begin);
    BeginOutcome::Queued(committed(queued, queued))
}

impl From<Rejection> for BeginOutcome {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Replayed(record) => Self::Replayed(record),
            Rejection::AgentNotFound => Self::AgentNotFound,
            Rejection::ConversationNotFound => Self::ConversationNotFound,
        }
    }
}
