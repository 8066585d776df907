//! A whole turn, answered at once.

use domain::{
    EventType, Stamp, TurnStatus,
    admission::{Admission, OnBusy},
};
use ports::{Exchange, ExchangeOutcome, RepositoryError};

use super::{
    Planner, committed,
    question::{Refusal, Room, started_row, turn_place},
};
use crate::Outcome;

pub(super) fn plan(
    planner: &mut Planner<'_>,
    exchange: &Exchange,
) -> Result<Outcome, RepositoryError> {
    let facts = planner.facts;
    let room = match Room::of(facts, &exchange.question) {
        Ok(room) => room,
        Err(refusal) => return Ok(Outcome::Exchange(refusal.into())),
    };
    match room.admit(OnBusy::Reject) {
        Admission::Start => room.check(facts, &exchange.question)?,
        Admission::Queue | Admission::Busy => {
            return Ok(Outcome::Exchange(ExchangeOutcome::Busy));
        }
    }
    Ok(Outcome::Exchange(write(planner, exchange, &room)))
}

fn write(planner: &mut Planner<'_>, exchange: &Exchange, room: &Room<'_>) -> ExchangeOutcome {
    let Exchange {
        question,
        reply,
        finished_at,
    } = exchange;
    let finished_at = (*finished_at).max(question.stamp.time);
    let tenant = &question.tenant;
    let place = turn_place(question, room);
    let finished = Stamp {
        time: finished_at,
        actor: question.stamp.actor.clone(),
    };
    let created = planner.log_creation(question, room);
    let started = planner.log_turn(tenant, &question.stamp, EventType::TurnStarted, place);
    let last = planner.log_turn(tenant, &finished, EventType::TurnCompleted, place);

    let mut row = started_row(question, room);
    if let Some(message) = row.user_message() {
        planner.say(tenant, message);
    }
    let reply_seq = room.message_count() + 2;
    planner.say(tenant, reply.message(&row.turn, reply_seq, finished_at));
    row.reply_seq = Some(reply_seq);
    row.turn.status = TurnStatus::Completed;
    row.turn.degraded = reply.degraded;
    row.turn.tool_calls.clone_from(&reply.tool_calls);
    row.turn.finished_at = Some(finished_at);
    planner.rows.turns.push(row);
    planner.enter(question, room, 2, finished_at);
    planner.claim(question);
    ExchangeOutcome::Recorded {
        committed: committed(created.unwrap_or(started), last),
        message_seq: room.message_count() + 1,
    }
}

impl From<Refusal> for ExchangeOutcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Repeated(record) => Self::Repeated(record),
            Refusal::AgentNotFound => Self::AgentNotFound,
            Refusal::ConversationNotFound => Self::ConversationNotFound,
        }
    }
}
