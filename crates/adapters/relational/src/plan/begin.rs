//! The start of a turn, which runs at once or is queued.

use domain::{EventType, admission::Admission};
use ports::{BeginOutcome, BeginTurn, RepositoryError};

use super::{
    Planner, committed,
    conversation_state::{ConversationState, Rejection},
    new_turn::{LastMessage, turn_ids, turn_row},
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
    let outcome = match state.admit(begin) {
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
    let first = planner.head(&begin.tenant).plus(1);
    let place = state.place(planner.facts, begin);
    let mut row = planner.start_turn(begin, state, &place);
    row.node = Some(begin.node);
    let last = planner.head(&begin.tenant);
    planner.rows.turns.push(row);
    let after = LastMessage {
        seq: place.message.seq.max(state.last_message_seq()),
        content: &begin.input,
        at: begin.stamp.time,
    };
    planner.write_conversation(begin, state, after);
    planner.push_record(begin);
    BeginOutcome::Started {
        committed: committed(first, last),
        place,
    }
}

/// Queues a turn. It adds no message. The version of the agent that will reply is not known yet.
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
    let mut row = turn_row(begin, queued);
    row.queued_seq = Some(queued);
    planner.rows.turns.push(row);
    if let ConversationState::Existing(found) = state {
        planner.touch((&begin.tenant, begin.target.id()), found);
    }
    planner.push_record(begin);
    BeginOutcome::Queued(committed(queued, queued))
}

impl From<Rejection> for BeginOutcome {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Replayed(record) => Self::Replayed(*record),
            Rejection::AgentNotFound => Self::AgentNotFound,
            Rejection::ConversationNotFound => Self::ConversationNotFound,
        }
    }
}
