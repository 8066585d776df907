//! A turn that starts, or waits behind another.

use domain::{EventType, admission::Admission};
use ports::{BeginOutcome, BeginTurn, RepositoryError};

use super::{
    Planner, committed,
    question::{Refusal, Room, started_row, turn_place, turn_row},
};
use crate::Outcome;

pub(super) fn plan(
    planner: &mut Planner<'_>,
    begin: &BeginTurn,
) -> Result<Outcome, RepositoryError> {
    let facts = planner.facts;
    let room = match Room::of(facts, begin) {
        Ok(room) => room,
        Err(refusal) => return Ok(Outcome::Begin(refusal.into())),
    };
    if !facts.live_nodes.contains(&begin.node) {
        return Ok(Outcome::Begin(BeginOutcome::NodeRefused));
    }
    let outcome = match room.admit(begin.on_busy) {
        Admission::Start => {
            room.check(facts, begin)?;
            start(planner, begin, &room)
        }
        Admission::Queue => queue(planner, begin, &room),
        Admission::Busy => BeginOutcome::Busy,
    };
    Ok(Outcome::Begin(outcome))
}

fn start(planner: &mut Planner<'_>, begin: &BeginTurn, room: &Room<'_>) -> BeginOutcome {
    let created = planner.log_creation(begin, room);
    let started = planner.log_turn(
        &begin.tenant,
        &begin.stamp,
        EventType::TurnStarted,
        turn_place(begin, room),
    );
    let mut row = started_row(begin, room);
    row.node = Some(begin.node);
    if let Some(message) = row.user_message() {
        planner.say(&begin.tenant, message);
    }
    planner.rows.turns.push(row);
    planner.enter(begin, room, 1, begin.stamp.time);
    planner.claim(begin);
    BeginOutcome::Started {
        committed: committed(created.unwrap_or(started), started),
        message_seq: room.message_count() + 1,
        turn_number: room.turn_count(),
    }
}

/// A turn that waits leaves no message, and its conversation as it is; which version of the agent
/// will answer is not known yet.
fn queue(planner: &mut Planner<'_>, begin: &BeginTurn, room: &Room<'_>) -> BeginOutcome {
    let queued = planner.log_turn(
        &begin.tenant,
        &begin.stamp,
        EventType::TurnQueued,
        turn_place(begin, room),
    );
    let mut row = turn_row(begin);
    row.queued_seq = Some(queued);
    planner.rows.turns.push(row);
    planner.claim(begin);
    BeginOutcome::Queued(committed(queued, queued))
}

impl From<Refusal> for BeginOutcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Repeated(record) => Self::Repeated(record),
            Refusal::AgentNotFound => Self::AgentNotFound,
            Refusal::ConversationNotFound => Self::ConversationNotFound,
        }
    }
}
